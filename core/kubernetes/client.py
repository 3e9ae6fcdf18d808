"""Calls of the Kubernetes API with the official client. A name is a part of a path or a value in JSON: no shell reads it.

Objects are dicts, as in a manifest. The client brings the configuration, the credentials and the connections.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.settings import KubernetesSettings

SECONDS = 20.0
"""Longest time of one request."""
_CONNECT_SECONDS = 5.0
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_BUSY = (408, 429)
Manifest = dict[str, Any]


class KubernetesError(Exception):
    """A request failed. Its text is the server's, in one line."""


class NotInstalled(KubernetesError):
    """The package `kubernetes` is missing."""


class NoConfiguration(KubernetesError):
    """There is neither a service account nor a kube-config file."""


class ServerAway(KubernetesError):
    """The API server does not respond, or cannot serve the request at present."""


class Forbidden(KubernetesError):
    """The account has no right to the request."""


class QuotaExceeded(KubernetesError):
    """A quota of the namespace has no room for the object."""


class Missing(KubernetesError):
    """There is no such object."""


class Exists(KubernetesError):
    """There is an object of this name already."""


class Conflict(KubernetesError):
    """Another object changed meanwhile, such as a quota, or the object is not the one that the request names."""


class Refused(KubernetesError):
    """The server refuses the object or the request itself."""


@dataclass(frozen=True)
class Resource:
    """A kind of object: the path of its API, its plural in addresses, and the group for a check of rights."""

    path: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        return self.path.split("/")[2] if self.path.startswith("/apis/") else ""


JOBS = Resource("/apis/batch/v1", "jobs")
TRAIN_JOBS = Resource("/apis/trainer.kubeflow.org/v1alpha1", "trainjobs")
RUNTIMES = Resource("/apis/trainer.kubeflow.org/v1alpha1", "trainingruntimes")
PODS = Resource("/api/v1", "pods")
CONFIG_MAPS = Resource("/api/v1", "configmaps")
EVENTS = Resource("/api/v1", "events")
CLAIMS = Resource("/api/v1", "persistentvolumeclaims")
NAMESPACES = Resource("/api/v1", "namespaces", namespaced=False)
PRIORITY_CLASSES = Resource("/apis/scheduling.k8s.io/v1", "priorityclasses", namespaced=False)
LOCAL_QUEUES = Resource("/apis/kueue.x-k8s.io/v1beta1", "localqueues")
_REVIEWS = Resource("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews", namespaced=False)


class Api:
    """One namespace of a cluster. Every method raises KubernetesError, by its kind."""

    def __init__(self, client: Any, namespace: str) -> None:
        self._client, self.namespace = client, namespace

    @property
    def server(self) -> str:
        """The address of the API server."""
        return str(self._client.configuration.host)

    def version(self) -> str:
        """The version of the cluster, such as `v1.37.0`."""
        return str(self._call("GET", "/version").get("gitVersion", ""))

    def get(self, resource: Resource, name: str) -> Manifest:
        return self._call("GET", self._path(resource, name=True), name=name)

    def listed(self, resource: Resource, **selectors: str) -> list[Manifest]:
        """The objects that fit. `labelSelector`, `fieldSelector`: as in the API."""
        items: list[Manifest] = (
            self._call("GET", self._path(resource), query=list(selectors.items())).get("items") or []
        )
        return items

    def create(self, resource: Resource, manifest: Manifest, *, trial: bool = False) -> Manifest:
        """The object as the server stores it. `trial`: the server checks the object and stores nothing."""
        query = [("dryRun", "All")] if trial else []
        return self._call("POST", self._path(resource), body=manifest, query=query)

    def delete(self, resource: Resource, name: str, options: Manifest) -> None:
        """Delete an object. `options`: fields of DeleteOptions. One that is gone, or has another uid, is no error."""
        with suppress(Missing, Conflict):
            self._call("DELETE", self._path(resource, name=True), name=name, body=options)

    def may(self, verb: str, resource: Resource) -> bool:
        """Whether the account of this process has a right."""
        attributes = {"verb": verb, "group": resource.group, "resource": resource.plural}
        attributes |= {"namespace": self.namespace} if resource.namespaced else {}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        return bool(self.create(_REVIEWS, review).get("status", {}).get("allowed"))

    def _path(self, resource: Resource, *, name: bool = False) -> str:
        place = "/namespaces/{namespace}" if resource.namespaced else ""
        return f"{resource.path}{place}/{resource.plural}{'/{name}' if name else ''}"

    def _call(
        self,
        method: str,
        path: str,
        *,
        name: str = "",
        query: list[tuple[str, str]] | None = None,
        body: Manifest | None = None,
    ) -> Manifest:
        from kubernetes.client.exceptions import ApiException
        from kubernetes.config import ConfigException
        from urllib3.exceptions import HTTPError

        try:
            response = self._client.call_api(
                path,
                method,
                path_params={"namespace": self.namespace, "name": name},
                query_params=query or [],
                header_params={"Accept": "application/json", "Content-Type": "application/json"},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=(_CONNECT_SECONDS, SECONDS),
            )
            found: Manifest = json.loads(response.data)
        except ApiException as error:
            raise error_of(error.status or 0, error.body) from error
        except ConfigException as error:  # the client reads the token of its account again from time to time
            raise NoConfiguration(_one_line(str(error))) from error
        except (HTTPError, OSError, ValueError) as error:
            raise ServerAway(_one_line(str(error)) or type(error).__name__) from error
        return found


