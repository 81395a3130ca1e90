"""Reading the world into the store: once, in pieces as at once, not stopped by one bad file."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tasks.demo import write_week
from tasks.domain.project import Folder
from tasks.domain.proposals import PutProject
from tasks.domain.redaction import redact
from tasks.domain.session import PersonTurn
from tasks.domain.units import EpisodeKind, TombstoneKind
from tasks.errors import NoTranscripts
from tasks.evidence.claude_code import AGENT
from tasks.evidence.folders import IGNORE_FILE, probe
from tasks.evidence.lines import open_transcript
from tasks.evidence.words import evidence_path, load_evidence
from tasks.ingest import Ingested, ingest
from tasks.night import Run
from tasks.steps import PLAIN
from tasks.store import gateway, reads
from tasks.store.digest import store_digest
from tasks.store.handle import Store
from tasks.store.standing import projects
from tasks.transcripts import survey
from tests.evidence.writing import Transcript
from tests.store.build import DAY, NOW, Home, bury, home_in, put, stone

CORRECTION = "No, always use pnpm here, never npm."


@dataclass
class World:
    """A folder of transcripts and a home that reads it."""

    home: Home
    root: Path

    def transcript(self, name: str, *, project: str = "shop") -> Transcript:
        made = Transcript(self.root / "projects" / f"-home-me-{project}" / f"{name}.jsonl")
        made.made = 0
        return made

    def read(self, *, at: datetime = NOW, home: Home | None = None) -> Ingested:
        with (home or self.home).opened(at) as store:
            return self.read_into(store, at=at)

    def read_into(self, store: Store, *, at: datetime = NOW) -> Ingested:
        found = ingest(store, [self.root], settings=self.home.settings, probe=probe, at=at)
        assert found.counts.adds_up()
        return found

    def sessions(self, home: Home | None = None) -> dict[str, int]:
        """Return how many turns of the person's each session has."""
        with (home or self.home).opened() as store:
            rows = store.database.rows("SELECT id, person_turns FROM sessions ORDER BY id")
            return dict(rows)


@pytest.fixture
def world(house: Home, tmp_path: Path) -> World:
    """Give an empty root and an empty home."""
    (tmp_path / "root" / "projects").mkdir(parents=True)
    return World(house, tmp_path / "root")


def talk(transcript: Transcript, *, corrections: int = 1) -> Transcript:
    transcript.user("Install the packages.")
    transcript.says("I will run npm install.")
    transcript.calls(f"c-{transcript.path.stem}-{transcript.made}", command="npm install")
    for _ in range(corrections):
        transcript.user(CORRECTION)
        transcript.says("Understood, pnpm it is.")
    return transcript


def named(transcript: Transcript) -> Transcript:
    """Give the records uuids of their own: two transcripts are two conversations."""
    stem = transcript.path.stem
    transcript.lines = [
        line.replace(b'"uuid": "u', f'"uuid": "{stem}-u'.encode()) for line in transcript.lines
    ]
    return transcript


def test_a_folder_that_is_not_there_is_told(world: World, tmp_path: Path) -> None:
    with world.home.opened() as store, pytest.raises(NoTranscripts, match="absent"):
        ingest(store, [tmp_path / "absent"], settings=world.home.settings, probe=probe, at=NOW)


def test_a_conversation_becomes_a_session_its_episodes_and_its_words(world: World) -> None:
    talk(world.transcript("s1")).write()
    found = world.read()
    assert (found.files, found.changed, found.sessions, found.problems) == (1, 1, 1, [])
    assert found.episodes == {"session": 1, "correction": 1}
    with world.home.opened() as store:
        (scope,) = reads.scopes(store.database)
        kinds = {one.kind: one for one in reads.episodes(store.database, scope)}
        correction = kinds[EpisodeKind.CORRECTION]
        assert correction.words == CORRECTION
        (session,) = reads.sessions(store.database, scope)
        path = evidence_path(world.home.places.evidence, AGENT, "s1")
        said = {turn.uuid: turn.text for turn in load_evidence(path, session.evidence_bytes)}
        assert said[correction.anchor] == CORRECTION
        assert path.stat().st_mode & 0o777 == 0o600


