"""The operations of the API as methods of `AsyncClient`. `make openapi` generates this file; do not edit it."""

# ruff: noqa: PLR0913

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from proximal.sdk.connection import OMITTED, AsyncConnection, Body, Omitted, commas, escaped, given, unchanged
from proximal.sdk.types import (
    AnnotationAnswer,
    AnnotationContinuation,
    AnnotationProgress,
    AnnotationQueue,
    AnnotationResult,
    AnnotationRound,
    AnnotationUndo,
    AuditRow,
    AuditVerification,
    BrowserSession,
    Checkpoint,
    CreatedKey,
    CreatedMember,
    Dataset,
    DatasetFormat,
    DatasetRow,
    DatasetVersion,
    DataTask,
    Group,
    GroupSummary,
    Health,
    HealthFinding,
    HealthRuleInfo,
    Job,
    JobBatch,
    JobCommand,
    JobEvent,
    JobKnobs,
    JobLineage,
    JobSample,
    JobSummary,
    JobTag,
    JoinedWorker,
    Key,
    Member,
    MetricInfo,
    Metrics,
    Overlap,
    PlatformJob,
    PlatformProject,
    Preset,
    Project,
    Readiness,
    Report,
    RevokedKey,
    RotatedKey,
    SampleNote,
    SampleSearch,
    SampleStep,
    Session,
    SignInCode,
    SweepPlan,
    Telemetry,
    Template,
    Upload,
    UploadLimits,
    UploadPartSum,
    UploadPreview,
    Usage,
    Validation,
    ViewSetting,
    Webhook,
    WebhookDelivery,
    WebhookWithSecret,
    Worker,
    WorkerToken,
)


