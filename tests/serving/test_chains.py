"""A chain of answers goes on in the next process, whatever became of its file."""

from pathlib import Path

from serving.proxy.chains import Chains


def told(path: Path, *answers: str) -> None:
    chains = Chains(path)
    for answer in answers:
        chains.learn(answer, f"of {answer}")
        chains.keep(answer, f"of {answer}")


def test_what_was_kept_is_known_to_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "shown" / "chains.jsonl"
    told(path, "resp_1", "resp_2")
    later = Chains(path)
    assert later.root("resp_1") == "resp_1"
    later.learn("resp_2", "newer")
    later.load()
    assert [later.root(one) for one in ("resp_1", "resp_2", "resp_3")] == [
        "of resp_1",
        "newer",
        "resp_3",
    ]


def test_a_damaged_line_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "chains.jsonl"
    told(path, "resp_1")
    with path.open("ab") as file:
        file.write(b'7\n[]\n{"v":1}\n\xff\n{"v":1,"answer":"cut')
    told(path, "resp_2")
    later = Chains(path)
    later.load()
    assert later.root("resp_1") == "of resp_1"
    assert later.root("resp_2") == "of resp_2"


def test_the_file_is_written_anew_before_it_is_long(tmp_path: Path) -> None:
    path = tmp_path / "chains.jsonl"
    path.write_bytes(b" " * (5 << 20) + b"\n")
    told(path, "resp_1")
    assert path.stat().st_size < 1_000
    later = Chains(path)
    later.load()
    assert later.root("resp_1") == "of resp_1"


def test_without_a_file_nothing_is_kept_or_asked_for(tmp_path: Path) -> None:
    chains = Chains()
    chains.load()
    chains.learn("resp_1", "boat")
    chains.keep("resp_1", "boat")
    chains.learn("", "boat")
    assert chains.root("resp_1") == "boat"
    assert list(tmp_path.iterdir()) == []
