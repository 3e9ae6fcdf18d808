"""vLLM as an engine, in the trainer's own process: it wakes, takes the policy's current weights, samples, and sleeps again.

The model is made without weights. It takes them from the policy once after each update, with adapters merged in. Asleep at
level 2 it holds neither weights nor cache on the GPU or in host memory. At level 1 its weights stay in host memory, for
evaluations that sample the same policy several times. The trainer compares vLLM's log-probability of each token with its
own forward pass, and weights the token's loss by it (`ppo.rollout.importance_cap`).
"""

import gc
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from trainer.errors import EngineFailed, ModelError, OutOfMemory, TrainerError
from trainer.models import Model
from trainer.models.heads import underlying
from trainer.out_of_memory import is_out_of_memory
from trainer.sampling.engine import Response, seed_from
from trainer.sampling.vllm_support import console_in, head_size, require_vllm, vllm_module, why_refused
from trainer.spec import ModelSpec, PPOSpec
from trainer.text.stops import Stops

_TOKENS = 8192
"""Tokens of one forward pass at most. vLLM's default distorts its memory profile."""
_BLOCK = 128
"""Tokens of a block of vLLM's cache on a CPU."""
_NO_ROOM = (
    "Free memory on device",
    "Available memory on node",
    "No available memory for the cache blocks",
    "larger than the available KV cache memory",
    "KV cache is needed",
)
"""Parts of the messages of vLLM's ValueErrors about memory."""


class VLLM:
    """vLLM's engine for one policy. It keeps no memory after `close`."""

    def __init__(
        self,
        policy: Model,
        spec: PPOSpec,
        model: ModelSpec,
        *,
        stops: Stops,
        context: int,
        folder: Path,
        processes: int,
    ) -> None:
        """Start vLLM in this process, with the random states and threads of this process as they were.

        `context`: tokens of the longest prompt and response together. `folder`: receives the configuration that vLLM
        reads, and its output as `engine.log`; each process has its own. Raises ModelError if vLLM is not installed or
        cannot take the policy, OutOfMemory, and EngineFailed if it does not start for another reason.
        """
        require_vllm()
        if hasattr(policy, "run_inside") or model.quantization is not None:
            raise ModelError(
                '`ppo.rollout.engine` = "vllm" takes whole weights: not quantized ones, nor such as are spread over processes.'
            )
        config, device = policy.config, next(policy.parameters()).device
        if (reason := why_refused(config, device.type)) is not None:
            raise ModelError(reason)
        self._policy: Model | None = policy
        self._stops, self._log, self._processes = stops, folder / "engine.log", processes
        self._share = spec.rollout.gpu_memory_utilization
        config = deepcopy(config)
        config.architectures = [type(underlying(policy)).__name__]  # a model of random weights does not record it
        config.save_pretrained(folder)
        rows = spec.rollout.rows_at_once or min(spec.batch_size, 256)
        dtype = getattr(policy, "compute_dtype", torch.float32)
        self._can_sleep = bool(vllm_module("vllm.platforms").current_platform.is_sleep_mode_available())
        self._llm: Any = self._named(
            "did not start",
            lambda: _start(
                model=str(folder),
                load_format="dummy",
                skip_tokenizer_init=True,
                dtype=str(dtype).removeprefix("torch."),
                max_model_len=context,
                max_num_seqs=rows,
                max_num_batched_tokens=max(_TOKENS, context),
                gpu_memory_utilization=self._share,
                kv_cache_memory_bytes=_cache_bytes(config, rows, context, dtype) if device.type == "cpu" else None,
                distributed_executor_backend="uni" if processes == 1 else "external_launcher",
                enable_sleep_mode=self._can_sleep,
                enforce_eager=device.type == "cpu",  # compiling takes longer than it saves
                # after the temperature, as the trainer's are
                logprobs_mode="processed_logprobs",
            ),
        )
        self._asleep = False
        self._current = False
        self.free_memory()

    def close(self) -> None:
        """Free the engine and all of its memory. Afterwards, this process can start another one."""
        if self._llm is None:
            return
        core = self._llm.llm_engine.engine_core
        with console_in(self._log), _default_group_kept(self._processes > 1):
            core.shutdown()
        self._llm = self._policy = None
        del core
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def replace_policy(self, policy: Model) -> None:
        """Sample this policy from now on. A roll-back built it anew from a checkpoint."""
        self._policy, self._current = policy, False

    def policy_moved(self) -> None:
        self._current = False

    def serves(self, model: Model) -> bool:
        return model is self._policy

    @torch.no_grad()
    def sample(self, prompts: Sequence[list[int]], draws_BR: Tensor, temperature: float) -> list[Response]:
        self._named("failed while its weights were loaded", self._wake)
        first, tokens, params = seed_from(draws_BR), draws_BR.shape[1], vllm_module("vllm").SamplingParams
        how = [
            params(
                temperature=temperature, top_p=1.0, top_k=-1, min_p=0.0, max_tokens=tokens, seed=first + row, logprobs=0,
                stop_token_ids=list(self._stops.ids), ignore_eos=True, detokenize=False,
            )
            for row in range(len(prompts))
        ]  # fmt: skip
        inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
        requests = self._named("failed while it sampled", lambda: self._llm.generate(inputs, how, use_tqdm=False))
        return [self._response(request.outputs[0]) for request in requests]

    def free_memory(self, keep_weights: bool = False) -> None:
        if self._can_sleep and not self._asleep:
            self._llm.sleep(level=1 if keep_weights else 2)
            self._asleep, self._current = True, self._current and keep_weights

    def _wake(self) -> None:
        """Load the weights before the cache, which then needs no room beside a second set of weights.

        After level 2, vLLM must load by `reload_weights`. The model's own `load_weights` leaves out the values that vLLM
        derives from the weights, and the responses are gibberish (vllm#29341).
        """
        asleep, current = self._asleep, self._current
        if asleep:
            torch.cuda.empty_cache()  # memory that training has freed
            self._llm.wake_up(tags=["weights"])
        if not current:
            self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(weights_of(self._sampled))})
        if asleep:
            self._llm.wake_up(tags=["kv_cache"])
        if asleep or not current:
            self._llm.reset_prefix_cache()  # it was computed from other weights, or lost
        self._asleep, self._current = False, True

    @property
    def _sampled(self) -> Model:
        assert self._policy is not None, "the engine is closed"
        return self._policy

    def _named(self, what: str, call: Callable[[], Any]) -> Any:
        """Call it. An exception becomes a TrainerError whose message names vLLM, and what it could not do."""
        try:
            with console_in(self._log):
                return call()
        except TrainerError:
            raise
        except Exception as error:  # noqa: BLE001  # another project's code: it raises errors of every kind
            self._raise(what, error)

    def _raise(self, what: str, error: Exception) -> NoReturn:
        if is_out_of_memory(error) or any(text in str(error) for text in _NO_ROOM):
            raise OutOfMemory(
                f"vLLM {what}, because the memory does not suffice: {_line(error)} "
                f"`ppo.rollout.gpu_memory_utilization` is {self._share}. Change it, or lower `ppo.rollout.rows_at_once`."
            ) from error
        kind = (
            ModelError
            if what == "did not start" and isinstance(error, ValueError | NotImplementedError)
            else EngineFailed
        )
        raise kind(
            f'vLLM {what}: {_line(error)} Its output is in {self._log}. `ppo.rollout.engine` = "built_in" needs no vLLM.'
        ) from error

    def _response(self, output: Any) -> Response:
        ids = list(output.token_ids)
        logprobs = [float(at[token].logprob) for token, at in zip(ids, output.logprobs, strict=True)]
        return Response.cut(ids, logprobs, self._stops)  # vLLM has no stop strings without a tokenizer


