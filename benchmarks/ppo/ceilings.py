"""Measures the highest rates of this machine: `python -m benchmarks.ppo.ceilings --threads 2` prints JSON.

Each matrix rate is the best of several tries. The benchmark runs in a process of its own before and after each run that is
compared with it, because machines drift.
"""

import argparse
import json
import time
from collections.abc import Callable

import torch

from benchmarks.ppo.sizes import SIZES, Shape

_SQUARE = 1536
_TRIES = 12


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure matrix rates and memory bandwidth.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--size", choices=SIZES, help="also the rates of this size's own shapes")
    parser.add_argument("--tokens", type=int, default=700, help="tokens of a minibatch, for the size's shapes")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device)
    dtype = torch.bfloat16 if arguments.device == "cuda" else torch.float32
    square = 8192 if arguments.device == "cuda" else _SQUARE
    figures: dict[str, object] = {
        "threads": arguments.threads,
        "device": arguments.device,
        "dtype": str(dtype).removeprefix("torch."),
        "matrix_flops": matrix_rate(square, square, square, dtype, device),
        "bandwidth_bytes": bandwidth(device),
    }
    if arguments.size:
        figures["shapes_flops"] = shape_rates(SIZES[arguments.size].shape, arguments.tokens, dtype, device)
    print(json.dumps(figures))


def matrix_rate(m: int, k: int, n: int, dtype: torch.dtype, device: torch.device) -> float:
    """Operations a second of (m, k) by (k, n): the best of several tries."""
    left, right = torch.randn(m, k, device=device, dtype=dtype), torch.randn(n, k, device=device, dtype=dtype)
    return 2.0 * m * k * n / _best(lambda: left @ right.T, device)


def bandwidth(device: torch.device, mib: int = 256) -> float:
    """Bytes a second that are read, summing an array much larger than the caches."""
    array = torch.ones(mib * 2**20 // 4, device=device)
    return array.numel() * 4 / _best(array.sum, device)


def shape_rates(shape: Shape, tokens: int, dtype: torch.dtype, device: torch.device) -> dict[str, float]:
    """The rates of the products that a minibatch is made of: forward, for the inputs' gradient, for the weights'."""
    products = {
        "attention forward": (tokens, shape.hidden, shape.hidden),
        "feed-forward up": (tokens, shape.hidden, shape.ffn),
        "feed-forward down": (tokens, shape.ffn, shape.hidden),
        "feed-forward weights": (shape.ffn, tokens, shape.hidden),
        "attention weights": (shape.hidden, tokens, shape.hidden),
    }
    return {name: matrix_rate(*sizes, dtype, device) for name, sizes in products.items()}


def _best(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of the fastest of several tries, each long enough for the clock (about 10 ms)."""
    seconds = _timed(work, 1, device)
    repeats = max(1, min(1000, round(0.01 / max(seconds, 1e-6))))
    return min(_timed(work, repeats, device) / repeats for _ in range(_TRIES))


def _timed(work: Callable[[], object], repeats: int, device: torch.device) -> float:
    _wait(device)
    began = time.perf_counter()
    for _ in range(repeats):
        work()
    _wait(device)
    return time.perf_counter() - began


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
