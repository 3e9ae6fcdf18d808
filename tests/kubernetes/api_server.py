"""An API server of Kubernetes on loopback: kmock's emulator with what a launcher depends on, and faults on demand.

kmock stores and lists objects. Added here: uids, selectors, trials, checks of rights and graceful deletion. Every object that a
client creates is checked by the schemas of three versions of Kubernetes, or by Kubeflow's own models.
"""

import asyncio
import copy
import json
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

import attrs
import kubernetes_validate
from aiohttp import web
from kmock import KubernetesEmulator, Server, action
from kubeflow_trainer_api.models import TrainerV1alpha1TrainJob

VERSIONS = ("1.35", "1.36", "1.37")
NAMESPACE = "research"
FOREGROUND = "foregroundDeletion"
_CLUSTER_WIDE = ("priorityclasses",)
_KINDS = {
    "pods": "v1",
    "configmaps": "v1",
    "events": "v1",
    "persistentvolumeclaims": "v1",
    "jobs": "batch/v1",
    "trainjobs": "trainer.kubeflow.org/v1alpha1",
    "trainingruntimes": "trainer.kubeflow.org/v1alpha1",
    "priorityclasses": "scheduling.k8s.io/v1",
    "localqueues": "kueue.x-k8s.io/v1beta1",
}
Result = TypeVar("Result")


def check_manifest(manifest: dict[str, Any]) -> None:
    """Raise an error where an object has a field or a value that its API does not have."""
    if manifest["kind"] == "TrainJob":
        assert TrainerV1alpha1TrainJob.from_dict(copy.deepcopy(manifest)).to_dict() == manifest
        return
    for version in VERSIONS:
        kubernetes_validate.validate(manifest, version, strict=True)


