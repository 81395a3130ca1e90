"""Paths into nested data, and what a change at one of them comes to; nothing is changed in place.

Every editor of a text is held to these: what its new text holds must be what they give.
"""

from __future__ import annotations

from typing import Any

Path = tuple[str | int, ...]
"""Keys of objects and indices of arrays, from the outermost value inwards."""


class Unwirable(Exception):
    """A file that can be read holds something that leaves no room for what is to be added."""


def dotted(path: Path) -> str:
    """Return a path as a person writes it."""
    return ".".join(str(part) for part in path)


def found(data: Any, path: Path) -> Any:
    """Return what stands at a path, None when nothing does."""
    for name in path:
        match data:
            case dict():
                data = data.get(name)
            case list() if isinstance(name, int) and 0 <= name < len(data):
                data = data[name]
            case _:
                return None
    return data


def put(data: Any, path: Path, value: Any) -> Any:
    """Return data with a value at a path, objects on the way made as needed.

    Raises:
        Unwirable: when something on the way is no object, or no array that has the index.
    """
    if not path:
        return value
    name, rest = path[0], path[1:]
    match data:
        case dict() if isinstance(name, str):
            return {**data, name: put(data.get(name, {}), rest, value)}
        case list() if isinstance(name, int) and 0 <= name < len(data):
            return [*data[:name], put(data[name], rest, value), *data[name + 1 :]]
    raise Unwirable(f"what holds {name!r} is no object")


def appended(data: Any, path: Path, value: Any) -> Any:
    """Return data with one more item in the array at a path.

    Raises:
        Unwirable: when no array stands there.
    """
    items = found(data, path)
    if not isinstance(items, list):
        raise Unwirable(f"{dotted(path)} is no array")
    return put(data, path, [*items, value])


def dropped(data: Any, path: Path) -> Any:
    """Return data without what stands at a path."""
    *outer, last = path
    inner = found(data, tuple(outer))
    match inner:
        case dict():
            return put(data, tuple(outer), {k: v for k, v in inner.items() if k != last})
        case list() if isinstance(last, int):
            return put(data, tuple(outer), inner[:last] + inner[last + 1 :])
    return data
