"""The documents and the dashboard name the limits at which the rules act."""

import re
from pathlib import Path

import pytest

from trainer.metrics import METRICS
from trainer.spec import HealthRule, HealthSpec

DOCS = Path(__file__).parents[3] / "docs"
RULES: dict[str, HealthRule] = {
    name: rule for name in HealthSpec.model_fields if isinstance(rule := getattr(HealthSpec(), name), HealthRule)
}
PPO = {metric.name: metric for metric in METRICS if metric.stage == "ppo"}
WATCHED = {
    "sampling/ratio/outside": (None, "sampler_gap"),
    "refill/shortfall": (None, "refill_short"),
    "policy/approxkl_avg": (None, "approxkl_high"),
    "policy/clipfrac_avg": ("clipfrac_zero", "clipfrac_high"),
    "objective/kl": ("negative_kl", None),
    "val/explained_var": ("negative_explained_variance", None),
    "critic/skill": ("critic_worse_than_mean", None),
}
"""Rules whose limits are the bounds of a metric's healthy range."""
IN_WORDS = {
    "sampling/ratio/beyond_rounding": "sampler_differs",
    "objective/kl": "kl_blow_up",
    "val/eos_rate": "truncation",
    "policy/approxkl_avg": "approxkl_jump",
    "objective/teacher_kl": "teacher_kl_rises",
}
"""Rules that a metric's text names with a limit outside of the healthy range."""
COUNTED = {"health/skipped_steps"}
"""Counted for `not_finite`."""
WITHOUT_RULE = {
    "val/ratio",
    "val/first_minibatch_ratio",
    "val/first_minibatch_approxkl",
    "sampling/importance_sampling_ratio/mean",
    "reward/<name>/error_rate",
    "online/accuracy_before",
}
"""Healthy ranges that no rule watches; docs/explanation/health.md gives the reasons."""


def test_healthy_ranges_are_the_limits_of_the_rules() -> None:
    for name, rules in WATCHED.items():
        healthy = PPO[name].healthy
        assert healthy is not None
        for bound, rule in zip(healthy, rules, strict=True):
            assert rule is None or (bound == RULES[rule].limit and f"`{rule}`" in PPO[name].advice)
    for name, rule in IN_WORDS.items():
        assert f"`{rule}`" in PPO[name].advice


def test_every_healthy_range_has_a_rule_or_is_named_without_one() -> None:
    ranges = {name for name, metric in PPO.items() if metric.healthy and not name.startswith("eval/")}
    assert ranges == WATCHED.keys() | (IN_WORDS.keys() - {"sampling/ratio/beyond_rounding"}) | COUNTED | WITHOUT_RULE
    text = (DOCS / "explanation" / "health.md").read_text()
    assert all(name in text or (name.startswith("sampling/") and "`sampling/…`" in text) for name in WITHOUT_RULE)


@pytest.mark.parametrize("name", RULES)
def test_defaults_in_the_table_of_rules_are_those_of_the_spec(name: str) -> None:
    text = (DOCS / "explanation" / "health.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    default = row.split(" | ")[2].replace("\N{MINUS SIGN}", "-")
    limit, patience = default.split(" nats")[0].split(",")[0], re.search(r", (\d+) (steps|evaluations|block)", default)
    assert float(limit) == RULES[name].limit
    assert (int(patience[1]) if patience else 1) == RULES[name].patience
    assert RULES[name].patience == 1 or "at once" not in default


@pytest.mark.parametrize(
    ("page", "metric", "written"),
    [
        ("tutorials/read-a-run.md", "policy/clipfrac_avg", r"above (\.\d+)"),
        ("tutorials/read-a-run.md", "policy/approxkl_avg", r"above (\.\d+)"),
        ("how-to/recipes/ppo.md", "policy/clipfrac_avg", r"to (0\.\d+)"),
    ],
)
def test_guides_name_the_limit_of_the_rule(page: str, metric: str, written: str) -> None:
    line = next(line for line in (DOCS / page).read_text().splitlines() if metric in line)
    found = re.search(written, line[line.index(metric) :])
    rule = WATCHED[metric][1]
    assert found and rule and float(found[1]) == RULES[rule].limit