def timestamp(seconds: float) -> str:
    """A time as the API writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@attrs.define(kw_only=True)
class _Emulator(KubernetesEmulator):
    owner: "ApiServer" = attrs.field(init=False, default=None)

    async def _handle(self, request: Any) -> web.StreamResponse:
        return self.owner.respond(request) or await super()._handle(request)

    async def _serve_list(self, request: Any) -> Any:
        found: Any = await super()._serve_list(request)
        wanted = dict(one.split("=", 1) for one in request.params.get("labelSelector", "").split(",") if one)
        _, _, uid = request.params.get("fieldSelector", "").partition("involvedObject.uid=")
        items = [
            one
            for one in found["items"]
            if wanted.items() <= (one["metadata"].get("labels") or {}).items()
            and (not uid or one["involvedObject"]["uid"] == uid)
        ]
        return found | {"items": items}


class ApiServer:
    """The server, in a thread of its own. Every method may be called from the test's thread."""

    def __init__(self) -> None:
        self.denied: set[tuple[str, str]] = set()
        """Verbs and resources to which the account has no right."""
        self.fault: Callable[[str, str], tuple[int, str] | None] = lambda method, plural: None
        """The status and the message of a refused request, by its method and resource."""
        self.deletions: list[tuple[str, dict[str, Any]]] = []
        """The names and options of requests to delete."""
        self._uids = count(1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="api-server", daemon=True)
        self._emulator = _Emulator()
        self._emulator.owner = self
        for plural, version in _KINDS.items():
            self._emulator.resources[f"{version}/{plural}"] = {}
        self._server: Server | None = None
        self.port = 0

    def start(self) -> None:
        self._thread.start()
        self._run(self._emulator.__aenter__())
        self.listen()

    def listen(self) -> None:
        """Accept connections, on the same port as before."""
        self._server = Server(self._emulator, port=self.port or None)
        self._run(self._server.__aenter__())
        self.port = self._server.port

    def hang_up(self) -> None:
        """Accept no connections. The objects stay."""
        server, self._server = self._server, None
        if server is not None:
            self._run(server.__aexit__(None, None, None))

    def stop(self) -> None:
        self.hang_up()
        self._run(self._emulator.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def objects(self, plural: str) -> list[dict[str, Any]]:
        """Copies of all objects of a kind."""

        def read() -> list[dict[str, Any]]:
            items = self._emulator.objects.items()
            return [copy.deepcopy(one.raw) for key, one in items if key[0].plural == plural and not one.deleted]

        return self._in_loop(read)

    def put(self, plural: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """Store an object, as a controller does."""
        metadata = manifest["metadata"]
        metadata.setdefault("uid", f"uid-{next(self._uids)}")
        metadata.setdefault("creationTimestamp", timestamp(time.time()))
        key = (f"{_KINDS[plural]}/{plural}", None if plural in _CLUSTER_WIDE else NAMESPACE, metadata["name"])

        def write() -> None:
            self._emulator.objects[key] = manifest

        self._in_loop(write)
        return manifest

    def remove(self, plural: str, name: str) -> None:
        key = (f"{_KINDS[plural]}/{plural}", NAMESPACE, name)

        def write() -> None:
            del self._emulator.objects[key]

        self._in_loop(write)

    def respond(self, request: Any) -> web.Response | None:
        """The response where kmock's own does not suffice."""
        looked_at = re.fullmatch(r"/api/v1/namespaces/([^/]+)", request.url.path)  # kmock has no object of this kind
        plural = "namespaces" if looked_at else request.resource.plural if request.resource else ""
        if refused := self.fault(request.method.value.lower(), plural):
            return _failure(*refused)
        if looked_at:
            return (
                web.json_response({})
                if looked_at[1] == NAMESPACE
                else _failure(404, f'namespaces "{looked_at[1]}" not found')
            )
        if plural == "selfsubjectaccessreviews":
            wanted = request.data["spec"]["resourceAttributes"]
            allowed = (wanted["verb"], wanted["resource"]) not in self.denied
            return web.json_response(request.data | {"status": {"allowed": allowed}})
        if request.action == action.CREATE:
            check_manifest(request.data)
            metadata = request.data["metadata"]
            metadata |= {"uid": f"uid-{next(self._uids)}", "creationTimestamp": timestamp(time.time())}
            metadata["namespace"] = request.namespace
            return web.json_response(request.data) if request.params.get("dryRun") == "All" else None
        if request.action == action.DELETE:
            return self._delete(request, plural)
        return None

    def _delete(self, request: Any, plural: str) -> web.Response | None:
        """Mark an object as deleted where something must end first: the pods of a Job, or the processes of a pod."""
        options = request.data or {}
        self.deletions.append((request.name, options))
        stored = self._emulator.objects
        key = next((one for one in stored if one[0].plural == plural and one[2] == request.name), None)
        if key is None or stored[key].deleted:
            return _failure(404, f'{plural} "{request.name}" not found')
        found = copy.deepcopy(stored[key].raw)
        if options.get("preconditions", {}).get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            return _failure(409, "the UID in the precondition does not match")
        if plural == "pods":
            usual = found["spec"]["terminationGracePeriodSeconds"]
            until = timestamp(time.time() + options.get("gracePeriodSeconds", usual))
            found["metadata"] |= {
                "deletionTimestamp": until,
                "deletionGracePeriodSeconds": options.get("gracePeriodSeconds", usual),
            }
        elif options.get("propagationPolicy") == "Foreground":
            found["metadata"] |= {"deletionTimestamp": timestamp(time.time()), "finalizers": [FOREGROUND]}
        else:
            return None
        stored[key] = found
        return web.json_response(found)

    def _in_loop(self, function: Callable[[], Result]) -> Result:
        async def call() -> Result:
            return function()

        return self._run(call())

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)


def _failure(status: int, message: str) -> web.Response:
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": status, "message": message}
    body |= {"reason": "Conflict"} if status == 409 else {}
    return web.Response(status=status, text=json.dumps(body), content_type="application/json")