def connect(settings: KubernetesSettings) -> Api:
    """The namespace of the settings, by the service account in a pod, or else by the kube-config file."""
    try:
        from kubernetes import config
        from kubernetes.client import ApiClient, Configuration
        from yaml import YAMLError  # a dependency of the client
    except ImportError as error:
        raise NotInstalled(
            "the package `kubernetes` is missing. Install the extra: `pip install 'proximal-rlhf[kubernetes]'`"
        ) from error
    configuration = Configuration()
    try:
        namespace = _configure(config, configuration, settings)
    except (config.ConfigException, OSError) as error:
        raise NoConfiguration(_one_line(str(error))) from error
    except (YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:  # the client checks few of its fields
        file = settings.kubernetes_config or "KUBECONFIG or ~/.kube/config"
        raise NoConfiguration(f"the kube-config file is not valid ({file}): {_one_line(str(error))}.") from error
    configuration.retries = False  # the launcher itself tries again
    return Api(ApiClient(configuration), settings.kubernetes_namespace or namespace)


def _configure(config: Any, configuration: Any, settings: KubernetesSettings) -> str:
    """Fill the configuration. Returns the namespace of the pod or of the context. Raises ConfigException."""
    file, context = settings.kubernetes_config or None, settings.kubernetes_context
    if file is None and not context:
        try:
            config.load_incluster_config(client_configuration=configuration)
            return _NAMESPACE_FILE.read_text().strip() if _NAMESPACE_FILE.exists() else "default"
        except config.ConfigException:
            pass  # this process is not in a pod
    config.load_kube_config(file, context=context or None, client_configuration=configuration)
    contexts, active = config.list_kube_config_contexts(file)
    chosen = next((one for one in contexts if one["name"] == context), active)
    return str(chosen["context"].get("namespace") or "default")


def error_of(status: int, body: str | bytes | None) -> KubernetesError:
    """The error for a response with this status and body."""
    reason = None
    try:
        found = json.loads(body or "")
        message, reason = str(found["message"]), found.get("reason")
    except (ValueError, KeyError, TypeError):
        message = body.decode(errors="replace") if isinstance(body, bytes) else body or ""
    text = _one_line(message)[:2000] or f"status {status}"
    if status in _BUSY or status >= 500 or status == 0:
        return ServerAway(text)
    if status == 403 and "exceeded quota" in text:
        return QuotaExceeded(text)
    if status == 409:
        return Conflict(text) if reason == "Conflict" else Exists(text)
    kinds = {401: Forbidden, 403: Forbidden, 404: Missing}
    return kinds.get(status, Refused)(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
