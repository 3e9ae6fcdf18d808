"""Who wins: by an installed judge, by any reward, by an endpoint that compares."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.trainer.rewards.test_plugin import installed as installed
from tests.trainer.rewards.tools import Reply, answer, assert_missing, context, says, serving
from trainer.errors import RewardError, SpecError
from trainer.rewards import Missing
from trainer.rewards.judges import Judge, load_judge
from trainer.spec import EvaluationSpec, HttpJudge


def judge_of(spec: Any) -> Judge:
    judge = load_judge(EvaluationSpec(judge=spec).judge, context())
    assert judge is not None
    return judge


def test_no_name_is_no_judge() -> None:
    assert load_judge(None, context()) is None


@pytest.mark.usefixtures("installed")
def test_installed_judge_receives_prompt_response_and_end() -> None:
    judge, one, other = judge_of("lengths"), answer("abc"), answer("ab", finished=False, prompt="long")
    assert judge.scores([one, other]) == [1 + 30 + 100, 4 + 20]
    assert judge.points([one, other, one], [other, one, one]) == [0.0, 1.0, 0.5]


@pytest.mark.usefixtures("installed")
def test_judge_that_returns_no_number_is_named() -> None:
    judge, one, other = judge_of("lengths"), answer("a"), answer("nan")
    scores = judge.scores([one, other])
    assert scores is not None and scores[0] == 1 + 10 + 100
    assert_missing(scores[1], "bad_output", "Judge `lengths` returned nan for response 2 of 2")
    points = judge.points([one, other, one], [one, one, other])
    assert points[0] == 0.5 and isinstance(points[1], Missing) and isinstance(points[2], Missing)


@pytest.mark.usefixtures("installed")
def test_judge_not_installed_is_refused_with_a_list_of_installed() -> None:
    with pytest.raises(SpecError, match=r"#/evaluation/judge: no judge named 'nobody' is installed here .*lengths"):
        judge_of("nobody")


def test_any_reward_can_judge() -> None:
    judge = judge_of({"type": "numeric_match", "format_credit": 0.5})
    right, near, wrong = answer("4", "4"), answer("#### 5", "4"), answer("5", "4")
    assert judge.scores([right, near, wrong]) == [1.0, 0.5, 0.0]
    assert judge.points([near, right, wrong], [right, wrong, wrong]) == [1.0, 0.0, 0.5]


def test_a_reward_that_cannot_judge_is_called_a_judge() -> None:
    with pytest.raises(RewardError, match="Judge `exact_match`: A prompt without an `answer`"):
        judge_of({"type": "exact_match"}).scores([answer("a")])


Verdict = Callable[[str, str], str]
VERDICTS: dict[str, tuple[Verdict, list[float]]] = {
    "the longer one": (lambda a, b: "tie" if len(a) == len(b) else "a" if len(a) > len(b) else "b", [1.0, 0.0, 0.5]),
    "whatever stands first": (lambda a, b: "a", [0.5, 0.5, 0.5]),
    "whatever stands last": (lambda a, b: "b", [0.5, 0.5, 0.5]),
    "a tie unless the first is long": (lambda a, b: "a" if len(a) > 1 else "tie", [0.5, 0.5, 0.5]),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_only_a_win_on_both_sides_is_one(kind: str) -> None:
    verdict, expected = VERDICTS[kind]

    def reply(question: dict[str, Any]) -> Reply:
        return says({"preferred": [verdict(item["a"], item["b"]) for item in question["items"]]})

    before, after = [answer("1"), answer("123"), answer("1")], [answer("12"), answer("1"), answer("2")]
    with serving(reply) as server:
        judge = load_judge(HttpJudge(type="http_judge", url=server.url, batch_size=2), context())
        assert judge is not None and judge.points(before, after) == expected
        assert judge.scores(before) is None
    assert [len(question["items"]) for question in server.questions] == [2, 2, 1, 1]
    assert server.questions[0]["items"][0] == {"prompt": "q", "a": "1", "b": "12"}
    assert server.questions[1]["items"][0] == {"prompt": "q", "a": "12", "b": "1"}


@pytest.mark.parametrize(
    ("preferred", "said"),
    [
        (["c"], "returned 'c' where"),
        ([None], "returned None where"),
        (["a", "b"], "returned 2 values"),
        ("a", "must answer"),
    ],
)
def test_http_judge_invalid_verdict_is_missing(preferred: Any, said: str) -> None:
    with serving(lambda question: says({"preferred": preferred})) as server:
        (verdict,) = judge_of({"type": "http_judge", "url": server.url}).points([answer("x")], [answer("y")])
    assert_missing(verdict, "bad_output", said)


def test_http_judge_pair_needs_a_verdict_in_both_orders() -> None:
    def reply(question: dict[str, Any]) -> Reply:
        return says({"preferred": [{"missing": "refusal"} if item["a"] == "12" else "b" for item in question["items"]]})

    with serving(reply) as server:
        judge = judge_of({"type": "http_judge", "url": server.url})
        verdicts = judge.points([answer("1"), answer("1")], [answer("12"), answer("2")])
    assert verdicts == [Missing("refusal", "no reason given"), 0.5]