def test_each_file_is_a_record_in_the_order_in_which_they_began(world: World) -> None:
    names = ("late", "early", "middle")
    for name, minute in zip(names, (40, 0, 20), strict=True):
        made = world.transcript(name)
        made.made = minute
        named(talk(made)).write()
    with world.home.opened() as store:
        world.read_into(store)
        records = [kept.record for kept in store.ledger.records()]
    assert [[Path(path).stem for path in one.ingest] for one in records] == [
        ["early"],
        ["middle"],
        ["late"],
    ]


def test_reading_twice_changes_nothing(world: World) -> None:
    talk(world.transcript("s1")).write()
    world.read()
    digest = world.home.digest()
    again = world.read(at=NOW + DAY)
    assert (again.changed, again.sessions, again.counts.read, dict(again.episodes)) == (0, 0, 0, {})
    assert world.home.digest() == digest
    with world.home.opened() as store:
        assert store.ledger.last_tx == 1


def test_a_touched_file_is_not_read_again(world: World) -> None:
    path = talk(world.transcript("s1")).write()
    world.read()
    os.utime(path, (NOW.timestamp(), NOW.timestamp()))
    assert world.read().changed == 0


@pytest.mark.parametrize("ends", [(1,), (3, 4), (2, 5, 7)])
def test_appends_give_what_one_whole_reading_gives(
    world: World, tmp_path: Path, ends: tuple[int, ...]
) -> None:
    whole = talk(talk(world.transcript("s1")), corrections=2)
    for end in (*ends, len(whole.lines)):
        whole.path.parent.mkdir(parents=True, exist_ok=True)
        whole.path.write_bytes(b"".join(whole.lines[:end]))
        world.read()
    at_once = home_in(tmp_path / "once")
    World(at_once, world.root).read()
    assert world.home.digest() == at_once.digest()
    assert world.sessions() == World(at_once, world.root).sessions()


def test_an_append_is_read_on_from_where_the_file_was_left(world: World) -> None:
    """What lies before the mark is not parsed again: damage to it goes unseen."""
    made = world.transcript("s1")
    for _ in range(40):
        talk(made)
    path = made.write()
    first = world.read()
    with world.home.opened() as store:
        (state,) = store.database.rows("SELECT state ->> '$.mark.offset' FROM files")
    offset = int(state[0])
    assert offset > path.stat().st_size * 0.9
    before = len(made.lines)
    talk(made)
    data = bytearray(b"".join(made.lines))
    middle = offset // 2  # neither in the first nor in the last 4 KB, which are compared
    data[middle : middle + 40] = b"#" * 40
    path.write_bytes(bytes(data))
    second = world.read()
    assert second.counts.read == len(made.lines) - before
    assert second.failed == 0
    assert first.counts.read == before


def test_an_append_writes_no_turn_again(world: World) -> None:
    made = talk(world.transcript("s1"))
    made.write()
    world.read()
    talk(made).write()
    with world.home.opened() as store:
        world.read_into(store)
        written = [
            {op["turn"] for op in kept.record.ops if op["op"] == "turn"}
            for kept in store.ledger.records()
        ]
        (kept,) = store.database.rows("SELECT count(*) FROM turns WHERE session_id = 's1'")
    first, second = written
    assert first
    assert second
    assert first.isdisjoint(second)
    assert kept == (len(first | second),)


