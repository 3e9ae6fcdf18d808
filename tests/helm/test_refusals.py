"""Values that are wrong or contradict each other are refused, with a sentence about the remedy."""

from typing import Any

import pytest

from tests.helm.chart import MINIMAL, Refused, Renderer, merged

BUCKET = {"blobs": {"url": "s3://models"}}
INGRESS = {"ingress": {"enabled": True, "host": "rlhf.example.org"}, "trustedProxies": ["10.244.0.0/16"]}
CONTRADICTIONS = {
    "no image": ({"images": {"worker": {"repository": ""}}}, "images.worker.repository is empty. Build the image"),
    "no database": (
        {"database": {"url": ""}},
        "database.url and database.existingSecret are empty. Name the address of PostgreSQL",
    ),
    "no redis": (
        {"redis": {"url": ""}},
        "redis.url and redis.existingSecret are empty. Name the address of Redis or Valkey",
    ),
    "two databases": (
        {"database": {"existingSecret": "pg"}},
        "database.url and database.existingSecret exclude each other",
    ),
    "two places of secrets": (
        {"secrets": {"existingSecret": "mine", "values": {"HF_TOKEN": "t"}}},
        "secrets.values and secrets.existingSecret exclude each other",
    ),
    "a folder as a bucket": (
        {"blobs": {"url": "file:///blobs"}},
        "blobs.url is not a bucket, as s3://bucket/prefix. For a folder leave it empty",
    ),
    "two places of blobs": (
        merged(BUCKET, {"blobs": {"claim": {"existing": "nfs"}}}),
        "Blobs lie in a bucket or on a claim",
    ),
    "a key without a bucket": (
        {"secrets": {"values": {"PROXIMAL_BLOB_ACCESS_KEY_ID": "k"}}},
        "PROXIMAL_BLOB_ACCESS_KEY_ID is for a bucket, but blobs.url is empty",
    ),
    "an endpoint without a bucket": (
        {"settings": {"PROXIMAL_BLOB_ENDPOINT": "https://s3.example"}},
        "PROXIMAL_BLOB_ENDPOINT is for a bucket, but blobs.url is empty",
    ),
    "two API pods on one disk": (
        {"api": {"replicas": 2}, "blobs": {"claim": {"accessMode": "ReadWriteOnce"}}},
        "api.replicas is 2, but one node only can mount a claim that is ReadWriteOnce. Set blobs.claim.accessMode",
    ),
    "two workers on one disk": (
        {"worker": {"replicas": 3}, "blobs": {"claim": {"accessMode": "ReadWriteOnce", "existing": "disk"}}},
        "worker.replicas is 3, but one node only",
    ),
    "an ingress without a host": (merged(INGRESS, {"ingress": {"host": ""}}), "ingress.host is empty"),
    "an ingress that is not trusted": (
        merged(INGRESS, {"trustedProxies": []}),
        "trustedProxies is empty. List the network of the ingress",
    ),
    "a host without an ingress": (
        {"ingress": {"host": "rlhf.example.org"}},
        "ingress.host is set, but ingress.enabled is false",
    ),
    "GPUs of a worker without a trainer": (
        {"worker": {"launcher": "kubernetes", "gpus": 1}},
        "worker.gpus is for the launcher local. With the launcher kubernetes, set PROXIMAL_KUBERNETES_GPUS",
    ),
    "a setting of another launcher": (
        {"worker": {"kubernetes": {"PROXIMAL_KUBERNETES_GPUS": 1}}},
        "PROXIMAL_KUBERNETES_GPUS is for the launcher kubernetes, but worker.launcher is local",
    ),
    "a token that Jobs do not get": (
        {"worker": {"launcher": "kubernetes"}, "secrets": {"values": {"HF_TOKEN": "t"}}},
        "HF_TOKEN in secrets.values does not reach the pods of Jobs",
    ),
    "the platform's own Secret for trainers": (
        {"secrets": {"existingSecret": "mine"}, "worker": {"environmentSecrets": ["trackers", "mine"]}},
        "worker.environmentSecrets has mine, the Secret of the platform itself",
    ),
    "a Service without names": (
        {"service": {"type": "LoadBalancer"}},
        "hosts is empty. List the names and addresses under which clients reach the Service of type LoadBalancer",
    ),
    "a name that begins with a digit": ({"fullnameOverride": "1st"}, 'The name "1st" does not begin with a letter'),
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt value": ({"worker": {"replica": 2}}, "additional properties 'replica' not allowed"),
    "a misspelt section": ({"workers": {}}, "additional properties 'workers' not allowed"),
    "a misspelt setting": (
        {"settings": {"PROXIMAL_MAX_STEP": 5}},
        "additional properties 'PROXIMAL_MAX_STEP' not allowed",
    ),
    "a secret as a setting": (
        {"settings": {"PROXIMAL_BLOB_SECRET_ACCESS_KEY": "k"}},
        "'PROXIMAL_BLOB_SECRET_ACCESS_KEY' not allowed",
    ),
    "an address as a setting": ({"settings": {"DATABASE_URL": "x"}}, "'DATABASE_URL' not allowed"),
    "a text as a number": ({"settings": {"PROXIMAL_MAX_STEPS": "many"}}, "/settings/PROXIMAL_MAX_STEPS"),
    "an unknown choice": (
        {"settings": {"PROXIMAL_WHEN_QUOTA_EXCEEDED": "drop"}},
        "value must be one of 'queue', 'refuse'",
    ),
    "a text as a count": ({"api": {"replicas": "two"}}, "got string, want integer"),
    "a part of a worker": ({"worker": {"replicas": 1.5}}, "got number, want integer"),
    "less than no worker": ({"worker": {"replicas": -1}}, "minimum: got -1, want 0"),
    "an unknown launcher": ({"worker": {"launcher": "slurm"}}, "value must be one of 'local', 'kubernetes'"),
    "a setting that the chart derives": (
        {"worker": {"launcher": "kubernetes", "kubernetes": {"PROXIMAL_KUBERNETES_CLAIM": "mine"}}},
        "'PROXIMAL_KUBERNETES_CLAIM' not allowed",
    ),
    "every proxy": ({"trustedProxies": ["*"]}, "'*' does not match pattern"),
    "a claim of one pod": ({"blobs": {"claim": {"accessMode": "ReadWriteOncePod"}}}, "/blobs/claim/accessMode"),
    "a name with a space": ({"secrets": {"existingSecret": "my secret"}}, "'my secret' does not match pattern"),
    "a host with a scheme": ({"ingress": {"host": "https://rlhf.example.org"}}, "does not match pattern"),
    "an image with a command": (
        {"images": {"api": {"repository": "$(touch x)"}}},
        "'$(touch x)' does not match pattern",
    ),
    "a field of a pod": (
        {"worker": {"scheduling": {"hostNetwork": True}}},
        "additional properties 'hostNetwork' not allowed",
    ),
    "a label in two words": ({"worker": {"labels": ["h 100"]}}, "'h 100' does not match pattern"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradicting_values_are_refused(helm: Renderer, name: str) -> None:
    values, sentence = CONTRADICTIONS[name]
    with pytest.raises(Refused) as caught:
        helm.render(values)
    assert "the values cannot be used:\n- " in str(caught.value)
    assert str(caught.value).count("\n- ") == 1 and sentence in str(caught.value)


@pytest.mark.parametrize("name", WRONG)
def test_schema_refuses_wrong_values(helm: Renderer, name: str) -> None:
    values, message = WRONG[name]
    with pytest.raises(Refused, match="don't meet the specifications of the schema") as caught:
        helm.render(values)
    assert message in str(caught.value)


def test_all_problems_are_named_at_once(helm: Renderer) -> None:
    with pytest.raises(Refused) as caught:
        helm.render({}, minimal={})
    for name in ("images.api", "images.worker", "database.url", "redis.url"):
        assert f"- {name}" in str(caught.value)


def test_one_node_may_have_one_pod_of_each(helm: Renderer) -> None:
    claim = helm.render({"blobs": {"claim": {"accessMode": "ReadWriteOnce"}}}).named("PersistentVolumeClaim", "blobs")
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_an_existing_claim_is_one_that_pods_share(helm: Renderer) -> None:
    release = helm.render({"blobs": {"claim": {"existing": "nfs"}}, "api": {"replicas": 3}}, MINIMAL)
    assert release.of_kind("PersistentVolumeClaim") == []
