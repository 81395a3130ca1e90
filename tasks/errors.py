"""Every error of ours, one tree, one sentence each. Edges map them to exit codes and HTTP statuses.

EverestError
├── UsageError            2   the request cannot be carried out as put
│   ├── ScopeMissing
│   ├── UnknownProject
│   ├── UnknownUnit
│   ├── AmbiguousName
│   ├── NoTranscripts
│   ├── BackupUnusable
│   ├── EventInvalid
│   ├── RelayNameInvalid
│   ├── UnknownToken
│   ├── AddressTaken
│   ├── AgentFileUnreadable
│   ├── AgentFileInTheWay
│   ├── WiredDamaged
│   ├── WiredElsewhere
│   ├── ModelUnavailable
│   ├── NotOurs
│   ├── CrontabFailed
│   ├── HomeRefused
│   └── SettingInvalid
├── Refused               3   the gateway or a person's earlier decision says no
├── StoreError            4   the store cannot be used as it is
│   ├── StoreLocked
│   ├── StoreBehind
│   ├── StoreCorrupt
│   ├── StoreNewer
│   ├── StoreUnsound
│   ├── LedgerBroken
│   ├── KeyMissing
│   ├── HomeUnreadable
│   ├── ViewDamaged
│   │   └── ViewGone
│   ├── TokensDamaged
│   └── UnsupportedFilesystem
├── WriteFailed           5   the disk refused a write; what was there before is untouched
├── ServerError           6   the Prefect server cannot run, or not protected as it must be
│   ├── AlreadyUp
│   ├── PortTaken
│   ├── Unprotected
│   ├── NotUp
│   ├── ServiceFailed
│   ├── NotStopped
│   ├── ManagerFailed
│   └── NotAsDeployed
└── SomethingWrong        7   `everest doctor` found something that does not work
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class EverestError(Exception):
    """Something went wrong that a person can act on."""

    exit_code: ClassVar[int] = 1


class UsageError(EverestError):
    """The request cannot be carried out as it was put."""

    exit_code = 2


class ScopeMissing(UsageError):
    """A scope key is blank or not allowed; reading or writing without a full scope is refused."""

    def __init__(self, key: str) -> None:
        super().__init__(f"no usable {key} in the scope; every read and write names all four keys")


class UnknownProject(UsageError):
    """No project of that name, id or path is known."""

    def __init__(self, name: str, known: list[str]) -> None:
        listed = ", ".join(known) if known else "none yet: run `everest night` first"
        super().__init__(f"no project {name!r}; known projects: {listed}. Name one with --project")


class AmbiguousName(UsageError):
    """A name or an id prefix fits more than one thing."""

    def __init__(self, name: str, candidates: list[str]) -> None:
        super().__init__(
            f"{name!r} fits more than one: {', '.join(candidates)}; give more of it, or a whole id"
        )


class UnknownUnit(UsageError):
    """No lesson, episode or note has that id."""

    def __init__(self, unit: str) -> None:
        super().__init__(
            f"nothing has the id {unit!r}; `everest lessons` and `everest recall` print ids"
        )


class NoTranscripts(UsageError):
    """The folder named for transcripts cannot be read or is not there."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"cannot read transcripts in {path}: {why}; name a readable folder with --transcripts"
        )


class BackupUnusable(UsageError):
    """A file cannot be restored from; what is wrong with it is named."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"cannot restore from {path}: {why}; nothing was changed")


class UnknownToken(UsageError):
    """No token, or more than one, has an id that begins so."""

    def __init__(self, prefix: str, known: list[str]) -> None:
        listed = ", ".join(known) if known else "none yet: make one with `everest token add`"
        super().__init__(f"{prefix!r} names no one token; tokens: {listed}")


class AddressTaken(UsageError):
    """Another process listens where the proxy is to listen."""

    def __init__(self, address: str, way_out: str) -> None:
        super().__init__(f"cannot listen on {address}: another process does; {way_out}")


class NotOurs(UsageError):
    """A file that Everest would write or remove is somebody else's, or was edited since."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not as Everest wrote it; move it away, then run this again. "
            "Nothing was changed"
        )


