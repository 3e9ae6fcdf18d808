"""Puts the API together."""

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware

from api import (
    admin,
    health,
    idempotency,
    keys,
    members,
    monitoring,
    platform,
    problems,
    reference,
    session,
    usage,
    view_settings,
    workers,
)
from api.annotation import routes as annotation
from api.audit import routes as audit
from api.authorization import check_table
from api.compression import Compression
from api.dashboard import Dashboard
from api.datasets import report_routes, version_routes
from api.datasets import routes as datasets
from api.deps import caller
from api.groups import routes as groups
from api.jobs import (
    checkpoint_routes,
    command_routes,
    event_routes,
    finding_routes,
    log_routes,
    metric_routes,
    note_routes,
    sample_routes,
    telemetry_routes,
    transition_routes,
    validation_routes,
)
from api.jobs import routes as jobs
from api.live import routes as live
from api.live.hub import Hub
from api.middleware import RequestFrame
from api.monitoring import Monitor
from api.openapi import describe
from api.problems import documented
from api.templates import routes as templates
from api.uploads import routes as uploads
from api.validation import refuse_unknown_query
from api.webhooks import routes as webhooks
from core.errors import DiskFull, InvalidRequest, PlatformError, QueryTimeout, Unavailable
from core.settings import Settings
from core.uploads.checksums import RunningDigests

ROUTERS = (
    session.router,
    session.signed_in,
    version_routes.router,  # before datasets.router: /datasets/overlap is not the dataset "overlap"
    datasets.router,
    report_routes.router,
    uploads.router,
    annotation.router,
    jobs.router,
    command_routes.router,
    finding_routes.router,
    groups.router,
    templates.router,
    transition_routes.router,
    validation_routes.router,
    event_routes.router,
    live.router,
    metric_routes.router,
    sample_routes.router,
    note_routes.router,
    log_routes.router,
    telemetry_routes.router,
    checkpoint_routes.router,
    platform.router,
    usage.router,
    keys.router,
    members.router,
    webhooks.router,
    audit.router,
    admin.router,
    view_settings.router,
    workers.router,
)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application. Without `settings`, it reads the environment when the first request comes."""
    # A redirect to the address with or without a slash would repeat whatever Host the request names.
    app = FastAPI(
        redirect_slashes=False,
        title="Proximal",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation_id,
        middleware=[Middleware(RequestFrame, settings=settings), Middleware(Compression)],
    )
    app.state.settings = settings
    app.state.hub = Hub(settings)
    app.state.digests = RunningDigests()
    app.state.monitor = Monitor()
    problems.install(app)
    idempotency.install(app)
    for router in ROUTERS:
        app.include_router(_under_v1(router))
    app.include_router(health.router)
    app.include_router(reference.router)
    app.include_router(monitoring.router)
    check_table([route for router in (*ROUTERS, health.router, reference.router) for route in router.routes], caller)
    if settings is not None:
        app.router.default = Dashboard(settings.dashboard_dir)
    describe(app)
    return app


def _under_v1(router: APIRouter) -> APIRouter:
    versioned = APIRouter(prefix="/v1", dependencies=[Depends(refuse_unknown_query)])
    versioned.include_router(
        router, responses=documented(PlatformError, InvalidRequest, Unavailable, QueryTimeout, DiskFull)
    )
    return versioned


def _operation_id(route: APIRoute) -> str:
    """The function's name: clients generated from the schema then read like the code."""
    return route.name
