from trainer.events import CheckpointSaved, Curve, CurvePoint, Health, Metrics, RolledBack, SeedFinished, StageStarted
from trainer.events.console import line


def test_console_finding_shows_cause_and_setting_to_change() -> None:
    finding = Health(
        stage="ppo", step=7, rule="kl_blow_up", action="pause", limit=50.0, cause="`objective/kl` is 61.",
        evidence=[], suggestion="Raise `ppo.kl.coef`.",
    )  # fmt: skip
    assert (
        line(finding)
        == "health: ppo, step 7: KL too large: `objective/kl` is 61. Raise `ppo.kl.coef`. (kl_blow_up: pause)"
    )


def test_the_course_of_a_run() -> None:
    back = RolledBack(stage="ppo", step=30, to_step=20, learning_rate_factor=0.25)
    assert line(back) == "ppo: back from step 30 to the weights of step 20, learning rates × 0.25"
    best = CheckpointSaved(stage="ppo", step=20, path="p", final=False, best=True, metrics={"win_rate": 0.71})
    assert line(best) == "ppo: best so far at step 20  win_rate 0.71"
    assert line(best.model_copy(update={"best": False})) is None
    points = [CurvePoint(step=10, sqrt_kl=1.5, score=0.25, win_rate=0.75)]
    assert line(Curve(stage="ppo", points=points)) == (
        "ppo: score and judge or win rate, by distance\n  step 10  sqrt_kl 1.5  score 0.25  win_rate 0.75"
    )


def test_line_names_the_seed_of_several() -> None:
    started = StageStarted(stage="ppo", total_steps=4, seed=6)
    assert line(started) == "[seed 6] ppo: step 0 of 4"
    assert line(Metrics(stage="ppo", step=1, total_steps=4, values={}, seed=6)) is None


def test_how_a_seed_ended() -> None:
    done = SeedFinished(seed=4, number=2, of=5, seconds=9, summary={"win_rate": 0.6}, collapsed=False)
    assert line(done) == "seed 4 (2 of 5): did not collapse  win_rate 0.6"
    failed = done.model_copy(update={"summary": {}, "collapsed": True, "why": "The loss is not finite."})
    assert line(failed) == "seed 4 (2 of 5): collapsed: The loss is not finite."


def test_numbers_for_programs_are_not_printed() -> None:
    assert line(Metrics(stage="ppo", step=1, total_steps=2, values={})) is None
