"""Tests of the real vLLM, on a CPU: `make test-vllm`. They need an environment of their own and are collected only there,
because vLLM asks for other versions of libraries than the platform."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("vllm") else ["test_*.py"]
