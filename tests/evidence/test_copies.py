from __future__ import annotations

from tasks.evidence.copies import drop_copied
from tests.evidence.writing import Transcript


def test_turns_that_another_file_owns_go_and_the_rest_stays(transcript: Transcript) -> None:
    copied = transcript.user("from the parent")
    transcript.says("parent's answer")
    transcript.user("new here")
    session = transcript.read()
    owned = {copied["uuid"], session.turns[1].uuid}
    kept = drop_copied(session, owned.__contains__)
    assert [turn.text for turn in kept.turns] == ["new here"]
    assert kept.id == session.id
    assert drop_copied(session, lambda _: False) is session
