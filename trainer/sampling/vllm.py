"""vLLM as an engine, in the trainer's own process: it wakes, takes the policy's current weights, samples, and sleeps again.

The model is made without weights. It takes them from the policy once after each update, with adapters merged in. Asleep at
level 2 it holds neither weights nor cache on the GPU or in host memory. At level 1 its weights stay in host memory, for
evaluations that sample the same policy several times. The trainer compares vLLM's log-probability of each token with its
own forward pass, and weights the token's loss by it (`ppo.rollout.importance_cap`).
"""

import os
from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainer.errors import ModelError
from trainer.models import Model
from trainer.models.heads import underlying
from trainer.sampling.engine import Response, require_vllm, seed_from
from trainer.spec import ModelSpec, PPOSpec
from trainer.text.stops import Stops

_TOKENS = 8192
"""Tokens of one forward pass at most. vLLM's default distorts its memory profile."""


class VLLM:
    """Raises ModelError if vLLM is not installed, or cannot take the policy's weights."""

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
        """`context`: tokens of the longest prompt and response together. `folder`: receives the configuration that vLLM reads."""
        require_vllm()
        if hasattr(policy, "run_inside") or model.quantization is not None:
            raise ModelError(
                '`ppo.rollout.engine` = "vllm" takes whole weights: not quantized ones, nor such as are spread over processes.'
            )
        self._policy, self._stops = policy, stops
        # in this process, so that its model can be reached; vLLM reads it at import
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        from vllm import LLM  # type: ignore[import-not-found]

        config = deepcopy(policy.config)
        config.architectures = [type(underlying(policy)).__name__]  # a model of random weights does not record it
        config.save_pretrained(folder)
        self._llm: Any = LLM(
            model=str(folder),
            load_format="dummy",
            skip_tokenizer_init=True,
            dtype=str(getattr(policy, "compute_dtype", torch.float32)).removeprefix("torch."),
            max_model_len=context,
            max_num_seqs=spec.rollout.rows_at_once or min(spec.batch_size, 256),
            max_num_batched_tokens=max(_TOKENS, context),
            gpu_memory_utilization=spec.rollout.gpu_memory_utilization,
            distributed_executor_backend="uni" if processes == 1 else "external_launcher",
            enable_sleep_mode=True,
            # after the temperature, as the trainer's are
            logprobs_mode="processed_logprobs",
        )
        self._asleep = False
        self._current = False
        self.free_memory()

    def replace_policy(self, policy: Model) -> None:
        """Sample this policy from now on. A roll-back built it anew from a checkpoint."""
        self._policy, self._current = policy, False

    def policy_moved(self) -> None:
        self._current = False

    def serves(self, model: Model) -> bool:
        return model is self._policy

    @torch.no_grad()
    def sample(self, prompts: Sequence[list[int]], draws_BR: Tensor, temperature: float) -> list[Response]:
        from vllm import SamplingParams

        self._wake()
        first, tokens = seed_from(draws_BR), draws_BR.shape[1]
        how = [
            SamplingParams(
                temperature=temperature, top_p=1.0, top_k=-1, min_p=0.0, max_tokens=tokens, seed=first + row, logprobs=0,
                stop_token_ids=list(self._stops.ids), ignore_eos=True, detokenize=False,
            )
            for row in range(len(prompts))
        ]  # fmt: skip
        inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
        found = self._llm.generate(inputs, how, use_tqdm=False)
        return [self._response(request.outputs[0]) for request in found]

    def free_memory(self, keep_weights: bool = False) -> None:
        if not self._asleep:
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
            self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(weights_of(self._policy))})
        if asleep:
            self._llm.wake_up(tags=["kv_cache"])
        if asleep or not current:
            self._llm.reset_prefix_cache()  # it was computed from other weights, or lost
        self._asleep, self._current = False, True

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
