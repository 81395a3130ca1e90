from pathlib import Path

from tasks.errors import WriteFailed
from tasks.render.memory_md import OverLimit
from tasks.render.plan import Rendered
from tasks.render.reconcile import Deleted, Reverted, Unsure
from tasks.render.telling import problems_of, questions_of, reverted_of
from tests.render.build import SHOP, lesson

INDEX = Path("/c/memory/MEMORY.md")
MANY = tuple(lesson(f"n{n}") for n in range(8))


def rendered(**changes: tuple[object, ...]) -> Rendered:
    names = ("kept_edited", "busy", "over_limit", "hosts", "folders", "failed")
    return Rendered(0, 0, 0, **{name: changes.get(name, ()) for name in names})  # type: ignore[arg-type]


def test_a_smooth_render_has_no_problem() -> None:
    assert problems_of(rendered()) == ()


def test_what_a_host_will_not_load_is_told_with_the_lessons_lost() -> None:
    (told,) = problems_of(rendered(over_limit=((INDEX, OverLimit(230, 9000, ("a", "b"))),)))
    assert str(INDEX) in told
    assert "230 lines" in told
    assert "2 lessons are" in told


def test_each_refused_busy_or_edited_file_is_named() -> None:
    told = problems_of(
        rendered(
            failed=(WriteFailed(INDEX, "No space left on device"),),
            busy=(INDEX,),
            kept_edited=(INDEX,),
        )
    )
    assert len(told) == 3
    assert all(str(INDEX) in sentence for sentence in told)
    assert "No space left" in told[0]


def test_a_doubtful_deletion_is_a_question_with_a_command_for_each_lesson() -> None:
    ids = tuple(one.id for one in MANY)
    changes = (Unsure(SHOP, INDEX, "8 of 9 lines are gone", ids), Deleted(ids[0], SHOP, INDEX))
    (asked,) = questions_of(changes, MANY)
    assert "8 of 9 lines are gone" in asked.text
    assert "“Use n0.”" in asked.why
    assert "and 3 more" in asked.why
    assert len(asked.commands) == 5
    assert asked.commands[0] == f'everest reject {ids[0][:16]} --reason "…"'


def test_a_reverted_field_is_told() -> None:
    (told,) = reverted_of((Reverted(MANY[0].id, SHOP, INDEX),))
    assert "put back" in told
    assert reverted_of((Deleted(MANY[0].id, SHOP, INDEX),)) == ()
