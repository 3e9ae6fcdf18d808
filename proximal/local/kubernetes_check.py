"""The check of Kubernetes for `proximal doctor`, with the settings of a worker that creates Jobs."""

from collections.abc import Iterator

from core.errors import SettingsError
from core.kubernetes.namespace import checked
from core.settings import get_kubernetes_settings


def check_kubernetes() -> Iterator[tuple[str, bool, str]]:
    """The name, the result and a description; nothing where `PROXIMAL_LAUNCHER` is not `kubernetes`."""
    try:
        settings = get_kubernetes_settings()
    except SettingsError as error:
        yield "kubernetes", False, str(error)
        return
    if settings.launcher != "kubernetes":
        return
    namespace, problem = checked(settings)
    if problem is not None or namespace is None:
        yield "kubernetes", False, problem or "Kubernetes does not respond."
        return
    yield "kubernetes", True, f"{namespace.version} at {namespace.server}, namespace {namespace.name}"