class AsyncOperations(AsyncConnection):
    """One method for each operation. A list is read page by page."""

    async def who_am_i(self) -> Session:
        """Return the caller: its key, its project, and what it may do.

        `GET /v1/session`
        """
        found: Session = await self._json("GET", "/v1/session")
        return found

    async def create_sign_in_code(self) -> SignInCode:
        """Create a code for a link that signs a browser in once, within a few minutes. It needs the API key itself.

        `POST /v1/session/codes`
        """
        found: SignInCode = await self._json("POST", "/v1/session/codes")
        return found

    async def list_sessions(self) -> list[BrowserSession]:
        """List the browsers that are signed in with your keys in this project, the newest first.

        `GET /v1/sessions`
        """
        return list((await self._json("GET", "/v1/sessions"))["data"])

    async def end_session(self, session_id: str) -> None:
        """Sign a browser out that is signed in with one of your keys. Its event streams end within seconds.

        `DELETE /v1/sessions/{session_id}`
        """
        await self._json("DELETE", f"/v1/sessions/{escaped(session_id)}")

    def list_dataset_versions(
        self, dataset_id: str, *, order: Literal["asc", "desc"] | None = None
    ) -> AsyncIterator[DatasetVersion]:
        """List the versions of a dataset, each with the jobs that use it.

        `GET /v1/datasets/{dataset_id}/versions`
        """
        return self._pages(f"/v1/datasets/{escaped(dataset_id)}/versions", params={"order": order})

    async def get_dataset_version(self, dataset_id: str, number: int) -> DatasetVersion:
        """One version.

        `GET /v1/datasets/{dataset_id}/versions/{number}`
        """
        found: DatasetVersion = await self._json(
            "GET", f"/v1/datasets/{escaped(dataset_id)}/versions/{escaped(number)}"
        )
        return found

    def list_dataset_rows(
        self,
        dataset_id: str,
        *,
        after: int | None = None,
        sample: int | None = None,
        seed: int | None = None,
        version: int | None = None,
        search: str | None = None,
        finding: str | None = None,
        report: str | None = None,
        split: Literal["train", "eval"] | None = None,
        eval_fraction: float | None = None,
    ) -> AsyncIterator[DatasetRow]:
        """List the rows of a version in canonical form: all, or those that match every filter.

        `GET /v1/datasets/{dataset_id}/rows`
        """
        return self._pages(
            f"/v1/datasets/{escaped(dataset_id)}/rows",
            params={
                "after": after,
                "sample": sample,
                "seed": seed,
                "version": version,
                "search": search,
                "finding": finding,
                "report": report,
                "split": split,
                "eval_fraction": eval_fraction,
            },
        )

    async def compare_datasets(self, *, dataset: str, other: str) -> Overlap:
        """Return the prompts that two datasets share, equal or nearly equal.

        Evaluation prompts in the training data make the results of a run look better than they are. Both datasets may be of any
        kind that has prompts.

        `GET /v1/datasets/overlap`
        """
        found: Overlap = await self._json("GET", "/v1/datasets/overlap", params={"dataset": dataset, "other": other})
        return found

    async def import_upload(
        self,
        upload: str,
        name: str | None = None,
        kind: Literal["preferences", "thumbs", "steps", "prompts", "sft", "pretraining"] | None = None,
        format: str | None = None,
        mapping: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        ignore: Sequence[str] | None = None,
        bad_rows: Literal["refuse", "report", "leave_out"] | None = None,
        *,
        external_id: str | None = None,
    ) -> Dataset:
        """Create a dataset from the file in a form, at once (201), or from a complete upload, in the background (202).

        Every record is validated. If a record in a form is invalid, nothing is stored and the error names lines and columns,
        unless `bad_rows` allows it. Format, kind and encoding are detected if the request does not name them. If several formats
        fit, the error `format_unclear` lists them in `candidates`, and a mapping made from the columns' names in `suggested`. It also
        stops an import that would lose a column which looks meaningful: `questions` lists the column, its values and the choices.

        `POST /v1/datasets`
        """
        found: Dataset = await self._json(
            "POST",
            "/v1/datasets",
            params={"external_id": external_id},
            body=given(
                {
                    "upload": upload,
                    "name": name,
                    "kind": kind,
                    "format": format,
                    "mapping": mapping,
                    "encoding": encoding,
                    "ignore": ignore,
                    "bad_rows": bad_rows,
                }
            ),
        )
        return found

    def list_datasets(
        self,
        *,
        kind: Literal["preferences", "thumbs", "steps", "prompts", "sft", "pretraining"] | None = None,
        external_id: str | None = None,
        search: str | None = None,
        archived: bool | None = None,
        order: Literal["asc", "desc"] | None = None,
        sort: Literal["name", "-name", "kind", "-kind", "rows", "-rows", "size", "-size", "created", "-created"]
        | None = None,
    ) -> AsyncIterator[Dataset]:
        """Your datasets.

        `GET /v1/datasets`
        """
        return self._pages(
            "/v1/datasets",
            params={
                "kind": kind,
                "external_id": external_id,
                "search": search,
                "archived": archived,
                "order": order,
                "sort": sort,
            },
        )

    async def get_dataset(self, dataset_id: str) -> Dataset:
        """One dataset.

        `GET /v1/datasets/{dataset_id}`
        """
        found: Dataset = await self._json("GET", f"/v1/datasets/{escaped(dataset_id)}")
        return found

    async def change_dataset(
        self,
        dataset_id: str,
        name: Omitted | str | None = OMITTED,
        expires_at: Omitted | str | None = OMITTED,
        *,
        if_match: str | None = None,
    ) -> Dataset:
        """Rename a dataset, or set when it expires.

        `PATCH /v1/datasets/{dataset_id}`
        """
        found: Dataset = await self._json(
            "PATCH",
            f"/v1/datasets/{escaped(dataset_id)}",
            body={"name": name, "expires_at": expires_at},
            headers=unchanged(if_match),
        )
        return found

    async def delete_dataset(self, dataset_id: str, *, if_match: str | None = None) -> None:
        """Delete a dataset with all its versions, unless an unfinished job uses one. `jobs` of the problem lists these jobs.

        `DELETE /v1/datasets/{dataset_id}`
        """
        await self._json("DELETE", f"/v1/datasets/{escaped(dataset_id)}", headers=unchanged(if_match))

    async def archive_dataset(self, dataset_id: str) -> Dataset:
        """Archive a dataset: lists leave it out. Jobs can still use it.

        `POST /v1/datasets/{dataset_id}/archive`
        """
        found: Dataset = await self._json("POST", f"/v1/datasets/{escaped(dataset_id)}/archive")
        return found

    async def unarchive_dataset(self, dataset_id: str) -> Dataset:
        """Return an archived dataset to the lists.

        `POST /v1/datasets/{dataset_id}/unarchive`
        """
        found: Dataset = await self._json("POST", f"/v1/datasets/{escaped(dataset_id)}/unarchive")
        return found

    async def list_dataset_tasks(self, dataset_id: str) -> list[DataTask]:
        """List the data tasks of a dataset: imports, search indexes, reports.

        `GET /v1/datasets/{dataset_id}/tasks`
        """
        return list((await self._json("GET", f"/v1/datasets/{escaped(dataset_id)}/tasks"))["data"])

    async def cancel_dataset_task(self, dataset_id: str, task_id: str) -> DataTask:
        """Cancel a data task. The version that it was making is then `failed`. A finished task does not change.

        `POST /v1/datasets/{dataset_id}/tasks/{task_id}/cancel`
        """
        found: DataTask = await self._json(
            "POST", f"/v1/datasets/{escaped(dataset_id)}/tasks/{escaped(task_id)}/cancel"
        )
        return found

    async def request_report(
        self,
        dataset_id: str,
        version: int | None = None,
        model: str | None = None,
        chat_template: Literal["auto", "none"] | None = None,
        max_prompt_tokens: int | None = None,
        max_completion_tokens: int | None = None,
        eval_fraction: float | None = None,
    ) -> Report:
        """Request a report on a version. Each version gets one without a model as soon as it has rows. With the model and the
        limits of a job, the report uses that job's tokenizer and template.

        `POST /v1/datasets/{dataset_id}/reports`
        """
        found: Report = await self._json(
            "POST",
            f"/v1/datasets/{escaped(dataset_id)}/reports",
            body=given(
                {
                    "version": version,
                    "model": model,
                    "chat_template": chat_template,
                    "max_prompt_tokens": max_prompt_tokens,
                    "max_completion_tokens": max_completion_tokens,
                    "eval_fraction": eval_fraction,
                }
            ),
        )
        return found

    def list_reports(self, dataset_id: str, *, version: int | None = None) -> AsyncIterator[Report]:
        """Reports on a dataset's versions, newest first.

        `GET /v1/datasets/{dataset_id}/reports`
        """
        return self._pages(f"/v1/datasets/{escaped(dataset_id)}/reports", params={"version": version})

    async def get_report(self, dataset_id: str, report_id: str) -> Report:
        """Return a report with its progress and its findings.

        `GET /v1/datasets/{dataset_id}/reports/{report_id}`
        """
        found: Report = await self._json("GET", f"/v1/datasets/{escaped(dataset_id)}/reports/{escaped(report_id)}")
        return found

    async def apply_fixes(
        self, dataset_id: str, findings: Sequence[str], version: int | None = None, report: str | None = None
    ) -> DatasetVersion:
        """Apply the fixes of findings: make a new version without the rows, or with the texts changed. The old version does not
        change.

        `POST /v1/datasets/{dataset_id}/fixes`
        """
        found: DatasetVersion = await self._json(
            "POST",
            f"/v1/datasets/{escaped(dataset_id)}/fixes",
            body=given({"findings": findings, "version": version, "report": report}),
        )
        return found

    async def create_upload(self, filename: str, bytes: int, sha256: str | None = None) -> Upload:
        """Start an upload. Then PUT each of its `parts`, in any order and several at a time, and complete it.

        `POST /v1/uploads`
        """
        found: Upload = await self._json(
            "POST", "/v1/uploads", body=given({"filename": filename, "bytes": bytes, "sha256": sha256})
        )
        return found

    def list_uploads(
        self,
        *,
        status: Literal["open", "fetching", "complete", "failed"] | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> AsyncIterator[Upload]:
        """List your uploads that have not expired.

        `GET /v1/uploads`
        """
        return self._pages("/v1/uploads", params={"status": status, "order": order})

    async def create_upload_from(self, url: str, filename: str | None = None) -> Upload:
        """Have the platform download a file. `GET /v1/reference/uploads` lists the addresses that its operator allows.

        `POST /v1/uploads/from`
        """
        found: Upload = await self._json("POST", "/v1/uploads/from", body=given({"url": url, "filename": filename}))
        return found

    async def get_upload_limits(self) -> UploadLimits:
        """Return the largest sizes of files and the allowed sources of downloads.

        `GET /v1/reference/uploads`
        """
        found: UploadLimits = await self._json("GET", "/v1/reference/uploads")
        return found

    async def get_upload(self, upload_id: str) -> Upload:
        """Return an upload with its received parts.

        `GET /v1/uploads/{upload_id}`
        """
        found: Upload = await self._json("GET", f"/v1/uploads/{escaped(upload_id)}")
        return found

    async def delete_upload(self, upload_id: str) -> None:
        """Delete an upload and its parts, and stop its download. Datasets made from it stay.

        `DELETE /v1/uploads/{upload_id}`
        """
        await self._json("DELETE", f"/v1/uploads/{escaped(upload_id)}")

    async def get_upload_part(self, upload_id: str, number: int) -> UploadPartSum:
        """Return a received part with its SHA-256.

        `GET /v1/uploads/{upload_id}/parts/{number}`
        """
        found: UploadPartSum = await self._json("GET", f"/v1/uploads/{escaped(upload_id)}/parts/{escaped(number)}")
        return found

    async def complete_upload(self, upload_id: str, sha256: str | None = None) -> Upload:
        """Complete an upload: check that all parts are received, and the checksum of the file. May be repeated.

        `POST /v1/uploads/{upload_id}/complete`
        """
        found: Upload = await self._json(
            "POST", f"/v1/uploads/{escaped(upload_id)}/complete", body=given({"sha256": sha256}), timeout=None
        )
        return found

    async def preview_upload(
        self,
        upload_id: str,
        format: str | None = None,
        kind: Literal["preferences", "thumbs", "steps", "prompts", "sft", "pretraining"] | None = None,
        mapping: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        ignore: Sequence[str] | None = None,
    ) -> UploadPreview:
        """Preview an upload: its container, the formats that fit, its columns, and its first records with their rows.

        Nothing is stored. With `format`, `kind`, `mapping` or `ignore`, the preview reads the records accordingly. `questions` lists
        columns that look meaningful and are not used. An import stops with `format_unclear` until they are answered.

        `POST /v1/uploads/{upload_id}/preview`
        """
        found: UploadPreview = await self._json(
            "POST",
            f"/v1/uploads/{escaped(upload_id)}/preview",
            body=given({"format": format, "kind": kind, "mapping": mapping, "encoding": encoding, "ignore": ignore}),
            timeout=None,
        )
        return found

    async def create_annotation_round(self, body: Body) -> AnnotationRound:
        """Create a round of comparisons, from the rows of a dataset or from completions that policies sample for its prompts.

        A data task makes the items: the round is `preparing`, then `open`.

        `POST /v1/annotation/rounds`
        """
        found: AnnotationRound = await self._json("POST", "/v1/annotation/rounds", body=body)
        return found

    def list_annotation_rounds(
        self,
        *,
        status: Sequence[Literal["preparing", "open", "paused", "closing", "closed", "failed"]] | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> AsyncIterator[AnnotationRound]:
        """Your rounds.

        `GET /v1/annotation/rounds`
        """
        return self._pages("/v1/annotation/rounds", params={"status": status, "order": order})

    async def get_annotation_round(self, round_id: str) -> AnnotationRound:
        """One round.

        `GET /v1/annotation/rounds/{round_id}`
        """
        found: AnnotationRound = await self._json("GET", f"/v1/annotation/rounds/{escaped(round_id)}")
        return found

    async def change_annotation_round(
        self,
        round_id: str,
        name: Omitted | str | None = OMITTED,
        instructions: Omitted | str | None = OMITTED,
        overlap: Omitted | int | None = OMITTED,
        status: Omitted | Literal["open", "paused"] | None = OMITTED,
        *,
        if_match: str | None = None,
    ) -> AnnotationRound:
        """Change the name, the instructions or the overlap of a round; pause it, or open it again.

        `PATCH /v1/annotation/rounds/{round_id}`
        """
        found: AnnotationRound = await self._json(
            "PATCH",
            f"/v1/annotation/rounds/{escaped(round_id)}",
            body={"name": name, "instructions": instructions, "overlap": overlap, "status": status},
            headers=unchanged(if_match),
        )
        return found

    async def delete_annotation_round(self, round_id: str, *, if_match: str | None = None) -> None:
        """Delete a round with its items and answers. The dataset with its answers stays.

        `DELETE /v1/annotation/rounds/{round_id}`
        """
        await self._json("DELETE", f"/v1/annotation/rounds/{escaped(round_id)}", headers=unchanged(if_match))

    async def next_annotation_items(self, round_id: str, annotator: str, limit: int | None = None) -> AnnotationQueue:
        """Reserve the next items for an annotator. They are shown without policies, in a random order per annotator.

        A repeated request returns the same items. The reservation lasts `reservation_minutes`. An annotator gets an item once,
        unless they undo the answer to it.

        `POST /v1/annotation/rounds/{round_id}/next`
        """
        found: AnnotationQueue = await self._json(
            "POST",
            f"/v1/annotation/rounds/{escaped(round_id)}/next",
            body=given({"annotator": annotator, "limit": limit}),
        )
        return found

    async def answer_annotation_item(
        self,
        round_id: str,
        item_id: str,
        annotator: str,
        choice: Literal["1", "2", "tie", "skip"] | None = None,
        ranks: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> AnnotationAnswer:
        """Answer or skip an item of this annotator. The same answer again changes nothing; another answer replaces it.

        `PUT /v1/annotation/rounds/{round_id}/items/{item_id}/answer`
        """
        found: AnnotationAnswer = await self._json(
            "PUT",
            f"/v1/annotation/rounds/{escaped(round_id)}/items/{escaped(item_id)}/answer",
            body=given({"annotator": annotator, "choice": choice, "ranks": ranks, "seconds": seconds}),
        )
        return found

    async def undo_annotation(self, round_id: str, annotator: str, item: str | None = None) -> AnnotationUndo:
        """Undo an annotator's last answer, or the one to an item. The annotator gets the item again, first.

        `POST /v1/annotation/rounds/{round_id}/undo`
        """
        found: AnnotationUndo = await self._json(
            "POST",
            f"/v1/annotation/rounds/{escaped(round_id)}/undo",
            body=given({"annotator": annotator, "item": item}),
        )
        return found

    async def get_annotation_progress(self, round_id: str) -> AnnotationProgress:
        """Progress, speed and quality of each annotator, agreement between annotators and with a reward model, and the wins of
        each policy.

        `GET /v1/annotation/rounds/{round_id}/progress`
        """
        found: AnnotationProgress = await self._json("GET", f"/v1/annotation/rounds/{escaped(round_id)}/progress")
        return found

    def list_annotation_results(
        self, round_id: str, *, after: int | None = None, only: Literal["disagreed"] | None = None
    ) -> AsyncIterator[AnnotationResult]:
        """List the items with their policies, scores and answers.

        `GET /v1/annotation/rounds/{round_id}/items`
        """
        return self._pages(f"/v1/annotation/rounds/{escaped(round_id)}/items", params={"after": after, "only": only})

    async def choose_annotation_reward_model(self, round_id: str, checkpoint: str) -> AnnotationProgress:
        """Score the completions with a reward model, to measure how often it agrees with the annotators.

        `POST /v1/annotation/rounds/{round_id}/reward_model`
        """
        found: AnnotationProgress = await self._json(
            "POST", f"/v1/annotation/rounds/{escaped(round_id)}/reward_model", body=given({"checkpoint": checkpoint})
        )
        return found

    async def close_annotation_round(
        self, round_id: str, dataset: str | None = None, name: str | None = None
    ) -> AnnotationRound:
        """End a round, and write its answers to a new dataset or append them to an existing one.

        A data task writes them: the round is `closing`, then `closed`.

        `POST /v1/annotation/rounds/{round_id}/close`
        """
        found: AnnotationRound = await self._json(
            "POST", f"/v1/annotation/rounds/{escaped(round_id)}/close", body=given({"dataset": dataset, "name": name})
        )
        return found

    async def get_annotation_continuation(
        self, round_id: str, *, job: str, steps: int | None = None
    ) -> AnnotationContinuation:
        """Return the spec that `POST …/continue` would submit, and a description of it.

        `GET /v1/annotation/rounds/{round_id}/continuation`
        """
        found: AnnotationContinuation = await self._json(
            "GET", f"/v1/annotation/rounds/{escaped(round_id)}/continuation", params={"job": job, "steps": steps}
        )
        return found

    async def continue_job(
        self, round_id: str, job: str, steps: int | None = None, name: str | None = None, *, force: bool | None = None
    ) -> Job:
        """Submit a job that continues another: refit its reward model on the closed round, then run PPO from its policy.

        `POST /v1/annotation/rounds/{round_id}/continue`
        """
        found: Job = await self._json(
            "POST",
            f"/v1/annotation/rounds/{escaped(round_id)}/continue",
            params={"force": force},
            body=given({"job": job, "steps": steps, "name": name}),
        )
        return found

    async def create_job(
        self,
        spec: Body,
        *,
        group: str | None = None,
        force: bool | None = None,
        priority: Literal["low", "normal", "high"] | None = None,
        preemptible: bool | None = None,
        external_id: str | None = None,
    ) -> Job:
        """Submit a job. Only `model` and `data.preferences` are required. Datasets are named by id, models also by a checkpoint's id.

        `POST /v1/jobs/validate` checks a job first. Without a validation, the run begins with the same checks.

        `POST /v1/jobs`
        """
        found: Job = await self._json(
            "POST",
            "/v1/jobs",
            params={
                "group": group,
                "force": force,
                "priority": priority,
                "preemptible": preemptible,
                "external_id": external_id,
            },
            body=spec,
        )
        return found

    def list_jobs(
        self,
        *,
        tag: Sequence[str] | None = None,
        model: str | None = None,
        dataset: str | None = None,
        external_id: str | None = None,
        parent: str | None = None,
        created_after: str | None = None,
        created_before: str | None = None,
        status: Sequence[
            Literal[
                "queued", "starting", "running", "pausing", "paused", "cancelling", "succeeded", "failed", "cancelled"
            ]
        ]
        | None = None,
        health: Sequence[Literal["none", "warning", "error"]] | None = None,
        archived: bool | None = None,
        group: str | None = None,
        text: str | None = None,
        where: Sequence[str] | None = None,
        order: Literal["asc", "desc"] | None = None,
        sort: str | None = None,
        show: Sequence[str] | None = None,
        fold: bool | None = None,
    ) -> AsyncIterator[JobSummary]:
        """Your jobs, without their specs. All filters must hold.

        `GET /v1/jobs`
        """
        return self._pages(
            "/v1/jobs",
            params={
                "tag": tag,
                "model": model,
                "dataset": dataset,
                "external_id": external_id,
                "parent": parent,
                "created_after": created_after,
                "created_before": created_before,
                "status": status,
                "health": health,
                "archived": archived,
                "group": group,
                "text": text,
                "where": where,
                "order": order,
                "sort": sort,
                "show": show,
                "fold": fold,
            },
        )

    async def list_job_tags(self) -> list[JobTag]:
        """The tags of your jobs, most frequent first. At most 1,000 are listed; then `has_more` is true.

        `GET /v1/jobs/tags`
        """
        return list((await self._json("GET", "/v1/jobs/tags"))["data"])

    async def get_jobs(self, *, ids: Sequence[str]) -> JobBatch:
        """Several jobs with their specs, in the order of `ids`. `missing` names the ids of which there is no job.

        `GET /v1/jobs/batch`
        """
        found: JobBatch = await self._json("GET", "/v1/jobs/batch", params={"ids": commas(ids)})
        return found

    async def get_job(self, job_id: str) -> Job:
        """One job, with its spec.

        `GET /v1/jobs/{job_id}`
        """
        found: Job = await self._json("GET", f"/v1/jobs/{escaped(job_id)}")
        return found

    async def change_job(
        self,
        job_id: str,
        name: Omitted | str | None = OMITTED,
        tags: Omitted | Sequence[str] | None = OMITTED,
        notes: Omitted | str | None = OMITTED,
        metadata: Omitted | Mapping[str, Any] | None = OMITTED,
        preemptible: Omitted | bool | None = OMITTED,
        *,
        if_match: str | None = None,
    ) -> Job:
        """Change the name, tags, notes or metadata of a job, or whether it is `preemptible`, in any state. No result depends on them.

        `PATCH /v1/jobs/{job_id}`
        """
        found: Job = await self._json(
            "PATCH",
            f"/v1/jobs/{escaped(job_id)}",
            body={"name": name, "tags": tags, "notes": notes, "metadata": metadata, "preemptible": preemptible},
            headers=unchanged(if_match),
        )
        return found

    async def delete_job(self, job_id: str, *, if_match: str | None = None) -> None:
        """Delete a job that has ended, with its events, metrics, logs and checkpoints.

        It is refused while an unfinished job or a round needs one of its checkpoints. `jobs` and `rounds` of the problem list them.

        `DELETE /v1/jobs/{job_id}`
        """
        await self._json("DELETE", f"/v1/jobs/{escaped(job_id)}", headers=unchanged(if_match))

    async def get_job_lineage(self, job_id: str) -> JobLineage:
        """The jobs from which this one descends, the metrics from before its first step, and the jobs made from it.

        `GET /v1/jobs/{job_id}/lineage`
        """
        found: JobLineage = await self._json("GET", f"/v1/jobs/{escaped(job_id)}/lineage")
        return found

    async def get_job_knobs(self, job_id: str) -> JobKnobs:
        """The settings of the job's stage that can be changed while it runs, with their values and ranges.

        While the job neither starts nor runs, no knob is `available`, and `reason` names the state. The values are the last ones.

        `GET /v1/jobs/{job_id}/knobs`
        """
        found: JobKnobs = await self._json("GET", f"/v1/jobs/{escaped(job_id)}/knobs")
        return found

    async def create_job_commands(
        self,
        job_id: str,
        *,
        evaluate: bool | None = None,
        checkpoint: bool | None = None,
        learning_rate: float | None = None,
        critic_learning_rate: float | None = None,
        kl_coef: float | None = None,
        kl_target: float | None = None,
    ) -> list[JobCommand]:
        """Change knobs of the stage that runs, or request an evaluation or a checkpoint. The trainer takes commands up between two steps.

        `POST /v1/jobs/{job_id}/commands`
        """
        return list(
            (
                await self._json(
                    "POST",
                    f"/v1/jobs/{escaped(job_id)}/commands",
                    body=given(
                        {
                            "evaluate": evaluate,
                            "checkpoint": checkpoint,
                            "learning_rate": learning_rate,
                            "critic_learning_rate": critic_learning_rate,
                            "kl_coef": kl_coef,
                            "kl_target": kl_target,
                        }
                    ),
                )
            )["data"]
        )

    def list_job_commands(
        self, job_id: str, *, order: Literal["asc", "desc"] | None = None
    ) -> AsyncIterator[JobCommand]:
        """List all commands that were requested, with who requested them and their outcome.

        `GET /v1/jobs/{job_id}/commands`
        """
        return self._pages(f"/v1/jobs/{escaped(job_id)}/commands", params={"order": order})

    def list_findings(
        self,
        *,
        order: Literal["asc", "desc"] | None = None,
        severity: Sequence[Literal["warning", "error"]] | None = None,
        rule: Sequence[str] | None = None,
        job: str | None = None,
        status: Sequence[
            Literal[
                "queued", "starting", "running", "pausing", "paused", "cancelling", "succeeded", "failed", "cancelled"
            ]
        ]
        | None = None,
        archived: bool | None = None,
    ) -> AsyncIterator[HealthFinding]:
        """Health rules that fired in your runs, and the warnings of the runs. All filters must hold.

        A finding stays in the list when the run recovers. `step` and `last_at` are those of the last report.

        `GET /v1/findings`
        """
        return self._pages(
            "/v1/findings",
            params={
                "order": order,
                "severity": severity,
                "rule": rule,
                "job": job,
                "status": status,
                "archived": archived,
            },
        )

    async def list_health_rules(self) -> list[HealthRuleInfo]:
        """List the health rules with their titles and defaults.

        `GET /v1/reference/health-rules`
        """
        return list((await self._json("GET", "/v1/reference/health-rules"))["data"])

    async def create_sweep(
        self,
        spec: Mapping[str, Any],
        parameters: Mapping[str, Any],
        name: str | None = None,
        count: int | None = None,
        seed: int | None = None,
        max_parallel: int | None = None,
        metric: str | None = None,
        goal: Literal["maximize", "minimize"] | None = None,
        *,
        force: bool | None = None,
        priority: Literal["low", "normal", "high"] | None = None,
        preemptible: bool | None = None,
    ) -> Group:
        """Submit a job for each combination of values, all or none. They form a group.

        `POST /v1/sweeps`
        """
        found: Group = await self._json(
            "POST",
            "/v1/sweeps",
            params={"force": force, "priority": priority, "preemptible": preemptible},
            body=given(
                {
                    "spec": spec,
                    "parameters": parameters,
                    "name": name,
                    "count": count,
                    "seed": seed,
                    "max_parallel": max_parallel,
                    "metric": metric,
                    "goal": goal,
                }
            ),
        )
        return found

    async def validate_sweep(
        self,
        spec: Mapping[str, Any],
        parameters: Mapping[str, Any],
        name: str | None = None,
        count: int | None = None,
        seed: int | None = None,
        max_parallel: int | None = None,
        metric: str | None = None,
        goal: Literal["maximize", "minimize"] | None = None,
    ) -> SweepPlan:
        """List the jobs that the sweep would make, each with a valid spec. Nothing is stored, and no dataset is looked up.

        `POST /v1/sweeps/validate`
        """
        found: SweepPlan = await self._json(
            "POST",
            "/v1/sweeps/validate",
            body=given(
                {
                    "spec": spec,
                    "parameters": parameters,
                    "name": name,
                    "count": count,
                    "seed": seed,
                    "max_parallel": max_parallel,
                    "metric": metric,
                    "goal": goal,
                }
            ),
        )
        return found

    async def create_group(
        self,
        name: str | None = None,
        metric: str | None = None,
        max_parallel: int | None = None,
        goal: Literal["maximize", "minimize"] | None = None,
    ) -> Group:
        """Make a group without jobs.

        `POST /v1/groups`
        """
        found: Group = await self._json(
            "POST",
            "/v1/groups",
            body=given({"name": name, "metric": metric, "max_parallel": max_parallel, "goal": goal}),
        )
        return found

    def list_groups(self, *, order: Literal["asc", "desc"] | None = None) -> AsyncIterator[GroupSummary]:
        """Your groups, without their jobs.

        `GET /v1/groups`
        """
        return self._pages("/v1/groups", params={"order": order})

    async def get_group(
        self, group_id: str, *, metric: str | None = None, goal: Literal["maximize", "minimize"] | None = None
    ) -> Group:
        """One group: its jobs with their values, their states and their objectives.

        `GET /v1/groups/{group_id}`
        """
        found: Group = await self._json(
            "GET", f"/v1/groups/{escaped(group_id)}", params={"metric": metric, "goal": goal}
        )
        return found

    async def cancel_group(self, group_id: str) -> Group:
        """Cancel every job of the group that has not ended, each in a transaction of its own. A second request changes nothing.

        `POST /v1/groups/{group_id}/cancel`
        """
        found: Group = await self._json("POST", f"/v1/groups/{escaped(group_id)}/cancel")
        return found

    async def create_template(
        self, name: str, description: str | None = None, spec: Mapping[str, Any] | None = None
    ) -> Template:
        """Store a partial spec under a name. Its fields are checked, but none is required, and no dataset is looked up.

        Rules between several sections are checked once the spec names a model and a dataset.

        `POST /v1/templates`
        """
        found: Template = await self._json(
            "POST", "/v1/templates", body=given({"name": name, "description": description, "spec": spec})
        )
        return found

    def list_templates(
        self, *, name: str | None = None, order: Literal["asc", "desc"] | None = None
    ) -> AsyncIterator[Template]:
        """Your templates.

        `GET /v1/templates`
        """
        return self._pages("/v1/templates", params={"name": name, "order": order})

    async def get_template(self, template_id: str) -> Template:
        """One template.

        `GET /v1/templates/{template_id}`
        """
        found: Template = await self._json("GET", f"/v1/templates/{escaped(template_id)}")
        return found

    async def change_template(
        self,
        template_id: str,
        name: Omitted | str | None = OMITTED,
        description: Omitted | str | None = OMITTED,
        spec: Omitted | Mapping[str, Any] | None = OMITTED,
        *,
        if_match: str | None = None,
    ) -> Template:
        """Change the name, the description or fields of the spec. Jobs that were submitted from it stay as they are.

        `PATCH /v1/templates/{template_id}`
        """
        found: Template = await self._json(
            "PATCH",
            f"/v1/templates/{escaped(template_id)}",
            body={"name": name, "description": description, "spec": spec},
            headers=unchanged(if_match),
        )
        return found

    async def delete_template(self, template_id: str, *, if_match: str | None = None) -> None:
        """Jobs that were submitted from the template stay.

        `DELETE /v1/templates/{template_id}`
        """
        await self._json("DELETE", f"/v1/templates/{escaped(template_id)}", headers=unchanged(if_match))

    async def create_job_from_template(
        self,
        template_id: str,
        patch: Mapping[str, Any] | None = None,
        *,
        group: str | None = None,
        force: bool | None = None,
        priority: Literal["low", "normal", "high"] | None = None,
        preemptible: bool | None = None,
        external_id: str | None = None,
    ) -> Job:
        """Submit a job with the spec of the template, changed by a merge patch. Errors point into the merged spec.

        `POST /v1/templates/{template_id}/jobs`
        """
        found: Job = await self._json(
            "POST",
            f"/v1/templates/{escaped(template_id)}/jobs",
            params={
                "group": group,
                "force": force,
                "priority": priority,
                "preemptible": preemptible,
                "external_id": external_id,
            },
            body=given({"patch": patch}),
        )
        return found

    async def cancel_job(self, job_id: str, reason: str | None = None) -> Job:
        """End a job without a worker at once. A running job is `cancelling` until its worker has stopped the run.

        `POST /v1/jobs/{job_id}/cancel`
        """
        found: Job = await self._json("POST", f"/v1/jobs/{escaped(job_id)}/cancel", body=given({"reason": reason}))
        return found

    async def pause_job(self, job_id: str, reason: str | None = None) -> Job:
        """Pause a queued job at once. A running job is `pausing` until the trainer has finished its step and saved.

        The worker then gives up the job and its GPU. A paused job keeps its checkpoints.

        `POST /v1/jobs/{job_id}/pause`
        """
        found: Job = await self._json("POST", f"/v1/jobs/{escaped(job_id)}/pause", body=given({"reason": reason}))
        return found

    async def resume_job(self, job_id: str, reason: str | None = None) -> Job:
        """Queue a paused job again. It continues after its last saved step, with the numbers that it would have had without the pause.

        A job whose group has reached `max_parallel` stays paused until another one ends.

        `POST /v1/jobs/{job_id}/resume`
        """
        found: Job = await self._json("POST", f"/v1/jobs/{escaped(job_id)}/resume", body=given({"reason": reason}))
        return found

    async def retry_job(self, job_id: str, reason: str | None = None) -> Job:
        """Queue a failed or cancelled job again: a new attempt from its last checkpoint, with the same spec.

        A job whose group has reached `max_parallel` is paused until another one ends.

        `POST /v1/jobs/{job_id}/retry`
        """
        found: Job = await self._json("POST", f"/v1/jobs/{escaped(job_id)}/retry", body=given({"reason": reason}))
        return found

    async def clone_job(self, job_id: str, patch: Mapping[str, Any] | None = None, *, force: bool | None = None) -> Job:
        """Submit a new job with the spec of this one, changed by a merge patch. Errors point into the merged spec.

        `POST /v1/jobs/{job_id}/clone`
        """
        found: Job = await self._json(
            "POST", f"/v1/jobs/{escaped(job_id)}/clone", params={"force": force}, body=given({"patch": patch})
        )
        return found

    async def branch_job(
        self,
        job_id: str,
        patch: Mapping[str, Any] | None = None,
        checkpoint: str | None = None,
        stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None = None,
        step: int | None = None,
        *,
        force: bool | None = None,
    ) -> Job:
        """Submit a new job that continues this one from a checkpoint, with a changed spec.

        `parent.carried` of the new job lists what carries over. A change that makes the stored state unusable is refused with its
        field. The checkpoint is kept until the new job has ended or has saved its own.

        `POST /v1/jobs/{job_id}/branch`
        """
        found: Job = await self._json(
            "POST",
            f"/v1/jobs/{escaped(job_id)}/branch",
            params={"force": force},
            body=given({"patch": patch, "checkpoint": checkpoint, "stage": stage, "step": step}),
        )
        return found

    async def extend_job(self, job_id: str, steps: int, *, force: bool | None = None) -> Job:
        """Submit a new job that gives the PPO stage of a succeeded one more steps, from its last stored state.

        It is refused with the field if a schedule of the spec depends on the number of steps. Branch in that case.

        `POST /v1/jobs/{job_id}/extend`
        """
        found: Job = await self._json(
            "POST", f"/v1/jobs/{escaped(job_id)}/extend", params={"force": force}, body=given({"steps": steps})
        )
        return found

    async def archive_job(self, job_id: str) -> Job:
        """Leave a job that has ended out of the default list. Nothing of it is deleted.

        `POST /v1/jobs/{job_id}/archive`
        """
        found: Job = await self._json("POST", f"/v1/jobs/{escaped(job_id)}/archive")
        return found

    async def unarchive_job(self, job_id: str) -> Job:
        """Return an archived job to the default list.

        `POST /v1/jobs/{job_id}/unarchive`
        """
        found: Job = await self._json("POST", f"/v1/jobs/{escaped(job_id)}/unarchive")
        return found

    async def validate_job(self, spec: Body, *, refresh: bool | None = None) -> Validation:
        """Check a job without submitting it: findings, steps, tokens and memory of each stage, and the expected time.

        A data worker reads the stored datasets and models, and trains nothing. `Location` is the address of the validation.

        `POST /v1/jobs/validate`
        """
        found: Validation = await self._json("POST", "/v1/jobs/validate", params={"refresh": refresh}, body=spec)
        return found

    async def get_validation(self, validation_id: str) -> Validation:
        """Return a validation with its findings. It is deleted 30 days after its request, when you request another one.

        `GET /v1/jobs/validations/{validation_id}`
        """
        found: Validation = await self._json("GET", f"/v1/jobs/validations/{escaped(validation_id)}")
        return found

    async def cancel_validation(self, validation_id: str) -> Validation:
        """Cancel a check. A running one is ended within about a second, a queued one never starts.

        A cancelled check does not change. One that succeeded or failed is refused with `task_ended`. The same spec can be
        checked again.

        `POST /v1/jobs/validations/{validation_id}/cancel`
        """
        found: Validation = await self._json("POST", f"/v1/jobs/validations/{escaped(validation_id)}/cancel")
        return found

    def list_job_events(
        self,
        job_id: str,
        *,
        after: int | None = None,
        types: Sequence[str] | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> AsyncIterator[JobEvent]:
        """List the events of a job in order.

        `GET /v1/jobs/{job_id}/events`
        """
        return self._pages(
            f"/v1/jobs/{escaped(job_id)}/events",
            params={"after": after, "types": commas(types), "step": step, "seed": seed},
        )

    async def get_job_metrics(
        self,
        job_id: str,
        *,
        stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None = None,
        seed: int | None = None,
        names: Sequence[str] | None = None,
        from_: int | None = None,
        to: int | None = None,
        max_points: int | None = None,
    ) -> Metrics:
        """Return metrics as series. A long range is returned in buckets, with the last, smallest and largest value and the mean of each.

        A job with several seeds has a series of each seed. A job whose `thinned_at` is set has buckets of 4 or more steps. A
        range has the buckets whose last step it has.

        `GET /v1/jobs/{job_id}/metrics`
        """
        found: Metrics = await self._json(
            "GET",
            f"/v1/jobs/{escaped(job_id)}/metrics",
            params={
                "stage": stage,
                "seed": seed,
                "names": commas(names),
                "from": from_,
                "to": to,
                "max_points": max_points,
            },
        )
        return found

    async def list_job_samples(
        self,
        job_id: str,
        *,
        stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None = None,
        step: int | None = None,
        seed: int | None = None,
    ) -> list[JobSample]:
        """List the completions that the run logged at one step.

        `GET /v1/jobs/{job_id}/samples`
        """
        return list(
            (
                await self._json(
                    "GET", f"/v1/jobs/{escaped(job_id)}/samples", params={"stage": stage, "step": step, "seed": seed}
                )
            )["data"]
        )

    async def list_job_sample_steps(
        self,
        job_id: str,
        *,
        stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None = None,
        seed: int | None = None,
    ) -> list[SampleStep]:
        """List the steps that have completions.

        `GET /v1/jobs/{job_id}/samples/steps`
        """
        return list(
            (
                await self._json(
                    "GET", f"/v1/jobs/{escaped(job_id)}/samples/steps", params={"stage": stage, "seed": seed}
                )
            )["data"]
        )

    async def search_job_samples(
        self,
        job_id: str,
        *,
        order: Literal["highest", "lowest", "newest", "oldest"] | None = None,
        skip: int | None = None,
        limit: int | None = None,
        seed: int | None = None,
        by: Literal["score", "judge", "kl", "tokens"] | None = None,
        min: float | None = None,
        max: float | None = None,
        stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None = None,
        from_: int | None = None,
        to: int | None = None,
        q: str | None = None,
        finished: bool | None = None,
        held_out: bool | None = None,
        same_prompt: str | None = None,
    ) -> SampleSearch:
        """Search the completions of all steps, and return the histogram of a figure. Token tables are left out.

        `GET /v1/jobs/{job_id}/samples/search`
        """
        found: SampleSearch = await self._json(
            "GET",
            f"/v1/jobs/{escaped(job_id)}/samples/search",
            params={
                "order": order,
                "skip": skip,
                "limit": limit,
                "seed": seed,
                "by": by,
                "min": min,
                "max": max,
                "stage": stage,
                "from": from_,
                "to": to,
                "q": q,
                "finished": finished,
                "held_out": held_out,
                "same_prompt": same_prompt,
            },
        )
        return found

    def list_sample_notes(
        self,
        job_id: str,
        *,
        stage: Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"] | None = None,
        seed: int | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> AsyncIterator[SampleNote]:
        """List the notes on completions of a job, each with its completion.

        A step that runs again after a resume or a roll-back replaces its completions. A note stays on a completion with the same prompt
        and response. Otherwise it is `replaced`, and is on no completion of the run.

        `GET /v1/jobs/{job_id}/samples/notes`
        """
        return self._pages(
            f"/v1/jobs/{escaped(job_id)}/samples/notes", params={"stage": stage, "seed": seed, "order": order}
        )

    async def write_sample_note(
        self,
        job_id: str,
        sample: str,
        text: str,
        author: str | None = None,
        response: str | None = None,
        *,
        seed: int | None = None,
    ) -> SampleNote:
        """Write the note on a completion. It replaces the text and the author of a note that the completion has.

        `PUT /v1/jobs/{job_id}/samples/{sample}/note`
        """
        found: SampleNote = await self._json(
            "PUT",
            f"/v1/jobs/{escaped(job_id)}/samples/{escaped(sample)}/note",
            params={"seed": seed},
            body=given({"text": text, "author": author, "response": response}),
        )
        return found

    async def delete_sample_note(self, job_id: str, note_id: str) -> None:
        """Delete a note on a completion. The completion stays.

        `DELETE /v1/jobs/{job_id}/samples/notes/{note_id}`
        """
        await self._json("DELETE", f"/v1/jobs/{escaped(job_id)}/samples/notes/{escaped(note_id)}")

    async def get_job_telemetry(
        self, job_id: str, *, attempt: int | None = None, every_attempt: bool | None = None
    ) -> Telemetry:
        """Return CPU, memory, disk and GPU measurements as series over time, in at most 1,000 points of each attempt.

        `GET /v1/jobs/{job_id}/telemetry`
        """
        found: Telemetry = await self._json(
            "GET", f"/v1/jobs/{escaped(job_id)}/telemetry", params={"attempt": attempt, "every_attempt": every_attempt}
        )
        return found

    def list_job_checkpoints(
        self, job_id: str, *, final: bool | None = None, order: Literal["asc", "desc"] | None = None
    ) -> AsyncIterator[Checkpoint]:
        """List the model folders that a job has stored.

        `GET /v1/jobs/{job_id}/checkpoints`
        """
        return self._pages(f"/v1/jobs/{escaped(job_id)}/checkpoints", params={"final": final, "order": order})

    async def list_metric_meanings(self) -> list[MetricInfo]:
        """List the metrics with their formulas and healthy ranges.

        `GET /v1/reference/metrics`
        """
        return list((await self._json("GET", "/v1/reference/metrics"))["data"])

    async def list_presets(self) -> list[Preset]:
        """List job specs to start from, each with its use and the fields to replace.

        `GET /v1/presets`
        """
        return list((await self._json("GET", "/v1/presets"))["data"])

    async def get_job_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a job spec, with defaults and descriptions.

        `GET /v1/schema/job`
        """
        found: dict[str, Any] = await self._json("GET", "/v1/schema/job")
        return found

    async def list_formats(self) -> list[DatasetFormat]:
        """List the file formats, each with an example and its rows.

        `GET /v1/reference/formats`
        """
        return list((await self._json("GET", "/v1/reference/formats"))["data"])

    async def get_usage(self) -> Usage:
        """Your limits and your use of the platform.

        `GET /v1/usage`
        """
        found: Usage = await self._json("GET", "/v1/usage")
        return found

    async def list_keys(self) -> list[Key]:
        """List your API keys, the newest first: the valid ones, and up to 100 that are revoked or have ended. An admin sees those of all members.

        `GET /v1/keys`
        """
        return list((await self._json("GET", "/v1/keys"))["data"])

    async def create_key(
        self,
        name: str,
        scopes: Sequence[Literal["read", "annotate", "submit", "manage"]] | None = None,
        expires_at: str | None = None,
    ) -> CreatedKey:
        """Create another API key of yours. It allows what your role allows, or less if it has scopes.

        The response is the only one that contains the key. An operator's key creates operators' keys.

        `POST /v1/keys`
        """
        found: CreatedKey = await self._json(
            "POST", "/v1/keys", body=given({"name": name, "scopes": scopes, "expires_at": expires_at})
        )
        return found

    async def revoke_key(self, key_id: str, *, and_made: bool | None = None) -> RevokedKey:
        """Revoke an API key. Its browser sessions and event streams end within seconds.

        The key of this request cannot be revoked by itself: use another one. Keys that the key made stay valid unless
        `and_made` is set. The response lists them.

        `POST /v1/keys/{key_id}/revoke`
        """
        found: RevokedKey = await self._json(
            "POST", f"/v1/keys/{escaped(key_id)}/revoke", params={"and_made": and_made}
        )
        return found

    async def rotate_key(
        self, key_id: str, overlap_seconds: int | None = None, expires_at: str | None = None
    ) -> RotatedKey:
        """Replace an API key by a new one of the same name, member, scopes and rights. Both are valid during the overlap.

        The response is the only one that contains the new key. The key of this request may replace itself.

        `POST /v1/keys/{key_id}/rotate`
        """
        found: RotatedKey = await self._json(
            "POST",
            f"/v1/keys/{escaped(key_id)}/rotate",
            body=given({"overlap_seconds": overlap_seconds, "expires_at": expires_at}),
        )
        return found

    async def get_project(self) -> Project:
        """Return the project that the caller works in.

        `GET /v1/project`
        """
        found: Project = await self._json("GET", "/v1/project")
        return found

    async def change_project(self, name: str, *, if_match: str | None = None) -> Project:
        """Rename the project.

        `PATCH /v1/project`
        """
        found: Project = await self._json("PATCH", "/v1/project", body={"name": name}, headers=unchanged(if_match))
        return found

    async def list_members(self) -> list[Member]:
        """List the members of the project, the first one first.

        `GET /v1/members`
        """
        return list((await self._json("GET", "/v1/members"))["data"])

    async def add_member(
        self,
        name: str,
        role: Literal["viewer", "annotator", "member", "admin"],
        kind: Literal["person", "service"] | None = None,
    ) -> CreatedMember:
        """Add a person or a service account to the project, with a first API key.

        The response is the only one that contains the key. The person signs in with it, and may make others.

        `POST /v1/members`
        """
        found: CreatedMember = await self._json(
            "POST", "/v1/members", body=given({"name": name, "role": role, "kind": kind})
        )
        return found

    async def set_member_role(self, user_id: str, role: Literal["viewer", "annotator", "member", "admin"]) -> Member:
        """Give a member another role. Event streams that it does not allow end within seconds.

        `PUT /v1/members/{user_id}/role`
        """
        found: Member = await self._json("PUT", f"/v1/members/{escaped(user_id)}/role", body=given({"role": role}))
        return found

    async def remove_member(self, user_id: str) -> None:
        """Remove a member, and revoke its keys in the project. Its jobs and datasets stay. The last admin cannot be removed.

        `DELETE /v1/members/{user_id}`
        """
        await self._json("DELETE", f"/v1/members/{escaped(user_id)}")

    async def create_member_key(
        self,
        user_id: str,
        name: str,
        scopes: Sequence[Literal["read", "annotate", "submit", "manage"]] | None = None,
        expires_at: str | None = None,
    ) -> CreatedKey:
        """Create an API key for another member, such as a service account. The response is the only one that contains it.

        `POST /v1/members/{user_id}/keys`
        """
        found: CreatedKey = await self._json(
            "POST",
            f"/v1/members/{escaped(user_id)}/keys",
            body=given({"name": name, "scopes": scopes, "expires_at": expires_at}),
        )
        return found

    async def create_webhook(
        self,
        url: str,
        event_types: Sequence[
            Literal[
                "job.queued",
                "job.running",
                "job.paused",
                "job.succeeded",
                "job.failed",
                "job.cancelled",
                "job.finding",
                "dataset.ready",
                "dataset.failed",
            ]
        ],
        description: str | None = None,
        format: Literal["standard", "slack"] | None = None,
        enabled: bool | None = None,
    ) -> WebhookWithSecret:
        """Send events of the project to an address from now on. The response is the only one that contains the secret.

        `POST /v1/webhooks`
        """
        found: WebhookWithSecret = await self._json(
            "POST",
            "/v1/webhooks",
            body=given(
                {
                    "url": url,
                    "event_types": event_types,
                    "description": description,
                    "format": format,
                    "enabled": enabled,
                }
            ),
        )
        return found

    def list_webhooks(self, *, order: Literal["asc", "desc"] | None = None) -> AsyncIterator[Webhook]:
        """List the webhooks of the project.

        `GET /v1/webhooks`
        """
        return self._pages("/v1/webhooks", params={"order": order})

    async def get_webhook(self, webhook_id: str) -> Webhook:
        """Return one webhook, with the reason if the platform disabled it.

        `GET /v1/webhooks/{webhook_id}`
        """
        found: Webhook = await self._json("GET", f"/v1/webhooks/{escaped(webhook_id)}")
        return found

    async def change_webhook(
        self,
        webhook_id: str,
        url: Omitted | str | None = OMITTED,
        event_types: Omitted
        | Sequence[
            Literal[
                "job.queued",
                "job.running",
                "job.paused",
                "job.succeeded",
                "job.failed",
                "job.cancelled",
                "job.finding",
                "dataset.ready",
                "dataset.failed",
            ]
        ]
        | None = OMITTED,
        description: Omitted | str | None = OMITTED,
        enabled: Omitted | bool | None = OMITTED,
        *,
        if_match: str | None = None,
    ) -> Webhook:
        """Change the address, the events, the description, or whether events are sent.

        Enabling a webhook that the platform disabled removes the reason, and sends the deliveries that wait.

        `PATCH /v1/webhooks/{webhook_id}`
        """
        found: Webhook = await self._json(
            "PATCH",
            f"/v1/webhooks/{escaped(webhook_id)}",
            body={"url": url, "event_types": event_types, "description": description, "enabled": enabled},
            headers=unchanged(if_match),
        )
        return found

    async def delete_webhook(self, webhook_id: str, *, if_match: str | None = None) -> None:
        """Delete a webhook with its deliveries. Those that wait are not sent.

        `DELETE /v1/webhooks/{webhook_id}`
        """
        await self._json("DELETE", f"/v1/webhooks/{escaped(webhook_id)}", headers=unchanged(if_match))

    async def rotate_webhook_secret(self, webhook_id: str, overlap_hours: float | None = None) -> WebhookWithSecret:
        """Give a webhook a new secret. The response is the only one that contains it. For some hours, the present one signs as well.

        `POST /v1/webhooks/{webhook_id}/rotate`
        """
        found: WebhookWithSecret = await self._json(
            "POST", f"/v1/webhooks/{escaped(webhook_id)}/rotate", body=given({"overlap_hours": overlap_hours})
        )
        return found

    async def test_webhook(self, webhook_id: str) -> WebhookDelivery:
        """Send the event `webhook.test`, even if the webhook is disabled. The list of deliveries then shows the result.

        `POST /v1/webhooks/{webhook_id}/test`
        """
        found: WebhookDelivery = await self._json("POST", f"/v1/webhooks/{escaped(webhook_id)}/test")
        return found

    def list_webhook_deliveries(
        self,
        webhook_id: str,
        *,
        status: Literal["pending", "delivered", "failed"] | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> AsyncIterator[WebhookDelivery]:
        """List the deliveries of a webhook with their tries. `PROXIMAL_WEBHOOK_DAYS` after the event, they are deleted.

        `GET /v1/webhooks/{webhook_id}/deliveries`
        """
        return self._pages(f"/v1/webhooks/{escaped(webhook_id)}/deliveries", params={"status": status, "order": order})

    async def replay_webhook_delivery(self, webhook_id: str, delivery_id: str) -> WebhookDelivery:
        """Send a delivery again with the same `webhook-id`, or one that waits at once. A disabled webhook sends it once it is enabled.

        `POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay`
        """
        found: WebhookDelivery = await self._json(
            "POST", f"/v1/webhooks/{escaped(webhook_id)}/deliveries/{escaped(delivery_id)}/replay"
        )
        return found

    def list_audit_rows(
        self,
        *,
        order: Literal["asc", "desc"] | None = None,
        actor: str | None = None,
        action: str | None = None,
        object: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> AsyncIterator[AuditRow]:
        """List the audit log of the project. All filters must hold.

        It has a row for each change, for each refused change, and for each read of a model, of a dataset's rows, of keys and of the log
        itself. Only an admin may read it.

        `GET /v1/audit`
        """
        return self._pages(
            "/v1/audit",
            params={"order": order, "actor": actor, "action": action, "object": object, "since": since, "until": until},
        )

    async def verify_audit_log(self) -> AuditVerification:
        """Compare every row of the audit log with its hash, and name the first row that is changed or missing.

        Each row's hash covers the row and the hash of the row before. Rows that their age has removed leave the hash of the last one.

        `GET /v1/audit/verification`
        """
        found: AuditVerification = await self._json("GET", "/v1/audit/verification")
        return found

    def list_projects(self, *, order: Literal["asc", "desc"] | None = None) -> AsyncIterator[PlatformProject]:
        """List all projects with their use and their limits. Needs an operator's key.

        `GET /v1/admin/projects`
        """
        return self._pages("/v1/admin/projects", params={"order": order})

    async def set_project_quotas(
        self,
        project_id: str,
        open_jobs: Omitted | int | None = OMITTED,
        running_jobs: Omitted | int | None = OMITTED,
        gpus: Omitted | int | None = OMITTED,
        gpu_hours: Omitted | int | None = OMITTED,
        stored_bytes: Omitted | int | None = OMITTED,
        when_exceeded: Omitted | Literal["queue", "refuse"] = OMITTED,
    ) -> PlatformProject:
        """Replace a project's own limits. Running jobs go on; jobs that waited for a limit are released within seconds.

        The audit log of that project has the change. Needs an operator's key.

        `PUT /v1/admin/projects/{project_id}/quotas`
        """
        found: PlatformProject = await self._json(
            "PUT",
            f"/v1/admin/projects/{escaped(project_id)}/quotas",
            body={
                "open_jobs": open_jobs,
                "running_jobs": running_jobs,
                "gpus": gpus,
                "gpu_hours": gpu_hours,
                "stored_bytes": stored_bytes,
                "when_exceeded": when_exceeded,
            },
        )
        return found

    def list_platform_jobs(
        self,
        *,
        status: Sequence[
            Literal[
                "queued", "starting", "running", "pausing", "paused", "cancelling", "succeeded", "failed", "cancelled"
            ]
        ]
        | None = None,
        project: str | None = None,
        order: Literal["asc", "desc"] | None = None,
    ) -> AsyncIterator[PlatformJob]:
        """List the jobs of all projects, without what they are made of. Needs an operator's key.

        `GET /v1/admin/jobs`
        """
        return self._pages("/v1/admin/jobs", params={"status": status, "project": project, "order": order})

    async def list_view_settings(self) -> list[ViewSetting]:
        """List what the dashboard keeps for you: layouts of charts, saved views, columns.

        `GET /v1/view-settings`
        """
        return list((await self._json("GET", "/v1/view-settings"))["data"])

    async def store_view_setting(self, name: str, value: Any) -> ViewSetting:
        """The value takes the place of the one that the name had.

        `PUT /v1/view-settings/{name}`
        """
        found: ViewSetting = await self._json("PUT", f"/v1/view-settings/{escaped(name)}", body=given({"value": value}))
        return found

    async def delete_view_setting(self, name: str) -> None:
        """The dashboard then shows its usual view.

        `DELETE /v1/view-settings/{name}`
        """
        await self._json("DELETE", f"/v1/view-settings/{escaped(name)}")

    async def list_workers(self) -> list[Worker]:
        """List the workers that are online, and those that have stopped and stay cordoned.

        The names of machines and clusters are shown to operators, and to the project whose job a worker runs.

        `GET /v1/workers`
        """
        return list((await self._json("GET", "/v1/workers"))["data"])

    async def cordon_worker(self, worker_id: str) -> Worker:
        """Keep new jobs from a worker. It finishes the job that it runs. A restarted worker with the same name stays cordoned.

        `POST /v1/workers/{worker_id}/cordon`
        """
        found: Worker = await self._json("POST", f"/v1/workers/{escaped(worker_id)}/cordon")
        return found

    async def drain_worker(self, worker_id: str) -> Worker:
        """Keep new jobs from a worker, and let it save its job and give it back to the queue.

        `POST /v1/workers/{worker_id}/drain`
        """
        found: Worker = await self._json("POST", f"/v1/workers/{escaped(worker_id)}/drain")
        return found

    async def uncordon_worker(self, worker_id: str) -> Worker:
        """Let a worker take jobs again. One that has stopped takes jobs when it starts again, and leaves the list.

        `POST /v1/workers/{worker_id}/uncordon`
        """
        found: Worker = await self._json("POST", f"/v1/workers/{escaped(worker_id)}/uncordon")
        return found

    async def create_worker_token(self) -> WorkerToken:
        """Create a token with which one worker joins within `PROXIMAL_JOIN_MINUTES`. A person who has it gets access to the database.

        `POST /v1/workers/tokens`
        """
        found: WorkerToken = await self._json("POST", "/v1/workers/tokens")
        return found

    async def join_worker(self, version: str) -> JoinedWorker:
        """Exchange a worker token, sent in place of an API key, for the settings of a worker. A token is valid once.

        A worker of another version is refused, and its token stays valid.

        `POST /v1/workers/join`
        """
        found: JoinedWorker = await self._json("POST", "/v1/workers/join", body=given({"version": version}))
        return found

    async def is_alive(self) -> Health:
        """Return 200 while the process runs.

        `GET /healthz`
        """
        found: Health = await self._json("GET", "/healthz")
        return found

    async def is_ready(self) -> Readiness:
        """Check that the database and Redis respond, that the schema is migrated, and that blobs can be written and read.

        `GET /readyz`
        """
        found: Readiness = await self._json("GET", "/readyz")
        return found
