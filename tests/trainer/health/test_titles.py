"""Titles of the health rules."""

from trainer.health.rules import RULES
from trainer.spec import HealthSpec
from trainer.spec.health_titles import RULE_TITLES, rule_title


def test_every_rule_has_a_title_of_its_own() -> None:
    assert set(RULE_TITLES) == set(RULES) == set(HealthSpec.model_fields) - {"enabled"}
    assert len(set(RULE_TITLES.values())) == len(RULE_TITLES)


def test_a_rule_of_another_release_is_named_in_words() -> None:
    assert rule_title("token_flood") == "Token flood"
