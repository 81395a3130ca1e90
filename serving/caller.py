"""Who asks our own API, and what of: the grant of a request, brought to bear on the memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Header, Request, Security
from fastapi.security import APIKeyHeader

from serving.admit import LONGEST_NAME
from serving.bound import Bound
from serving.grants import Grant
from serving.problems import Problem
from serving.state import Serving
from tasks.domain.clock import utc_now
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.domain.scope import GLOBAL, Scope
from tasks.errors import AmbiguousName, UsageError
from tasks.memory import Memory

_TOKEN: Final = APIKeyHeader(
    name="x-everest-token",
    auto_error=False,
    description="A token of `everest token add`. It may stand in the path too, "
    "`/t/<token>/memory/…`, or in `Authorization`. Over the unix socket none is needed.",
)
_NO_TOKEN: Final = (
    "everest: the memory needs a token: `everest token add` makes one, "  # noqa: S105  no token
    "and the header x-everest-token carries it"
)
_NO_PROJECT: Final = (
    "everest: several projects are open here; name one with the header x-everest-project"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """One request's grant, and the memory it is for."""

    grant: Grant
    serving: Serving

    @property
    def actor(self) -> Actor:
        """Return who speaks: by a token its app, else whatever runs as the person, an agent."""
        return Actor.AGENT if self.grant.holder in ("socket", "loopback") else Actor.HOST

    @property
    def project(self) -> Identified:
        """Return the one project that the request is for.

        Raises:
            Problem: when it is for none or several.
        """
        if self.grant.project is None:
            raise Problem(400, _NO_PROJECT)
        return self.serving.projects.of_id(self.grant.project)

    def named(self, name: str) -> Identified:
        """Return the project that an event names.

        Raises:
            UsageError: when the grant does not open it; no other project is named.
        """
        closed = UsageError("project: the token opens none that is called so")
        try:
            found = self.serving.projects.named(name)
        except AmbiguousName as error:
            raise (error if self.grant.projects is None else closed) from None
        if not self.grant.opens(found.project_id):
            raise closed
        return found

    def memory(self) -> Memory:
        """Return the memory as it is now."""
        return self.serving.reader.memory()

    def scope(self, project_id: str) -> Scope:
        """Return the scope of a project that the grant opens.

        Raises:
            Problem: when it opens another one.
        """
        if not self.grant.opens(project_id):
            raise Problem(403, "everest: the token does not open the project that was named")
        return self.serving.reader.scope(self.grant.app, project_id)

    def reading(self, memory: Memory) -> Scope:
        """Return the scope of a read: of the request's project, which must be known.

        Raises:
            Problem: when nothing was ever read, said or done in it.
        """
        scope = self.scope(self.project.project_id)
        if memory.view is not None and not self._is_known(scope, memory):
            raise Problem(
                404, "everest: no such project is known here; what is first written there makes it"
            )
        return scope

    def scopes(self, memory: Memory) -> list[Scope]:
        """Return every published scope that the grant opens, and `@global`."""
        published = [entry.scope for entry in memory.view.manifest.scopes] if memory.view else []
        return [scope for scope in published if self.opens(scope)]

    def opens(self, scope: Scope) -> bool:
        """Tell whether a scope is of the grant's app and of a project that it opens."""
        mine = scope == self.serving.reader.scope(self.grant.app, scope.project_id)
        return mine and (scope.project_id == GLOBAL or self.grant.opens(scope.project_id))

    def bound(self) -> Bound:
        """Return what a tool of an agent is bound to."""
        project, reader = self.project, self.serving.reader
        scope = self.scope(project.project_id)
        return Bound(reader, scope, project, self.serving.settings.zone, utc_now)

    def _is_known(self, scope: Scope, memory: Memory) -> bool:
        said = {note.scope.project_id for note in memory.overlay.notes}
        said |= {one.project_id for one in memory.overlay.projects}
        return (
            bool(memory.scopes(scope))
            or scope.project_id in said
            or bool(self.serving.reader.relays.of(scope.app_id).tail(scope.project_id, most=1))
        )


def caller(
    request: Request,
    _token: Annotated[str | None, Security(_TOKEN)] = None,
    _project: Annotated[
        str | None,
        Header(
            alias="x-everest-project",
            max_length=LONGEST_NAME,
            description="A project's id, name or folder. It narrows what the token opens.",
        ),
    ] = None,
) -> Caller:
    """Return who asks.

    Raises:
        Problem: when it is nobody that the memory is open to.
    """
    grant, trouble = request.scope["state"]["grant"], request.scope["state"]["trouble"]
    if trouble:
        raise Problem(503, f"everest: {trouble}")
    if grant is None:
        raise Problem(401, _NO_TOKEN)
    return Caller(grant, request.app.state.serving)


Asking = Annotated[Caller, Depends(caller)]
"""The parameter of a route by which it knows who asks."""