class WiredElsewhere(UsageError):
    """An agent is wired for another home, which would hear of it no more."""

    def __init__(self, title: str, name: str, other: Path, home: Path) -> None:
        super().__init__(
            f"{title} is wired for the home {other} and was left so; "
            f"`everest setup --agent {name} --take-over` wires it for {home} instead"
        )


class ModelUnavailable(UsageError):
    """A model cannot be chosen: no server answers, or it has no such model; nothing was changed."""

    def __init__(self, why: str, way_out: str) -> None:
        super().__init__(f"{why}; {way_out}. Nothing was changed")


class AgentFileUnreadable(UsageError):
    """An agent's file cannot be understood, so nothing in it was changed."""

    def __init__(self, path: Path, line: int, column: int, why: str) -> None:
        super().__init__(
            f"{path}, line {line}, column {column}: {why}; nothing in it was changed. "
            "Mend it there, then run this again"
        )


class AgentFileInTheWay(UsageError):
    """An agent's file can be read but leaves no room for what is to be changed in it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}; nothing in it was changed")


class WiredDamaged(UsageError):
    """The record of what is wired cannot be read."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} cannot be read ({why}); move it away and run this again: "
            "what is wired is then known by its marks alone"
        )


class CrontabFailed(UsageError):
    """The person's crontab cannot be read or written; nothing of it was changed."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"nights cannot be put into your crontab: {why}. "
            "Install cron, or let `everest up --install` run them"
        )


class HomeRefused(UsageError):
    """A folder is not removed as a home of Everest's; nothing of it was touched."""

    def __init__(self, home: Path, why: str) -> None:
        super().__init__(f"{home} is not removed: {why}; look whether EVEREST_HOME is as you meant")


class HomeTaken(UsageError):
    """A folder is not used as a home of Everest's; nothing was written into it."""

    def __init__(self, home: Path, held: str) -> None:
        super().__init__(
            f"EVEREST_HOME: {home} is no home of Everest's and holds other things ({held!r}); "
            "name a folder of its own, or unset it to use ~/.everest"
        )


class EventInvalid(UsageError):
    """An event has a field that cannot be used."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"no event: {field}: {why}; the README documents the format")


class RelayNameInvalid(UsageError):
    """A relay is kept for a project's id and for nothing else."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name[:100]!r} is no project's id; `everest project list` prints them")


class SettingInvalid(UsageError):
    """A setting has a value that cannot be used."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")


class Refused(EverestError):
    """The write was refused and nothing was stored; the reason never repeats the refused text."""

    exit_code = 3

    def __init__(self, reason: str, way_out: str = "") -> None:
        self.reason = reason
        super().__init__(f"refused: {reason}" + (f"; {way_out}" if way_out else ""))


class StoreError(EverestError):
    """The store cannot be used as it is."""

    exit_code = 4


class StoreLocked(StoreError):
    """Another run is writing; it is named."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(
            f"the store is being written by {holder} ({path}); "
            "wait for it or stop it, then run this again"
        )


class StoreBehind(StoreError):
    """The ledger holds a record that the store could not commit; the next opening applies it."""

    def __init__(self, tx: int, why: str) -> None:
        super().__init__(
            f"record {tx} is durable in the ledger but the store did not commit it ({why}); "
            "run the command again"
        )


class StoreCorrupt(StoreError):
    """The store's file cannot be read; it is kept aside and the ledger can rebuild it."""

    def __init__(self, path: Path, kept: Path, why: str) -> None:
        super().__init__(
            f"{path} cannot be used ({why}); it was kept as {kept}. "
            "Run `everest rebuild` to make it again from the ledger"
        )