def test_what_the_host_wrote_while_we_read_is_read_next(world: World) -> None:
    made = talk(world.transcript("s1"))
    path = made.write()
    more = talk(made).lines[-5:]

    def writes_meanwhile(cwd: str) -> Folder | None:
        if not path.read_bytes().endswith(more[-1]):
            with path.open("ab") as file:
                file.write(b"".join(more))
        return probe(cwd)

    with world.home.opened() as store:
        settings = world.home.settings
        ingest(store, [world.root], settings=settings, probe=writes_meanwhile, at=NOW)
        assert store.database.rows("SELECT person_turns FROM sessions") == [(2,)]
        assert world.read_into(store).changed == 1
        assert store.database.rows("SELECT person_turns FROM sessions") == [(4,)]
        assert world.read_into(store).changed == 0


def test_a_rewritten_file_is_read_anew(world: World) -> None:
    made = talk(world.transcript("s1"))
    made.write()
    world.read()
    other = world.transcript("s1")
    other.user("Something else entirely.")
    other.says("Very well.")
    other.write()
    assert world.read().changed == 1
    assert world.sessions() == {"s1": 1}


def test_a_file_that_vanished_leaves_what_was_read(world: World) -> None:
    path = talk(world.transcript("s1")).write()
    world.read()
    digest = world.home.digest()
    path.unlink()
    found = world.read()
    assert (found.files, found.changed) == (0, 0)
    assert world.home.digest() == digest


def fork(world: World) -> tuple[Transcript, Transcript]:
    """Return a conversation, and one that was forked from it and went on."""
    original = talk(world.transcript("a-original"))
    copy = world.transcript("b-copy")
    copy.lines, copy.made = list(original.lines), original.made + 100
    copy.user("Only in the copy: never touch the lock file.")
    copy.says("Fine.")
    talk(original)
    return original, copy


@pytest.mark.parametrize("order", ["together", "original first", "copy first"])
def test_copied_turns_count_once_in_whatever_order_files_arrive(world: World, order: str) -> None:
    original, copy = fork(world)
    first, second = (original, copy) if order != "copy first" else (copy, original)
    first.write()
    if order != "together":
        world.read()
    second.write()
    found = world.read()
    fresh = first.lines + second.lines if order == "together" else second.lines
    assert found.counts.read == len(fresh)
    assert world.sessions() == {"a-original": 4, "b-copy": 1}
    with world.home.opened() as store:
        (scope,) = reads.scopes(store.database)
        (copied,) = [s for s in reads.sessions(store.database, scope) if s.id == "b-copy"]
        path = evidence_path(world.home.places.evidence, AGENT, "b-copy")
        said = [
            t.text for t in load_evidence(path, copied.evidence_bytes) if isinstance(t, PersonTurn)
        ]
        assert said == ["Only in the copy: never touch the lock file."]
        corrections = [
            one for one in reads.episodes(store.database, scope) if one.words == CORRECTION
        ]
        assert {one.session_id for one in corrections} == {"a-original"}
    assert world.read().changed == 0


def test_forks_give_one_digest_in_whatever_order_they_arrive(world: World, tmp_path: Path) -> None:
    digests = set()
    for order in ("together", "copy first"):
        home = home_in(tmp_path / order)
        shutil.rmtree(world.root / "projects")
        original, copy = fork(world)
        copy.write()
        if order == "copy first":
            world.read(home=home)
        original.write()
        world.read(home=home)
        digests.add(home.digest())
    assert len(digests) == 1


def test_two_files_of_one_name_give_in_one_run_what_two_runs_give(
    world: World, tmp_path: Path
) -> None:
    left = set()
    for order in ("one run", "two runs"):
        home = home_in(tmp_path / order)
        shutil.rmtree(world.root / "projects")
        for name in ("blog", "shop"):
            made = talk(world.transcript("s1", project=name))
            made.lines = [
                line.replace(b'"uuid": "u', f'"uuid": "{name}-u'.encode()) for line in made.lines
            ]
            made.write()
            if order == "two runs":
                world.read(home=home)
        world.read(home=home)
        for name in ("blog", "shop"):
            path = world.root / "projects" / f"-home-me-{name}" / "s1.jsonl"
            more = world.transcript(name)
            more.made = 100
            with path.open("ab") as stream:
                stream.write(b"".join(talk(more).lines))
            if order == "two runs":
                world.read(home=home)
        world.read(home=home)
        kept = evidence_path(home.places.evidence, AGENT, "s1").read_bytes()
        left.add((home.digest(), kept))
    assert len(left) == 1


