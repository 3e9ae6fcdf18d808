"""Plug-ins, found by entry point as installed ones are."""

import sys
from pathlib import Path

import pytest

from tests.trainer.rewards.tools import answer, assert_missing, context, encoded
from tests.trainer.stage_tools import new_codec
from trainer.errors import RewardError, SpecError
from trainer.rewards import Missing, Scores, TokenRewards, build
from trainer.spec import PluginReward

PACKAGE = """\
[proximal.rewards]
letters = tests.trainer.rewards.plugins:per_letter
tokens = tests.trainer.rewards.plugins:per_token
broken = tests.trainer.rewards.plugins:broken
moody = tests.trainer.rewards.plugins:moody
gone = tests.trainer.rewards.plugins:not_there
[proximal.judges]
lengths = tests.trainer.rewards.plugins:judge
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package's metadata on the path: what `pip install` leaves."""
    folder = tmp_path / "operator-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: operator\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(PACKAGE)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])


def scored(plugin: str, **options: str | float) -> Scores:
    answers = [answer("banana", "banana"), answer("a", None, finished=False)]
    return build([PluginReward(type="plugin", plugin=plugin, options=dict(options))], context()).score(answers)


@pytest.mark.usefixtures("installed")
def test_plugin_reward_receives_options_and_response_fields() -> None:
    assert scored("letters", letter="a", per=0.5).totals == [2.5, 100.5]


@pytest.mark.usefixtures("installed")
def test_plugin_reward_may_return_a_score_for_each_token() -> None:
    codec = new_codec()
    answers = [encoded(codec, "ask", text) for text in ("aba", "bb", "ca", "a")]
    spec = PluginReward(type="plugin", plugin="tokens", options={"word": "a"}, weight=0.5)
    scores = build([spec], context(codec=codec)).score(answers)
    assert scores.parts == {"plugin": [2.0, -1.0, 1.0, 1.0]} and scores.totals == [1.0, -0.5, 0.5, 0.5]
    assert scores.dense == TokenRewards([0.0, -0.5, 0.0, 0.0], [[0.5, 0.0, 0.5, 0.0], [], [0.0, 0.5, 0.0], [0.5, 0.0]])


@pytest.mark.usefixtures("installed")
def test_plugin_reward_error_is_missing_and_names_its_line() -> None:
    for total in scored("broken").totals:
        assert_missing(total, "crash", r"the plug-in failed: ZeroDivisionError: .*plugins\.py, line")


@pytest.mark.usefixtures("installed")
def test_plugin_reward_failing_call_is_repeated_per_response() -> None:
    texts = ["fine", "late", "away", "odd", "none", "told", "fatal?"]
    spec = PluginReward(type="plugin", plugin="moody")
    scores = build([spec], context()).score([answer(text) for text in texts])
    causes = [total.cause if isinstance(total, Missing) else total for total in scores.totals]
    assert causes == [4.0, "time_out", "unreachable", "crash", "bad_output", "refusal", 6.0]


@pytest.mark.usefixtures("installed")
def test_plugin_reward_own_error_of_the_trainer_ends_the_run() -> None:
    with pytest.raises(RewardError, match="Reward `plugin`: no such language"):
        build([PluginReward(type="plugin", plugin="moody")], context()).score([answer("fatal")])


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        ("letters", "refused its options: TypeError"),
        ("gone", "'gone' cannot be loaded"),
        ("nowhere", r"no plug-in named 'nowhere' is installed here .*letters"),
    ],
)
def test_a_plug_in_that_cannot_start_is_refused_before_training(plugin: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        scored(plugin)
