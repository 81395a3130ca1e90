from __future__ import annotations

from tasks.domain.session import Channel, Session
from tests.evidence.writing import Transcript, spoken


def _told(session: Session) -> list[tuple[str, Channel]]:
    return [(turn.text, turn.channel) for turn in spoken(session)][1:]


def test_words_that_only_the_queue_tells_are_a_turn(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.calls("c1", command="make")
    transcript.queue("enqueue", "use pnpm")
    transcript.queue("remove")
    transcript.result("c1", "ok")
    transcript.says("ok")
    assert _told(transcript.read()) == [("use pnpm", Channel.QUEUED)]


def test_a_remove_that_names_its_words_needs_no_enqueue(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queue("remove", "use pnpm")
    transcript.says("ok")
    assert _told(transcript.read()) == [("use pnpm", Channel.QUEUED)]


def test_an_attachment_is_preferred_before_and_after_the_remove(transcript: Transcript) -> None:
    transcript.user("go")
    for number, order in enumerate(("attachment first", "remove first")):
        transcript.queue("enqueue", order)
        if number == 0:
            kept = transcript.queued(order)
        transcript.queue("remove", order)
        if number == 1:
            transcript.queued(order)
        transcript.says("ok")
    session = transcript.read()
    assert _told(session) == [
        ("attachment first", Channel.QUEUED),
        ("remove first", Channel.QUEUED),
    ]
    assert spoken(session)[1].uuid == kept["uuid"]


def test_an_attachment_with_no_enqueue_silences_the_remove(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queued("use pnpm")
    transcript.queue("remove", "use pnpm")
    transcript.says("ok")
    assert len(_told(transcript.read())) == 1


def test_an_attachment_that_comes_much_later_is_not_a_second_turn(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queue("enqueue", "use pnpm")
    transcript.queue("remove")
    transcript.says("ok")
    transcript.queued("use pnpm")
    transcript.queued("use pnpm")  # typed once more
    assert len(_told(transcript.read())) == 2


def test_a_dequeued_prompt_is_told_by_its_own_record_alone(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queue("enqueue", "use pnpm")
    transcript.queue("dequeue")
    transcript.user("use pnpm")
    transcript.says("ok")
    assert _told(transcript.read()) == [("use pnpm", Channel.PROMPT)]


def test_a_queue_that_is_not_first_in_first_out_tells_each_once(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queue("enqueue", "later")
    transcript.queue("enqueue", "sooner")
    transcript.queue("dequeue")
    transcript.user("sooner")
    transcript.says("ok")
    transcript.queue("remove")
    transcript.says("ok")
    assert _told(transcript.read()) == [("sooner", Channel.PROMPT), ("later", Channel.QUEUED)]


def test_words_taken_back_to_be_edited_are_not_told(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queue("enqueue", "use npm")
    transcript.queue("popAll", "use npm")
    transcript.queue("remove")
    transcript.user("use pnpm")
    assert _told(transcript.read()) == [("use pnpm", Channel.PROMPT)]


def test_notifications_in_the_queue_are_no_words(transcript: Transcript) -> None:
    transcript.user("go")
    note = "<task-notification><task-id>1</task-id></task-notification>"
    for text in (note, '{"task_id":"a","tool_use_id":"b"}'):
        transcript.queue("enqueue", text)
        transcript.queue("remove")
        transcript.says("ok")
    transcript.queued("Agent finished", commandMode="task-notification")
    transcript.queued("Agent finished", origin={"kind": "task-notification"})
    assert _told(transcript.read()) == []


def test_a_queued_prompt_with_a_picture_gives_its_text(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.queued([{"type": "text", "text": "like this"}, {"type": "image", "source": {}}])
    assert _told(transcript.read()) == [("like this", Channel.QUEUED)]


def test_a_queued_prompt_after_an_interrupt_is_marked(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.user("[Request interrupted by user]")
    transcript.queued("no, the other one")
    assert spoken(transcript.read())[1].after_interrupt