def test_a_mere_copy_that_came_first_counts_nothing_afterwards(world: World) -> None:
    original = talk(world.transcript("a-original"))
    copy = world.transcript("b-copy")
    copy.lines = list(original.lines)
    copy.write()
    world.read()
    assert world.sessions() == {"b-copy": 2}
    original.write()
    world.read()
    assert world.sessions() == {"a-original": 2, "b-copy": 0}


def test_a_program_is_no_person(world: World) -> None:
    made = world.transcript("s1")
    made.user(CORRECTION, entrypoint="sdk-py", userType="external")
    made.says("Fine.", entrypoint="sdk-py")
    made.write()
    found = world.read()
    assert (found.sessions, found.by_program) == (0, 1)
    assert world.sessions() == {}
    assert world.read().changed == 0


def in_folder(world: World, name: str, folder: Path) -> Transcript:
    made = talk(world.transcript(name))
    made.lines = [line.replace(b"/home/me/shop", str(folder).encode()) for line in made.lines]
    return named(made)


def test_a_folder_that_asks_for_it_is_not_read_until_it_does_not(
    world: World, tmp_path: Path
) -> None:
    secret, open_ = tmp_path / "secret", tmp_path / "open"
    secret.mkdir()
    open_.mkdir()
    (secret / IGNORE_FILE).touch()
    in_folder(world, "s1", secret).write()
    in_folder(world, "s2", open_).write()
    found = world.read()
    assert (found.sessions, found.ignored) == (1, 1)
    assert world.sessions() == {"s2": 2}
    assert not evidence_path(world.home.places.evidence, AGENT, "s1").exists()
    assert world.read().changed == 0
    (secret / IGNORE_FILE).unlink()
    assert world.read().sessions == 1
    assert world.sessions() == {"s1": 2, "s2": 2}


def test_an_ignored_project_is_not_read_until_it_is_watched_again(world: World) -> None:
    talk(world.transcript("s1")).write()
    world.read()
    with world.home.opened() as store:
        (scope,) = reads.scopes(store.database)
        (project,) = projects(store, scope)
        ignored = replace(project, ignored=True)
        gateway.commit(store, [put(PutProject(ignored), scope=scope)], at=NOW)
        named(talk(world.transcript("s2"))).write()
        found = world.read_into(store)
        assert (found.sessions, found.ignored) == (0, 1)
        assert world.read_into(store).changed == 0
        watched = replace(project, ignored=False)
        gateway.commit(store, [put(PutProject(watched), scope=scope)], at=NOW)
        assert world.read_into(store).sessions == 1
    assert world.sessions().keys() == {"s1", "s2"}


def _empty(path: Path) -> str:
    path.write_bytes(b"")
    return "the file is empty"


def _folder(path: Path) -> str:
    path.mkdir()
    return "a folder, named like a transcript"


def _noise(path: Path) -> str:
    path.write_bytes(b"\x00\xff no json\n{half\n")
    return "no record could be read"


def _silent(path: Path) -> str:
    path.write_bytes(b'{"type": "summary", "summary": "x"}\n')
    return "nobody speaks in it"


def _cut_gzip(path: Path) -> str:
    packed = gzip.compress(bytes(os.urandom(4_000)))
    path.with_suffix(".jsonl.gz").write_bytes(packed[:1_000])
    return "the compressed file is cut off"


def _damaged_gzip(path: Path) -> str:
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 50)
    return "damaged"


