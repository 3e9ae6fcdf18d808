"""JSON bodies in which no key occurs twice: which of two was meant, nobody can know, and the first would be lost in silence."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException


class StrictRoute(APIRoute):
    """For routers whose routes read JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=without_duplicates)


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            # The framework lets its own kind of exception through while it reads a body, and no other.
            raise HTTPException(422, f"The body holds the key {name!r} twice in one object.")
        seen[name] = value
    return seen
