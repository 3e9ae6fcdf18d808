"""Values of different installations, which the tests render."""

from typing import Any

HOSTILE = "a \"quoted\" 'text'\n  b: c # {{ .Values.redis.url }} $(DATABASE_URL) $(touch x) `touch x` $$ % é \\ & <"
"""A text that YAML, templates, Kubernetes and shells would each change."""

VALUE_SETS: dict[str, dict[str, Any]] = {
    "the addresses alone": {},
    "secrets by name": {
        "database": {"url": "", "existingSecret": "pg-app", "secretKey": "uri"},
        "redis": {"url": "", "existingSecret": "redis-address"},
        "secrets": {"existingSecret": "proximal-secrets"},
        "worker": {"environmentSecrets": ["trackers"]},
        "images": {"pullSecrets": ["registry"]},
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/proximal"}},
    },
    "a bucket": {
        "blobs": {"url": "s3://models/proximal"},
        "settings": {"PROXIMAL_BLOB_ENDPOINT": "https://minio.example:9000", "PROXIMAL_BLOB_REDIRECTS": False},
        "secrets": {
            "values": {
                "PROXIMAL_BLOB_ACCESS_KEY_ID": "AKIA",
                "PROXIMAL_BLOB_SECRET_ACCESS_KEY": "hidden",
                "HF_TOKEN": "hf_hidden",
            }
        },
    },
    "GPUs": {
        "worker": {
            "replicas": 4,
            "gpus": 2,
            "labels": ["h100", "zone=eu"],
            "sharedMemory": "16Gi",
            "resources": {"limits": {"memory": "200Gi"}},
            "models": {"existingClaim": "hub"},
            "runs": {"size": "500Gi", "storageClassName": "fast"},
            "scheduling": {
                "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "runtimeClassName": "nvidia",
                "priorityClassName": "training",
            },
        },
        "dataWorker": {"gpus": 1},
    },
    "an ingress": {
        "ingress": {"enabled": True, "className": "nginx", "host": "rlhf.example.org", "tlsSecret": "rlhf-tls"},
        "trustedProxies": ["10.244.0.0/16", "fd00::/8"],
        "hosts": ["proximal.internal"],
        "api": {
            "replicas": 3,
            "scheduling": {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "api"}},
                    }
                ]
            },
        },
    },
    "network rules": {
        "networkPolicy": {
            "enabled": True,
            "apiFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}],
            "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        },
        "hosts": ["192.0.2.7", "*.rlhf.example.org"],
        "service": {"type": "LoadBalancer", "port": 8080, "annotations": {"cloud/internal": "true"}},
    },
    "existing claims": {
        "blobs": {"claim": {"existing": "nfs-blobs"}},
        "worker": {"runs": {"existingClaim": "nfs-runs"}},
        "images": {"api": {"digest": f"sha256:{'a' * 64}"}},
        "podDisruptionBudget": {"enabled": False},
    },
    "Jobs": {
        "worker": {
            "launcher": "kubernetes",
            "replicas": 3,
            "environmentSecrets": ["trackers"],
            "models": {"existingClaim": "hub"},
            "kubernetes": {"PROXIMAL_KUBERNETES_GPUS": 8, "PROXIMAL_KUBERNETES_MEMORY_GIB": 400},
        },
        "images": {"pullSecrets": ["registry", "mirror"]},
        "networkPolicy": {"enabled": True},
    },
    "hostile texts": {
        "database": {"url": f"postgresql://u:{HOSTILE}@h/d"},
        "settings": {"PROXIMAL_TRACKING": HOSTILE, "PROXIMAL_MAX_UPLOAD_BYTES": 68719476736},
        "podAnnotations": {"note": HOSTILE},
        "trustedProxies": ["10.0.0.0/8"],
        "ingress": {"enabled": True, "host": "rlhf.example.org", "annotations": {"note": HOSTILE}},
        "service": {"annotations": {"note": HOSTILE}},
        "worker": {"scheduling": {"nodeSelector": {"note": HOSTILE}}},
        "secrets": {"values": {"HF_TOKEN": f"hf {HOSTILE}"}},
    },
}
