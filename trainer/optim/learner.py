"""The learner: a model with its optimizer, learning-rate schedule and gradient clipping, refusing non-finite numbers."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from trainer.distributed import SINGLE, World
from trainer.distributed.sharding import slice_of
from trainer.distributed.world import loss_check_deferred
from trainer.errors import Diverged
from trainer.optim.adamw import optimizer_for
from trainer.optim.loss_scale import scale_for, take_stored
from trainer.spec import AdaptiveSchedule, OptimizerSpec
from trainer.spec.knobs import Knob


def schedule_factor(shape: AdaptiveSchedule, step: int, total_steps: int, warmup_ratio: float) -> float:
    """Learning rate of the 0-based `step` as a share of the peak: linear warm-up, then `shape`. Always positive.

    With "kl_adaptive", the peak itself changes between iterations.
    """
    warmup = math.ceil(warmup_ratio * total_steps)
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, total_steps - warmup)
    match shape:
        case "linear":
            return 1 - progress
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * progress))
        case "constant" | "kl_adaptive" | "auto":
            return 1.0


class Learner:
    """AdamW over one model. The learning rate is a function of the step, so there is no scheduler state to restore."""

    def __init__(
        self,
        model: nn.Module,
        spec: OptimizerSpec,
        total_steps: int,
        peak: float | None = None,
        eps: float = 1e-8,
        head: nn.Module | None = None,
        world: World = SINGLE,
    ):
        """`head`: a further module trained with the model, at the same rate and within the same clipped norm.

        `world`: the processes over which gradients are summed.
        """
        self.model = model
        self.world = world
        self.parameters = [*model.parameters(), *(head.parameters() if head is not None else ())]
        self.spec = spec
        self.total_steps = total_steps
        self.peak = spec.learning_rate if peak is None else peak
        self.optimizer = optimizer_for(self.parameters, spec, self.peak, eps)
        self.loss_scale = scale_for(model)

    def lr(self, step: int) -> float:
        return self.peak * schedule_factor(self.spec.lr_schedule, step, self.total_steps, self.spec.warmup_ratio)

    def retune(self, knob: Knob, spec: OptimizerSpec) -> float:
        """Take the peak learning rate of a changed section from the next step on. Returns the peak before."""
        assert knob == "learning_rate"  # the only knob of a stage with one learner
        before, self.peak = self.peak, spec.learning_rate
        return before

    def update(self, step: int, factor: float = 1.0) -> float:
        """Clip the accumulated gradient and take one optimizer step at `factor` × the rate of `step`.

        Returns the gradient norm before clipping. Raises Diverged, with unchanged weights, when it is not finite. Infinity: see
        `clip`; the step was left out.
        """
        norm = self.clip(step)
        if norm == math.inf:
            self.forget()
        else:
            self.take_step(step, factor)
        return norm

    def measured_update(self, step: int) -> dict[str, float]:
        """`update`, as metrics: the gradient norm of a step that was taken, and in float16 the loss scale."""
        norm = self.update(step)
        return ({} if norm == math.inf else {"grad_norm": norm}) | self.scale_metrics

    @property
    def scale_metrics(self) -> dict[str, float]:
        """The loss scale and the number of steps left out so far; {} unless the model computes in float16."""
        scale = self.loss_scale
        return {} if scale is None else {"loss_scale": scale.value, "overflows": float(scale.overflows)}

    def clip(self, step: int) -> float:
        """Sum the gradient over all processes, clip it, and return its norm before. Raises Diverged when it is not finite.

        Infinity is returned if the gradient overflowed in float16. The loss scale is then lower, and the step must be left out.
        All processes have the same sum and therefore the same scale.
        """
        self.world.sum_gradients(self.parameters)
        if self.loss_scale is not None:
            self.loss_scale.unscale(self.parameters)
        norm = clip_gradients(self.parameters, self.spec.max_grad_norm)
        if not math.isfinite(norm) and self.loss_scale is not None:
            if self.loss_scale.back_off():
                return math.inf
            raise Diverged(
                f"The gradient is not finite ({norm}), also at a loss scale of {self.loss_scale.value:g}. Lower the learning rate "
                f'(now {self.lr(step):.2g}), or set `model.dtype` = "float32".'
            )
        if not math.isfinite(norm):
            raise Diverged(f"The gradient is not finite ({norm}). Lower the learning rate (now {self.lr(step):.2g}).")
        return norm

    def take_step(self, step: int, factor: float = 1.0) -> None:
        """One optimizer step at `factor` × the rate of `step`, with the gradient unchanged."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr(step) * factor
        self.optimizer.step()
        if self.loss_scale is not None:
            self.loss_scale.grow()
        self.forget()

    def forget(self) -> None:
        """Drop the accumulated gradient without a step."""
        self.optimizer.zero_grad(set_to_none=True)

    def follow_scale(self, other: "Learner | None") -> None:
        """Take over the loss scale of another learner, where both have one."""
        if self.loss_scale is not None and other is not None and other.loss_scale is not None:
            self.loss_scale.load(*other.loss_scale.tensors().values())

    def state(self) -> dict[str, Tensor]:
        """The optimizer's state (moments, step counts, masters, loss scale) as flat tensors, for safetensors."""
        scale = {} if self.loss_scale is None else self.loss_scale.tensors()
        return self.optimizer.tensors() | scale

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore a state that `state` returned. For sharded weights, `tensors` holds the whole tensors of all processes.

        A run that goes on in another type ignores a stored loss scale, or begins with a new one.
        """
        tensors, scale = take_stored(tensors)
        if self.loss_scale is not None and scale is not None:
            self.loss_scale.load(scale)
        if self.world.sharded:
            weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
            tensors = {key: slice_of(value, weights[int(key.split(".")[0])]) for key, value in tensors.items()}
        self.optimizer.load_tensors(tensors)


def require_finite(loss: Tensor, name: str) -> None:
    """Raise Diverged before a non-finite loss reaches the weights.

    Sharded processes wait for each other in the backward pass, so none may leave before it. The check is then deferred to
    the sum of the gradients, which is not finite either.
    """
    if not loss_check_deferred.get() and not torch.isfinite(loss).all():
        require_finite_number(float(loss.detach().sum()), name)


def require_finite_number(value: float, name: str) -> None:
    """The same for a number on the host that all processes share."""
    if not math.isfinite(value):
        raise Diverged(
            f"The {name} is not finite ({value}). Lower the learning rate, or look at the data of this step."
        )


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float) -> float:
    """Scale all gradients down to the global L2 norm `max_norm`, and return the norm before, in fp32.

    Gradients within the norm, and non-finite ones, are not changed, which saves a pass over them.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = _norm(gradients)
    number = float(
        norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    )  # of slices, each has its share of the sum
    if max_norm < number < math.inf:
        nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return number


def _norm(gradients: Sequence[Tensor]) -> Tensor:
    """The global L2 norm in fp32. Summed in bfloat16, the norm would be wrong by half a percent."""
    if all(gradient.dtype in (torch.float32, torch.float64) for gradient in gradients):
        return nn.utils.get_total_norm(gradients)
    norms = [torch.linalg.vector_norm(gradient, dtype=torch.float32) for gradient in gradients]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return norm
