"""A time by which a whole piece of work is over, however many waits it is made of."""

from __future__ import annotations

import time


class Deadline:
    """A time by which all is to be over.

    Args:
        seconds: from now, and from each time that it is set anew.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Set it anew, from now."""
        self._until = time.monotonic() + self._seconds

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TimeoutError: when none are.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left
