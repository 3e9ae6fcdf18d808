"""The reference at `/docs`."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from api.reference import page

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def reference(request: Request) -> HTMLResponse:
    """For people; programs read `/openapi.json`."""
    return HTMLResponse(page(request.app.openapi()))
