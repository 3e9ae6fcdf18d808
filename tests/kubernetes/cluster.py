"""A Kubernetes on loopback: the API server, a Job controller and a node that starts the commands of pods as processes.

The controller and the node act when the test waits (`Cluster.until`), in the test's thread. They follow the manifest: the
command, the environment, the mounts, the policy for failures, the grace time.
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from core import child
from tests.kubernetes.api_server import NAMESPACE, ApiServer, timestamp
from tests.proximal.conftest import free_port
from tests.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


class Cluster:
    """`claim`: the folder that the claim `data` holds. `scripted`: pods start no process, and the test ends them."""

    def __init__(self, folder: Path, claim: Path, *, scripted: bool = False) -> None:
        self.api, self.claim, self.scripted = ApiServer(), claim, scripted
        self.stop_status = 75
        """Status of a scripted pod that is deleted."""
        self.pod_problem: dict[str, Any] | None = None
        """Status of new pods that cannot start."""
        self.creates_pods = True
        self._folder, self._processes, self._numbers = folder, {}, count(1)
        self.environments: dict[str, dict[str, str]] = {}

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.api.start()
        claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}
        self.api.put("persistentvolumeclaims", claim)
        self.config_file.write_text(json.dumps(self._kube_config()))

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
        self.api.stop()

    @property
    def config_file(self) -> Path:
        return self._folder / "kube-config.json"

    def _kube_config(self) -> dict[str, Any]:
        context = {"cluster": "trial", "user": "worker", "namespace": NAMESPACE}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "trial",
            "contexts": [{"name": "trial", "context": context}],
            "clusters": [{"name": "trial", "cluster": {"server": f"http://127.0.0.1:{self.api.port}"}}],
            "users": [{"name": "worker", "user": {"token": "a-token"}}],
        }

    def until(self, condition: Callable[[], object]) -> None:
        """Let the cluster work until the condition holds."""

        def check() -> object:
            self.work()
            return condition()

        eventually(check)

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return self.api.objects("jobs")

    @property
    def pods(self) -> list[dict[str, Any]]:
        return sorted(self.api.objects("pods"), key=lambda pod: int(pod["metadata"]["name"].rpartition("-")[2]))

    def runs_a_pod(self) -> bool:
        return any(pod["status"]["phase"] == "Running" for pod in self.pods)

    def evict(self) -> None:
        """Evict the running pod, as the drain of a node does."""
        pod = next(one for one in self.pods if one["status"]["phase"] == "Running")
        pod["status"]["conditions"] = [_DISRUPTED]
        self._mark_deleted(pod, pod["spec"]["terminationGracePeriodSeconds"])

    def end_pod(self, status: int, reason: str = "Error", message: str = "") -> None:
        """End the running pod of a scripted cluster."""
        pod = next(one for one in self.pods if one["status"]["phase"] == "Running")
        self._end(pod, status, reason, message)

    def work(self) -> None:
        """One round of the controller and of the node."""
        maps = self.api.objects("configmaps")  # before the Jobs, which are older
        owners = {job["metadata"]["uid"]: job for job in [*self.jobs, *self.api.objects("trainjobs")]}
        for pod in self.pods:
            self._work_on_pod(pod, owners)
        for job in self.jobs:
            self._work_on_job(job)
        for plural in ("jobs", "trainjobs"):
            for job in self.api.objects(plural):
                if "deletionTimestamp" in job["metadata"] and not self._pods_of(job):
                    self.api.remove(plural, job["metadata"]["name"])
        for one in maps:
            if one["metadata"]["ownerReferences"][0]["uid"] not in owners:
                self.api.remove("configmaps", one["metadata"]["name"])

    def _pods_of(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        return [pod for pod in self.pods if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]]

    def _work_on_pod(self, pod: dict[str, Any], owners: dict[str, Any]) -> None:
        name, metadata = pod["metadata"]["name"], pod["metadata"]
        owner = owners.get(metadata["ownerReferences"][0]["uid"])
        orphan = owner is None or "deletionTimestamp" in owner["metadata"] or owner["spec"].get("suspend")
        ended = pod["status"]["phase"] in ("Succeeded", "Failed")
        if orphan and "deletionTimestamp" not in metadata:
            self._mark_deleted(pod, pod["spec"]["terminationGracePeriodSeconds"])
        elif ended and orphan:
            self.api.remove("pods", name)
        elif not ended and pod["status"]["phase"] == "Pending":
            self._start(pod, owner)
        elif not ended:
            self._watch(pod)

    def _start(self, pod: dict[str, Any], owner: dict[str, Any] | None) -> None:
        """Start the container once the ConfigMap exists."""
        maps = {one["metadata"]["name"]: one["data"] for one in self.api.objects("configmaps")}
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        if "deletionTimestamp" in pod["metadata"]:
            self.api.remove("pods", pod["metadata"]["name"])
            return
        if self.pod_problem is not None or volumes["spec"]["configMap"]["name"] not in maps:
            return
        pod["status"] = {"phase": "Running"}
        pod["spec"]["nodeName"] = "n1"
        self.api.put("pods", pod)
        if not self.scripted:
            self._processes[pod["metadata"]["name"]] = self._run(pod, volumes, maps)

    def _run(self, pod: dict[str, Any], volumes: dict[str, Any], maps: dict[str, Any]) -> child.Child:
        """The process of the pod's one container: only what the manifest gives it, and the image's PATH."""
        (container,), name = pod["spec"]["containers"], pod["metadata"]["name"]
        scratch = self._folder / name
        for mount in container["volumeMounts"]:
            volume, path = volumes[mount["name"]], Path(mount["mountPath"])
            if "persistentVolumeClaim" in volume:
                assert path.samefile(self.claim / mount["subPath"])
            elif "configMap" in volume:
                assert path.read_text() == maps[volume["configMap"]["name"]][mount["subPath"]]
        variables = {one["name"]: one["value"] for one in container["env"]}
        words = [_VARIABLE.sub(lambda found: _expanded(found, variables), word) for word in container["command"]]
        variables = {key: re.sub(r"^/tmp\b", str(scratch), value) for key, value in variables.items()}
        scratch.mkdir()
        variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
        variables["PYTHONPATH"] = str(REPOSITORY)
        self.environments[name] = variables
        with (self._folder / f"{name}.log").open("wb") as log:
            return child.start(words, cwd=Path(container.get("workingDir", scratch)), env=variables, stdout=log)

    def _watch(self, pod: dict[str, Any]) -> None:
        """Note the end of a pod's process. A deleted pod gets SIGTERM, and SIGKILL after its grace time."""
        name, deleted = pod["metadata"]["name"], "deletionTimestamp" in pod["metadata"]
        if self.scripted:
            if deleted and self.stop_status:
                self._end(pod, self.stop_status, "Error", "")
            return
        process = self._processes[name]
        if deleted and not pod["metadata"].get("labels", {}).get("signalled"):
            process.send(signal.SIGTERM)
            pod["metadata"]["labels"]["signalled"] = "yes"
            self.api.put("pods", pod)
        if deleted and pod["metadata"]["deletionGracePeriodSeconds"] == 1:
            process.kill()
        status = process.poll()
        if status is not None:
            output = (self._folder / f"{name}.log").read_text()[-2000:]
            self._end(pod, 128 - status if status < 0 else status, "Error" if status else "Completed", output)

    def _end(self, pod: dict[str, Any], status: int, reason: str, message: str) -> None:
        ended = {"exitCode": status, "reason": reason, "message": message, "finishedAt": timestamp(time.time())}
        pod["status"] |= {
            "phase": "Failed" if status else "Succeeded",
            "containerStatuses": [{"name": "node", "state": {"terminated": ended}}],
        }
        self.api.put("pods", pod)

    def _mark_deleted(self, pod: dict[str, Any], grace: int) -> None:
        until = timestamp(time.time() + grace)
        pod["metadata"] |= {"deletionTimestamp": until, "deletionGracePeriodSeconds": grace}
        self.api.put("pods", pod)

    def _work_on_job(self, job: dict[str, Any]) -> None:
        """The Job controller: a new pod in place of one that ended without counting, or the end of the Job."""
        if "deletionTimestamp" in job["metadata"] or job.get("status", {}).get("conditions"):
            return
        pods = self._pods_of(job)
        if any(pod["status"]["phase"] == "Succeeded" for pod in pods):
            self._finish(job, "Complete", "CompletionsReached", "")
            return
        failed = [pod for pod in pods if pod["status"]["phase"] == "Failed"]
        actions = [_action(job["spec"]["podFailurePolicy"], pod) for pod in failed]
        if "FailJob" in actions:
            self._finish(job, "Failed", "PodFailurePolicy", "a container failed")
        elif actions.count("Count") > job["spec"]["backoffLimit"]:
            self._finish(job, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        elif len(failed) == len(pods) and not job["spec"].get("suspend") and self.creates_pods:
            self.create_pod(job, job["spec"]["template"])

    def create_pod(self, job: dict[str, Any], template: dict[str, Any]) -> None:
        owner = {"kind": job["kind"], "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
        metadata = json.loads(json.dumps(template["metadata"]))
        metadata |= {"name": f"{job['metadata']['name']}-{next(self._numbers)}", "ownerReferences": [owner]}
        status = {"phase": "Pending", **(self.pod_problem or {})}
        self.api.put("pods", {"metadata": metadata, "spec": json.loads(json.dumps(template["spec"])), "status": status})

    def create_nodes(self) -> None:
        """Make a pod for each node of a TrainJob, with the variables of torchrun, as Kubeflow, JobSet and the Job controller do."""
        (job,) = self.api.objects("trainjobs")
        trainer, port = job["spec"]["trainer"], str(free_port())
        (patch,) = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
        template = patch["template"]["spec"]["template"]
        (container,) = template["spec"]["containers"]
        container["command"] = trainer["command"]
        for rank in range(trainer["numNodes"]):
            node = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", "PET_NODE_RANK": str(rank)}
            node |= {"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": port}
            container["env"] = [*trainer["env"], *({"name": name, "value": value} for name, value in node.items())]
            self.create_pod(job, template)

    def _finish(self, job: dict[str, Any], condition: str, reason: str, message: str) -> None:
        job["status"] = {"conditions": [{"type": condition, "status": "True", "reason": reason, "message": message}]}
        self.api.put("jobs", job)


def _expanded(found: re.Match[str], variables: dict[str, str]) -> str:
    """Kubernetes' own replacements in a command: `$$` is a `$`, and `$(NAME)` a variable of the container, if there is one."""
    return "$" if found[0] == "$$" else variables.get(found[1], found[0])


def _action(policy: dict[str, Any], pod: dict[str, Any]) -> str:
    """The action of the first rule that fits a failed pod."""
    conditions = {(one["type"], one["status"]) for one in pod["status"].get("conditions", [])}
    code = pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
    for rule in policy["rules"]:
        wanted, codes = rule.get("onPodConditions", []), rule.get("onExitCodes")
        if any((one["type"], one["status"]) in conditions for one in wanted):
            return str(rule["action"])
        if codes and (code in codes["values"]) == (codes["operator"] == "In"):
            return str(rule["action"])
    return "Count"