class StoreNewer(StoreError):
    """The store was written by a newer Everest."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has schema {found}, this Everest knows {known}; "
            "upgrade Everest, nothing was changed"
        )


class StoreUnsound(StoreError):
    """Two things that must agree do not; nothing was changed by finding that out."""

    def __init__(self, what: str, way_out: str) -> None:
        super().__init__(f"{what}; {way_out}")


class LedgerBroken(StoreError):
    """A ledger record that is not the last one is damaged; writing stops until a person looks."""

    def __init__(self, path: Path, line: int, why: str) -> None:
        super().__init__(
            f"{path}, record {line}: {why}; writes are stopped. Restore this file from a backup"
        )


class KeyMissing(StoreError):
    """The key behind digests is gone or damaged; a new one would readmit refused values."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is missing or damaged but the ledger was written with it; "
            "restore it from a backup"
        )


class HomeUnreadable(StoreError):
    """A file or folder of the home is there but cannot be read: it is not taken for empty."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} cannot be read ({why}), and what it holds is not passed over; "
            "give yourself the right to read it, or move away what is in its place, "
            "then run this again"
        )


class ViewDamaged(StoreError):
    """A published folder is not as it was published; the store itself is untouched."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the published view in {path} is damaged ({why}); "
            "run `everest rebuild` to publish it again"
        )


class ViewGone(ViewDamaged):
    """A newer publication took the place of the one being read: whoever reads it begins anew."""

    def __init__(self, path: Path) -> None:
        StoreError.__init__(self, f"{path} was replaced by newer ones while it was read; ask again")


class TokensDamaged(StoreError):
    """The file of tokens cannot be read; nobody is let in by a guess."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} cannot be read ({why}); restore it from a backup, "
            "or remove it and make tokens again with `everest token add`"
        )


class UnsupportedFilesystem(StoreError):
    """File locks and durable renames cannot be relied on here."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(
            f"{path} is on {kind}, where locks and durable writes cannot be relied on; "
            "set EVEREST_HOME to a local folder"
        )


class WriteFailed(EverestError):
    """The disk refused a write; the file that was there before is untouched."""

    exit_code = 5

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"cannot write {path}: {why}; free space or fix its permissions, then run this again"
        )


class ServerError(EverestError):
    """The Prefect server cannot run, or not protected as it must be."""

    exit_code = 6


class AlreadyUp(ServerError):
    """`everest up` already runs for this home; its process is named."""

    def __init__(self, home: Path, holder: str) -> None:
        super().__init__(f"{home} is already served by {holder}; stop that one first")


class PortTaken(ServerError):
    """Another program listens on a port that `everest up` needs."""

    def __init__(self, port: int, setting: str) -> None:
        super().__init__(f"port {port} is in use by another program; set {setting} to a free one")


class Unprotected(ServerError):
    """The server would let in, or did let in, somebody without the credential; it was stopped."""

    def __init__(self, why: str, way_out: str) -> None:
        super().__init__(f"the Prefect server is not started unprotected: {why}; {way_out}")


class NotUp(ServerError):
    """The command needs the Prefect server, and `everest up` is not running."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"no Prefect server runs for {home}; start it with `everest up`")


class ServiceFailed(ServerError):
    """A service ended, or does not answer."""

    def __init__(self, name: str, why: str, log: Path, way_out: str) -> None:
        super().__init__(f"{name} {why}; its last words are in {log}{way_out and f'; {way_out}'}")


class NotStopped(ServerError):
    """What runs for a home did not stop, or cannot be told for sure to be an `everest up`."""

    def __init__(self, home: Path, holder: str) -> None:
        super().__init__(f"{holder} runs for {home} still; stop it yourself, then run this again")


class ManagerFailed(ServerError):
    """The system's service manager refused a command."""

    def __init__(self, command: str, said: str) -> None:
        words = " / ".join(said.splitlines()[-3:]) or "nothing"
        super().__init__(f"`{command}` failed and said: {words}; mend that, then run this again")


class NotAsDeployed(ServerError):
    """What the server holds differs from prefect.yaml, or Prefect refused it."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("deployed otherwise than prefect.yaml says: " + "; ".join(differences))


class SomethingWrong(EverestError):
    """Something that is wired does not work; each was told before, with what mends it, if any."""

    exit_code = 7

    def __init__(self, many: str, mends: str) -> None:
        super().__init__(f"{many} wrong; {mends}")
