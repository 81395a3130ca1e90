"""What calls of the serving process are bound to: the one project that a request's grant opens."""

from __future__ import annotations

from starlette.types import Scope

from serving.bound import Bound, MakeBound
from serving.grants import Grant
from serving.state import Serving
from tasks.domain.clock import utc_now
from tasks.errors import UsageError


def bound_to(serving: Serving) -> MakeBound:
    """Return what binds a request that was let in.

    It raises UsageError for one that names no project although its token opens several.
    """

    def bound(scope: Scope) -> Bound:
        grant: Grant = scope["state"]["grant"]
        if grant.project is None:
            raise UsageError(
                "which project? the token opens several: name one in the header "
                "x-everest-project, or in the URL as /t/<token>/p/<project>/mcp"
            )
        return Bound(
            serving.reader,
            serving.reader.scope(grant.app, grant.project),
            serving.projects.of_id(grant.project),
            serving.settings.zone,
            utc_now,
        )

    return bound
