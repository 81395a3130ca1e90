"""`/health` tells how the process does, `/metrics` what it counted. No words, no credentials."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from fastapi import APIRouter, Response

from serving.metrics import CONTENT_TYPE
from serving.state import Serving
from tasks.domain.clock import utc_now


def health_routes(serving: Serving) -> APIRouter:
    """Return the two routes."""
    router = APIRouter(tags=["process"])

    @router.get("/health", summary="How the process does")
    def health() -> dict[str, Any]:
        return {
            "status": "ok",
            "version": metadata.version("everest-memory"),
            "started": serving.started.isoformat(),
            "up_seconds": round((utc_now() - serving.started).total_seconds(), 3),
            "routes": [
                {"pattern": one.pattern, "server": one.origin + one.base, "api": one.api}
                for one in serving.routes.entries
            ],
        }

    @router.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    def metrics() -> Response:
        return Response(serving.counters.text(), media_type=CONTENT_TYPE)

    return router