def _pipe(path: Path) -> str:
    os.mkfifo(path)
    return "not a file"


def _no_text(path: Path) -> str:
    path.with_name(os.fsdecode(b"\xff\nbad.jsonl")).touch()
    return r"\xff\x0abad.jsonl"


def _dangling(path: Path) -> str:
    path.symlink_to(path.with_name("nowhere"))
    return "not a file"


@pytest.mark.parametrize(
    "spoil",
    [_empty, _folder, _noise, _silent, _cut_gzip, _damaged_gzip, _pipe, _no_text, _dangling],
)
def test_one_bad_file_is_told_and_stops_nothing(world: World, spoil: Callable[[Path], str]) -> None:
    good = talk(world.transcript("s1")).write()
    why = spoil(good.with_name("bad.jsonl"))
    found = world.read()
    assert found.sessions == 1
    assert len(found.problems) == 1
    assert why in found.problems[0]
    assert "bad.jsonl" in found.problems[0]


def test_what_was_read_of_a_cut_archive_is_kept(world: World) -> None:
    made = world.transcript("s1")
    for _ in range(200):
        talk(made)
        made.user("filler " + os.urandom(100).hex())
    made.path.parent.mkdir(parents=True)
    packed = gzip.compress(b"".join(made.lines))
    made.path.with_suffix(".jsonl.gz").write_bytes(packed[: len(packed) // 2])
    found = world.read()
    assert found.sessions == 1
    assert "cut off; what came before it was read" in found.problems[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read what is forbidden")
def test_a_file_that_may_not_be_read_is_told_and_read_once_it_may(world: World) -> None:
    path = talk(world.transcript("s1")).write()
    path.chmod(0)
    assert "denied" in world.read().problems[0]
    path.chmod(0o600)
    assert world.read().sessions == 1


def test_half_a_character_in_a_transcript_stops_nothing(world: World) -> None:
    made = world.transcript("s1")
    made.raw(
        b'{"type":"user","uuid":"x1","sessionId":"s1","cwd":"/home/me/shop","timestamp":'
        b'"2026-03-02T09:00:00.000Z","message":{"role":"user","content":"No, not \\ud800 so."}}\n'
    )
    made.says("Fine.")
    made.write()
    assert world.read().sessions == 1


def test_a_secret_reaches_no_file(world: World) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    made = world.transcript("s1")
    made.user(f"No, never print {token} again.")
    made.calls("c1", command=f"curl -H 'Authorization: {token}' x")
    made.result("c1", f"Exit code 1\n{token}", is_error=True)
    made.write()
    world.read()
    files = [path for path in world.home.places.home.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if token.encode() in path.read_bytes()]


def test_what_was_forgotten_is_not_read_in_again_and_what_comes_after_is(world: World) -> None:
    made = talk(world.transcript("s1"))
    made.write()
    world.read()
    with world.home.opened() as store:
        (scope,) = reads.scopes(store.database)
        (said,) = [
            one
            for one in reads.episodes(store.database, scope)
            if one.kind is EpisodeKind.CORRECTION
        ]
        gateway.commit(store, [bury(stone(said, store.key, TombstoneKind.FORGOTTEN))], at=NOW)
        made.user("No, never commit the lock file, I told you.")
        made.says("Right.")
        made.write()
        found = world.read_into(store)
        assert sum(found.refused.values()) == 1
        left = [
            one.words
            for one in reads.episodes(store.database, scope)
            if one.kind is EpisodeKind.CORRECTION
        ]
        assert left == ["No, never commit the lock file, I told you."]


def test_a_survey_reads_nothing(world: World, tmp_path: Path) -> None:
    path = talk(world.transcript("s1")).write()
    assert list(survey([world.root])) == [(world.root, 1, 1, path.stat().st_size)]
    with pytest.raises(NoTranscripts):
        list(survey([tmp_path / "absent"]))


# --- whole nights


def night(run: Run) -> dict[str, int]:
    """Run the stages of a night in order; return how many proposals each pass had stored."""
    PLAIN.fold(run)
    PLAIN.reconcile(run)
    PLAIN.ingest(run)
    PLAIN.embed(run)
    passes = (PLAIN.decay, PLAIN.lessons, PLAIN.merge, PLAIN.verify, PLAIN.predict)
    stored = {slept.name: slept.decided["stored"] for slept in (step(run) for step in passes)}
    PLAIN.publish(run)
    PLAIN.render(run)
    return stored


def test_a_night_twice_is_one_night(house: Home, tmp_path: Path) -> None:
    week = write_week(tmp_path / "claude", now=NOW)
    with house.run(week.root, at=NOW) as run:
        assert night(run)["lessons"] > 3
        digest, last = store_digest(run.store.database), run.store.ledger.last_tx
    with house.run(week.root, at=NOW + timedelta(hours=1)) as run:
        assert set(night(run).values()) == {0}
        assert store_digest(run.store.database) == digest
        assert run.store.ledger.last_tx == last


def resolved(run: Run) -> Counter[str]:
    """Count which sources of lessons stand in the evidence, and which in the transcript."""
    counts: Counter[str] = Counter()
    database = run.store.database
    for scope in reads.scopes(database):
        sessions = {one.id: one for one in reads.sessions(database, scope)}
        episodes = {one.id: one for one in reads.episodes(database, scope)}
        for lesson in reads.lessons(database, scope):
            for source in lesson.sources:
                counts["sources"] += 1
                episode = episodes[source]
                session = sessions[episode.session_id]
                path = evidence_path(run.store.places.evidence, session.agent, session.id)
                turns = {t.uuid: t for t in load_evidence(path, session.evidence_bytes)}
                if episode.kind is not EpisodeKind.CORRECTION:
                    counts["by tools"] += 1
                    continue
                first = episode.words.split("\n")[0].rstrip("…")[:60]
                counts["in evidence"] += first in turns[episode.anchor].text
                counts["in transcript"] += stands_in(Path(session.path), first)
    return counts


def stands_in(path: Path, words: str) -> bool:
    """Tell whether a string anywhere in the file's records holds the words, redaction aside."""
    with open_transcript(path) as file:
        records = [json.loads(line) for line in file if line.startswith(b"{")]
    return any(words in redact(text) for record in records for text in strings(record))


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            yield from (text for item in value for text in strings(item))
        case dict():
            yield from (text for item in value.values() for text in strings(item))


def test_every_lesson_rests_on_words_that_were_said(house: Home, tmp_path: Path) -> None:
    week = write_week(tmp_path / "claude", now=NOW)
    with house.run(week.root, at=NOW) as run:
        night(run)
        counts = resolved(run)
    said = counts["sources"] - counts["by tools"]
    assert said > 5
    assert counts["in evidence"] == counts["in transcript"] == said


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_night_on_real_transcripts(house: Home, shared_data: Path) -> None:
    root = shared_data / "transcripts" / "claude"
    with house.run(root, at=NOW.replace(year=2026, month=11)) as run:
        found = PLAIN.ingest(run)
        counts = found.counts
        assert counts.adds_up()
        assert found.files > 0
        unread = [one for one in found.problems if "empty" not in one and "nobody" not in one]
        assert unread == []
        rows = run.store.database.rows("SELECT count(*) FROM files")
        assert rows == [(found.files,)]
        night(run)
        digest, last = store_digest(run.store.database), run.store.ledger.last_tx
        assert set(night(run).values()) == {0}
        assert (store_digest(run.store.database), run.store.ledger.last_tx) == (digest, last)
        resolving = resolved(run)
    said = resolving["sources"] - resolving["by tools"]
    assert said > 0
    assert resolving["in evidence"] == said
    assert resolving["in transcript"] == said
