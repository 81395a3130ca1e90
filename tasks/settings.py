"""Every setting, in one place, read once in a composition root and passed down.

Each has the prefix EVEREST_ in the environment. Reading settings creates nothing on disk.
"""

from __future__ import annotations

import hashlib
import os
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from tasks.domain.scope import Scope
from tasks.errors import SettingInvalid, UsageError
from tasks.timezone import named_zone, system_zone

SEALS: Final = "weights.json"
"""The file of a home that remembers hashes of weights, beside the choice of a model."""
_LONGEST_SOCKET = 100
_TEMPORARY = "/tmp"  # noqa: S108  a folder of the account's own is made in it


class Settings(BaseSettings):
    """What a person can set; `everest paths` prints the places.

    Raises:
        SettingInvalid: from `load` when a value cannot be used.
    """

    model_config = SettingsConfigDict(env_prefix="EVEREST_", frozen=True, extra="ignore")

    home: Annotated[Path, NoDecode] = Field(
        default=Path("~/.everest"),
        description="Where everything of Everest's lives: a folder of its own.",
    )
    owner: str = Field(
        default="me", min_length=1, description="The owner_id of what is remembered."
    )
    app: str = Field(
        default="default", min_length=1, description="Separates products sharing a home."
    )
    timezone: str | None = Field(
        default=None, description="Zone of a day in reports; system's if unset, refused if empty."
    )
    holdout: float = Field(
        default=0.5, ge=0, le=1, description="Share held out, to measure the effect."
    )
    embed: str | None = Field(
        default=None,
        description="Embedding space: sentence-transformers, hashed, or served by `everest model`.",
    )
    embed_model: Annotated[Path | None, NoDecode] = Field(
        default=None,
        description="A local sentence-transformers model folder to use instead of MiniLM.",
    )
    embed_timeout: float = Field(
        default=1.0, gt=0, description="Seconds that a served model may take to read a question."
    )
    llm: str | None = Field(
        default=None, description="The writing model, over `everest model`'s choice; off for none."
    )
    llm_url: str | None = Field(
        default=None, description="Its server, as an OpenAI client is given it: https://host/v1."
    )
    llm_key: SecretStr | None = Field(
        default=None, description="Key of that server; `keys/model.key` (mode 600) if unset."
    )
    llm_timeout: float = Field(
        default=30.0, gt=0, description="Seconds that one call of the writing model may take."
    )
    llm_calls: int = Field(
        default=100, ge=0, description="Calls of the writing model that a night may make."
    )
    llm_seconds: float = Field(
        default=300.0, ge=0, description="Seconds that a night may wait for the writing model."
    )
    proxy_port: int = Field(
        default=8787, ge=0, le=65535, description="Port of the proxy on this machine's loopback."
    )
    proxy_budget: float = Field(
        default=0.030, gt=0, le=60, description="Seconds that memory may take of a proxied request."
    )
    hook_budget: float = Field(
        default=0.090, gt=0, description="Seconds that memory may take to answer an agent's hook."
    )
    routes: str | None = Field(
        default=None, description="Which server each model is asked from; see the proxy's section."
    )
    trust_loopback: bool = Field(
        default=False, description="Let any process of this machine in without a token."
    )
    origins: str | None = Field(
        default=None,
        description="Origins of desktop apps to let in; see the proxy's section.",
    )
    lock_wait: float = Field(default=30.0, ge=0, description="Seconds to wait for another writer.")
    prefect_port: int = Field(
        default=4270, ge=1, le=65535, description="Port of the Prefect server of `everest up`."
    )

    @classmethod
    def load(cls, **given: Any) -> Settings:
        """Return the settings from the environment, `given` winning."""
        try:
            settings = cls(**given)
        except ValidationError as error:
            first = error.errors()[0]
            name = "EVEREST_" + "_".join(str(part) for part in first["loc"]).upper()
            raise SettingInvalid(name, first["msg"]) from None
        settings.check()
        return settings

    def check(self) -> None:
        """Look at what only the machine can tell: the zone's name and the home folder.

        Raises:
            SettingInvalid: when one of them cannot be used.
        """
        if self.timezone is not None:
            _ = self.zone
        if not str(self.home).strip(" ."):  # an empty one is "." by now
            why = "it names no folder of its own; unset it to use ~/.everest"
            raise SettingInvalid("EVEREST_HOME", why)
        try:
            self.home.expanduser()
        except RuntimeError:
            why = "this account has no home folder for ~/.everest; set it to another folder"
            raise SettingInvalid("EVEREST_HOME", why) from None
        try:
            str(self.home.expanduser()).encode()
        except UnicodeEncodeError:
            raise SettingInvalid("EVEREST_HOME", "its name is no UTF-8 text") from None

    @cached_property
    def zone(self) -> tzinfo:
        """Return the zone in which days are counted.

        Raises:
            SettingInvalid: when EVEREST_TIMEZONE names no known zone.
        """
        return system_zone() if self.timezone is None else named_zone(self.timezone)

    def scope(self, project_id: str) -> Scope:
        """Return the person's scope for one project."""
        return Scope(self.owner, "user", self.app, project_id)


def absolute(path: Path) -> Path:
    """Return a path as a person wrote it as an absolute one.

    Raises:
        UsageError: when it is relative and the present folder is gone, or names no one's home.
    """
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise UsageError(f"{path}: there is no such home folder") from None
    except FileNotFoundError:
        raise UsageError(f"{path}: the folder you are in is gone; give a whole path") from None


class Places:
    """Where each thing lies under a home; a pure mapping that touches no disk."""

    def __init__(self, home: Path) -> None:
        self.home = absolute(home)
        self.store = self.home / "memory.duckdb"
        self.lock = self.home / "store.lock"
        self.ledger = self.home / "ledger"
        self.journal = self.home / "journal"
        self.view = self.home / "view"
        self.relay = self.home / "relay"
        self.evidence = self.home / "evidence"
        self.memory = self.home / "memory"
        self.keys = self.home / "keys"
        self.inbox = self.home / "inbox"
        self.backups = self.home / "backups"
        self.lessons = self.home / "lessons.jsonl"
        self.morning = self.home / "morning.md"
        self.written = self.home / "written.json"
        self.vetoed = self.home / "vetoed.json"
        self.prefect = self.home / "prefect"
        self.model = self.home / "model.json"
        self.model_key = self.keys / "model.key"
        self.model_asked = self.home / "model-asked.json"
        self.model_use = self.home / "model-use.json"
        self.tokens = self.home / "tokens.json"
        self.door_token = self.keys / "door.token"
        self.socket = _socket_path(self.home)
        self.shown = self.home / "shown"
        self.chains = self.shown / "chains.jsonl"
        self.spool = self.home / "spool"
        self.runs = self.home / "runs.jsonl"
        self.wired = self.home / "wired.json"
        self.wired_over = self.home / "wired-over"


def _socket_path(home: Path) -> Path:
    """Return where the proxy's unix socket lies; a longer path than systems take moves.

    It moves to a folder of the account's own in the runtime directory.
    """
    path = home / "door.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET:
        return path
    named = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    runtime = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or _TEMPORARY
    return Path(runtime) / f"everest-{os.getuid()}" / f"{named}.sock"
