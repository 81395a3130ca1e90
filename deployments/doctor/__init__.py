"""`everest doctor`: try out, by running it, everything that was wired, and say what mends the rest.

Invariant: looking changes nothing; what is tried out leaves no trace in the memory.
"""

from deployments.doctor.examine import examine
from deployments.doctor.finding import Finding, State

__all__ = ["Finding", "State", "examine"]
