"""Rounds of annotation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from client.sdk.connection import Connection
from client.sdk.types import (
    AnnotationAnswer,
    AnnotationContinuation,
    AnnotationProgress,
    AnnotationQueue,
    AnnotationResult,
    AnnotationRound,
    AnnotationUndo,
    Job,
)

_ROUNDS = "/v1/annotation/rounds"


class Annotation(Connection):
    """`/v1/annotation/rounds`"""

    def create_annotation_round(self, source: Mapping[str, Any], **wanted: Any) -> AnnotationRound:
        """`source`: `{"type": "dataset", "dataset": "ds_…", …}` or `{"type": "checkpoints", "checkpoints": ["ckpt_…", …],
        "prompts": "ds_…", …}`. `wanted`: name, kind, instructions, overlap, gold, gold_share, reward_model, ….

        The round is `preparing` at first, and `open` once its items are made.
        """
        answer: AnnotationRound = self._request("POST", _ROUNDS, json={"source": dict(source), **wanted}).json()
        return answer

    def list_annotation_rounds(self, status: Sequence[str] = ()) -> Iterator[AnnotationRound]:
        """Newest first."""
        return self._pages(_ROUNDS, status=list(status) or None)

    def get_annotation_round(self, round_id: str) -> AnnotationRound:
        answer: AnnotationRound = self._get(f"{_ROUNDS}/{round_id}")
        return answer

    def change_annotation_round(self, round_id: str, **changes: Any) -> AnnotationRound:
        """`name`, `instructions`, `overlap`, `status` (open or paused)."""
        answer: AnnotationRound = self._request("PATCH", f"{_ROUNDS}/{round_id}", json=changes).json()
        return answer

    def delete_annotation_round(self, round_id: str) -> None:
        self._request("DELETE", f"{_ROUNDS}/{round_id}")

    def next_annotation_items(self, round_id: str, annotator: str, limit: int = 1) -> AnnotationQueue:
        """The next items of an annotator. A repeated call returns the same items."""
        body = {"annotator": annotator, "limit": limit}
        answer: AnnotationQueue = self._request("POST", f"{_ROUNDS}/{round_id}/next", json=body).json()
        return answer

    def answer_annotation_item(
        self,
        round_id: str,
        item_id: str,
        annotator: str,
        choice: str | None = None,
        ranks: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> AnnotationAnswer:
        """`choice`: 1, 2, tie or skip. `ranks`: one number for each completion, in the order in which they were shown."""
        body = {"annotator": annotator, "choice": choice, "ranks": ranks and list(ranks), "seconds": seconds}
        path = f"{_ROUNDS}/{round_id}/items/{item_id}/answer"
        answer: AnnotationAnswer = self._request("PUT", path, json=body).json()
        return answer

    def undo_annotation(self, round_id: str, annotator: str, item_id: str | None = None) -> AnnotationUndo:
        """Undo the annotator's answer to `item_id`. Without it: the last answer."""
        body = {"annotator": annotator, "item": item_id}
        answer: AnnotationUndo = self._request("POST", f"{_ROUNDS}/{round_id}/undo", json=body).json()
        return answer

    def get_annotation_progress(self, round_id: str) -> AnnotationProgress:
        answer: AnnotationProgress = self._get(f"{_ROUNDS}/{round_id}/progress")
        return answer

    def list_annotation_results(self, round_id: str, *, disagreed: bool = False) -> Iterator[AnnotationResult]:
        """Every item with its answers. `disagreed`: only items whose answers differ."""
        return self._pages(f"{_ROUNDS}/{round_id}/items", only="disagreed" if disagreed else None)

    def choose_annotation_reward_model(self, round_id: str, checkpoint_id: str) -> AnnotationProgress:
        """Score the completions with a reward model, to measure its agreement with the annotators."""
        body = {"checkpoint": checkpoint_id}
        answer: AnnotationProgress = self._request("POST", f"{_ROUNDS}/{round_id}/reward_model", json=body).json()
        return answer

    def close_annotation_round(
        self, round_id: str, dataset_id: str | None = None, name: str | None = None
    ) -> AnnotationRound:
        """Write the answers to a new dataset, or append them to `dataset_id`. The round is `closing`, then `closed`."""
        body = {"dataset": dataset_id, "name": name}
        answer: AnnotationRound = self._request("POST", f"{_ROUNDS}/{round_id}/close", json=body).json()
        return answer

    def get_annotation_continuation(
        self, round_id: str, job_id: str, steps: int | None = None
    ) -> AnnotationContinuation:
        """The spec that `continue_job` would submit, with a description."""
        answer: AnnotationContinuation = self._get(f"{_ROUNDS}/{round_id}/continuation", job=job_id, steps=steps)
        return answer

    def continue_job(self, round_id: str, job_id: str, steps: int | None = None, name: str | None = None) -> Job:
        """Submit a job that refits the reward model on a closed round and continues PPO from the job's policy."""
        body = {"job": job_id, "steps": steps, "name": name}
        answer: Job = self._request("POST", f"{_ROUNDS}/{round_id}/continue", json=body).json()
        return answer
