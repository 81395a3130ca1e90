"""Every error of our own API as `application/problem+json` (RFC 9457): what went wrong, what to do.

Invariant: an answer repeats nothing of the request's body and names no project that its caller may
not see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tasks.errors import EverestError, Refused, StoreError, UsageError, WriteFailed

TYPE: Final = "application/problem+json"
_TITLES: Final = {
    400: "cannot be carried out as put",
    401: "no token",
    403: "not opened by the token",
    404: "not there",
    405: "no such method here",
    409: "refused",
    413: "too large",
    415: "no such content type here",
    422: "fields that cannot be used",
    500: "a fault of ours",
    503: "cannot be read or written now",
}


class Wrong(BaseModel):
    """One field that cannot be used."""

    where: str = Field(description="Which: `query.k`, `body.text`.", examples=["query.k"])
    why: str = Field(description="What it must be.", examples=["Input should be less than 101"])


class ProblemShape(BaseModel):
    """An error, as RFC 9457 has it."""

    title: str = Field(description="The kind of problem; the same for a status.")
    status: int = Field(description="The answer's status again.")
    detail: str = Field(description="What went wrong here, and what to do.")
    errors: list[Wrong] = Field(default=[], description="With 422: each field, and why.")


class Problem(Exception):
    """What a route answers instead of its result."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return these errors, and those that every route may answer, for an OpenAPI document."""
    schema = {"$ref": "#/components/schemas/ProblemShape"}
    return {
        status: {
            "description": _TITLES[status].capitalize() + ".",
            "content": {TYPE: {"schema": schema}},
        }
        for status in sorted({*statuses, 400, 401, 403, 413, 422, 503})
    }


def problem(
    status: int,
    detail: str,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer that tells a problem."""
    told = {"title": _TITLES.get(status, "refused"), "status": status, "detail": detail}
    body = json.dumps({**told, "errors": list(errors)}).encode()
    more = {"www-authenticate": 'Everest realm="memory"'} if status == 401 else {}
    return Response(body, status, {**more, **(headers or {})}, media_type=TYPE)


def tell_problems(api: FastAPI) -> None:
    """Let every error of an application be answered as a problem."""
    api.add_exception_handler(Problem, _told)
    api.add_exception_handler(EverestError, _told)
    api.add_exception_handler(RequestValidationError, _unusable)
    api.add_exception_handler(HTTPException, _plain)
    api.add_exception_handler(Exception, _fault)


def _told(_request: Request, error: Exception) -> Response:
    if isinstance(error, Problem):
        return problem(error.status, error.detail)
    return problem(_status(error), f"everest: {error}")


def _status(error: Exception) -> int:
    match error:
        case Refused():
            return 409
        case UsageError():
            return 400
        case StoreError() | WriteFailed():
            return 503
        case _:
            return 500


def _unusable(_request: Request, error: Exception) -> Response:
    found: list[Mapping[str, Any]] = getattr(error, "errors", list)()
    wrong = [{"where": ".".join(map(str, one["loc"]))[:200], "why": one["msg"]} for one in found]
    return problem(422, "everest: the request has fields that cannot be used", wrong[:20])


def _plain(_request: Request, error: Exception) -> Response:
    status: int = getattr(error, "status_code", 500)
    headers = getattr(error, "headers", None)
    ways = ", ".join((headers or {}).values())
    why = {
        404: "there is nothing of this name; /openapi.json lists what there is",
        405: f"this takes {ways or 'another method'}; /openapi.json lists what there is",
    }.get(status, str(getattr(error, "detail", "refused")))
    return problem(status, f"everest: {why}", headers=headers)


def _fault(_request: Request, _error: Exception) -> Response:
    return problem(500, "everest: a fault of ours; its place is on the process's standard error")
