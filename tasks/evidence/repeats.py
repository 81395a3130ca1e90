"""Tell a record that stands in a file twice, also when only the end of the file is read.

Compaction appends earlier records again, with their uuid and their old timestamp. Records come out
of time order by a handful at most (seven in 50,000 real ones), so a record newer than everything
outside a small window cannot repeat anything outside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from tasks.evidence.records import Record

_WINDOW: Final = 64


class MayRepeat(Exception):
    """A record may repeat one from before the mark, which only a whole reading can tell."""


class Repeats:
    """The uuids met in a file.

    Attributes:
        recent: (uuid, timestamp) of the newest records.
        horizon: the newest timestamp of a record older than those.
    """

    def __init__(self, recent: Iterable[tuple[str, str]] = (), horizon: str = "") -> None:
        self.recent = deque(recent)
        self.horizon = horizon
        self._unseen_until = horizon
        self._seen = {uuid for uuid, _ in self.recent}

    def holds(self, record: Record) -> bool:
        """Tell whether a record came before, and note it.

        Raises:
            MayRepeat: when the record is as old as what was not read this time.
        """
        uuid = record.uuid
        if not isinstance(uuid, str):
            return False
        if uuid in self._seen:
            return True
        written = record.timestamp
        stamp = written if isinstance(written, str) else ""
        if self._unseen_until and stamp <= self._unseen_until:
            raise MayRepeat
        self._seen.add(uuid)
        self.recent.append((uuid, stamp))
        if len(self.recent) > _WINDOW:
            self.horizon = max(self.horizon, self.recent.popleft()[1])
        return False
