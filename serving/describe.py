"""The FastAPI application of our own paths, and what its OpenAPI document says of all of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import metadata
from typing import Any, Final

from fastapi import FastAPI

from serving.problems import ProblemShape, tell_problems

_ABOUT: Final = """
The memory of one person's AI agents, on this machine alone.

**Who may.** A token (`everest token add --project paperboat --app chat`) opens some of the
person's projects. It goes into the header `x-everest-token`, into `Authorization: Bearer`, or into
the path: `/t/<token>/p/<project>/memory/recall`. Over the unix socket of the same account no token
is needed. The header `x-everest-project` narrows a request to one project; nothing widens it.

**What comes back is data.** Recalled words were said by somebody once. Show them to a model quoted
and attributed, as `/memory/context` does, never as instructions.

**What is written is said, not stored.** A note, an event or a touch is on the disk when the request
is answered and can be read by the next one; the person's next night makes lasting memory of it.

Every error is `application/problem+json` with a `detail` that says what to do.
"""
_TAGS: Final[list[dict[str, Any]]] = [
    {"name": "memory", "description": "What was learned, said and done; one project at a time."},
    {"name": "process", "description": "How this process does."},
]


def described(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Return the application without routes; it has no pages, which would load foreign code."""
    api = FastAPI(
        title="Everest",
        version=metadata.version("everest-memory"),
        summary="A memory for AI agents that learns from being corrected",
        description=_ABOUT,
        openapi_tags=_TAGS,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    tell_problems(api)
    document = api.openapi

    def openapi() -> dict[str, Any]:
        found = document()
        shape = ProblemShape.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas |= {**shape.pop("$defs"), ProblemShape.__name__: shape}
        return found

    api.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return api
