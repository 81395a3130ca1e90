from __future__ import annotations

from tasks.domain.units import EpisodeKind
from tasks.sleep.embed import meaning, pending
from tasks.sleep.material import episodes_of
from tests.sleep.build import SCOPE, World, frame


def test_what_has_no_vector_in_the_space_is_pending() -> None:
    world = World()
    new = world.correction("s1", "Use tabs.")
    moved = world.error("s2")
    done = world.surprise("s3")
    found = pending(frame(world.episodes), {moved.id: "hashed", done.id: "minilm"}, space="minilm")
    assert dict(zip(found.ids, found.texts, strict=True)) == {
        new.id: "Use tabs.",
        moved.id: moved.meaning,
    }
    assert list(found.ids) == sorted(found.ids)


def test_all_is_pending_when_the_space_changes_and_nothing_when_it_does_not() -> None:
    world = World()
    ids = sorted(world.of_kind(kind, "s").id for kind in EpisodeKind)
    episodes = frame(world.episodes)
    assert list(pending(episodes, dict.fromkeys(ids, "a"), space="b").ids) == ids
    assert pending(episodes, dict.fromkeys(ids, "b"), space="b").ids == ()


def test_a_blank_meaning_is_never_pending() -> None:
    world = World()
    world.correction("s1", "  \n ")
    world.correction("s2", "x")
    assert pending(frame(world.episodes), {}, space="a").texts == ("x",)


def test_the_frame_and_the_episode_mean_the_same() -> None:
    world = World()
    for kind in EpisodeKind:
        world.of_kind(kind, "s", title="a title", gist="a gist")
    episodes = frame(world.episodes)
    texts = episodes.select(meaning()).to_series().to_list()
    assert texts == [episode.meaning for episode in episodes_of(episodes, SCOPE)]
    assert len(set(texts)) == 2
