"""Whose memory a thing belongs to: the four keys that stand on every row.

Invariant: no key is ever blank. "Everywhere" is the value `@global`, written only when a person
asks for it; a missing scope is an error, never "all".
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Final

from tasks.errors import ScopeMissing

GLOBAL: Final = "@global"
OWNER_TYPES: Final = ("user", "agent")


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """The four keys of a memory.

    Raises:
        ScopeMissing: when a key is blank, an owner is `@global`, or the owner type is unknown.
    """

    owner_id: str
    owner_type: str
    app_id: str
    project_id: str

    def __post_init__(self) -> None:
        for name, value in zip(
            ("owner_id", "owner_type", "app_id", "project_id"), self.keys(), strict=True
        ):
            if not value.strip():
                raise ScopeMissing(name)
        if self.owner_id == GLOBAL:
            raise ScopeMissing("owner_id")
        if self.owner_type not in OWNER_TYPES:
            raise ScopeMissing("owner_type")

    def keys(self) -> tuple[str, str, str, str]:
        """Return the keys in their fixed order: owner, owner type, app, project."""
        return (self.owner_id, self.owner_type, self.app_id, self.project_id)

    @property
    def folder(self) -> str:
        """Return the name of this scope's folder in the view: 16 hex of SHA-256 of the keys."""
        packed = json.dumps(list(self.keys()), separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(packed.encode()).hexdigest()[:16]

    def everywhere(self) -> Scope:
        """Return the same owner's scope that every project reads."""
        return replace(self, project_id=GLOBAL)

    def applies_to(self, other: Scope) -> bool:
        """Tell whether something of this scope binds `other`: each key equal, or `@global` here."""
        return all(
            mine in (GLOBAL, theirs) for mine, theirs in zip(self.keys(), other.keys(), strict=True)
        )