def weights_of(policy: Model) -> Iterable[tuple[str, Tensor]]:
    """Yield the name and value of every weight, under transformers' names. For a role, they are the backbone's weights with
    its adapter merged in, one at a time."""
    backbone = getattr(policy, "backbone", None)
    if backbone is None:
        return dict(policy.state_dict()).items()
    merged: Iterable[tuple[str, Tensor]] = backbone.merged_in_turn(policy.adapter_name)
    return merged


def _start(**options: Any) -> Any:
    """vLLM's engine in this process, so that its model can be reached."""
    with _own_state_kept():
        llm = vllm_module("vllm").LLM(**options)
    gc.unfreeze()  # vLLM freezes all objects of the process, and would keep what they refer to
    return llm


@contextmanager
def _own_state_kept() -> Iterator[None]:
    """Keep random states and threads of this process. vLLM seeds all generators and, on a CPU, replaces
    `torch.set_num_threads` by a function that does nothing."""
    set_threads, threads = torch.set_num_threads, torch.get_num_threads()
    own, numpys, torchs = random.getstate(), np.random.get_state(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        torch.set_num_threads = set_threads
        torch.set_num_threads(threads)
        random.setstate(own)
        np.random.set_state(numpys)
        torch.set_rng_state(torchs)
        if gpus:
            torch.cuda.set_rng_state_all(gpus)


@contextmanager
def _default_group_kept(needed: bool) -> Iterator[None]:
    """Let only vLLM's own process groups end. The processes of a run go on in the default group, which vLLM's shutdown
    would destroy as well."""
    destroy = torch.distributed.destroy_process_group
    if needed:
        torch.distributed.destroy_process_group = lambda group=None: None if group is None else destroy(group)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group = destroy


def _cache_bytes(config: Any, rows: int, context: int, dtype: torch.dtype) -> int:
    """Bytes of the cache of `rows` sequences, and half as many more. vLLM on a CPU would take a share of all RAM."""
    text = config.get_text_config()
    heads = int(getattr(text, "num_key_value_heads", None) or text.num_attention_heads)
    tokens = (rows + 1) * math.ceil(context / _BLOCK) * _BLOCK
    return 3 * tokens * int(text.num_hidden_layers) * heads * head_size(text) * dtype.itemsize


def _line(error: Exception) -> str:
    """The error's text in one line that ends with a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."
