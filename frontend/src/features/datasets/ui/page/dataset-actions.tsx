import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { DownloadIcon } from "@/components/icons";
import { Popover } from "@/components/popover";
import {
  archiveDataset,
  datasetQuery,
  datasetsKey,
  deleteDataset,
  exportAddress,
  EXPORTS,
  notCarried,
} from "@/features/datasets/api/datasets";
import { paths } from "@/lib/address";
import { ApiError } from "@/lib/api/client";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { count } from "@/lib/format";
import versionsStyles from "./versions.module.css";
import styles from "@/features/datasets/ui/datasets.module.css";

/** Out of the list, and back. Nothing is lost by it, so nothing is asked. */
export function ArchiveButton({ dataset }: { dataset: Dataset }) {
  const isArchived = dataset.archived_at !== null;
  const client = useQueryClient();
  const archive = useMutation({
    mutationFn: () => archiveDataset(dataset.id, !isArchived),
    onSuccess: (updated) => {
      client.setQueryData(datasetQuery(dataset.id).queryKey, updated);
      void client.invalidateQueries({ queryKey: [...datasetsKey, "list"] });
    },
  });
  return (
    <>
      <Button onClick={() => archive.mutate()} busy={archive.isPending}>
        {isArchived ? "Take out of the archive" : "Archive"}
      </Button>
      {archive.error && (
        <span className={styles.error} role="alert">
          {archive.error.message}
        </span>
      )}
    </>
  );
}

interface DeleteButtonProps {
  dataset: Dataset;
  versions: readonly DatasetVersion[];
}

/** Deletes the dataset after a question that lists the jobs that used it. The server refuses while a job needs it. */
export function DeleteButton({ dataset, versions }: DeleteButtonProps) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteDataset(dataset.id),
    onSuccess: async () => {
      await navigate(paths.datasets);
      client.removeQueries({ queryKey: [...datasetsKey, dataset.id] });
      void client.invalidateQueries({ queryKey: datasetsKey });
    },
  });
  const jobs = [...new Set(versions.flatMap((version) => version.jobs))];
  return (
    <>
      <Button look="danger" onClick={() => setAsking(true)} busy={remove.isPending}>
        Delete
      </Button>
      {remove.error && (
        <div className={styles.error} role="alert">
          <p>{remove.error.message}</p>
          <JobLinks ids={remove.error instanceof ApiError ? pinsOf(remove.error.body) : []} />
        </div>
      )}
      <ConfirmDialog
        open={asking}
        title={`Delete ${dataset.name}?`}
        confirm="Delete it"
        keep="Keep it"
        onConfirm={() => {
          setAsking(false);
          remove.mutate();
        }}
        onClose={() => setAsking(false)}
      >
        <p>
          {versions.length > 1 ? `All ${count(versions.length, "version")} of it are` : "Its rows are"} deleted
          permanently.
          {jobs.length > 0 && ` ${count(jobs.length, "job")} used it; while one of them has not ended, it is refused.`}
        </p>
        <JobLinks ids={jobs} />
      </ConfirmDialog>
    </>
  );
}

const SHOWN = 8;

function JobLinks({ ids }: { ids: readonly string[] }) {
  if (!ids.length) return null;
  return (
    <ul className={styles.pins}>
      {ids.slice(0, SHOWN).map((id) => (
        <li key={id}>
          <Link to={paths.job(id)}>{id}</Link>
        </li>
      ))}
      {ids.length > SHOWN && <li>and {ids.length - SHOWN} more</li>}
    </ul>
  );
}

/** The jobs that a refusal names. */
function pinsOf(problem: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(problem.jobs) ? problem.jobs.filter((id): id is string => typeof id === "string") : [];
}

/** Downloads of a version in every export format. */
export function ExportLinks({ datasetId, version }: { datasetId: string; version: number }) {
  const button = (
    <>
      <DownloadIcon /> Export<span className="visually-hidden"> version {version}</span>
    </>
  );
  return (
    <Popover button={button} label={`Export version ${version}`}>
      <ExportMenu datasetId={datasetId} version={version} />
    </Popover>
  );
}

/** The download begins once it is known what the format cannot hold, so that a refusal is read here. */
function ExportMenu({ datasetId, version }: { datasetId: string; version: number }) {
  const download = useMutation({
    mutationFn: ({ format }: (typeof EXPORTS)[number]) => notCarried(datasetId, version, format),
    onSuccess: (_, { format }) => window.location.assign(exportAddress(datasetId, version, format)),
  });
  return (
    <>
      <ul className={versionsStyles.menu}>
        {EXPORTS.map((one) => (
          <li key={one.format}>
            <a
              href={exportAddress(datasetId, version, one.format)}
              onClick={(event) => {
                event.preventDefault();
                download.mutate(one);
              }}
            >
              <b>{one.label}</b>
              <small>{one.note}</small>
            </a>
          </li>
        ))}
      </ul>
      <div aria-live="polite">
        {download.isIdle && <p>An export leaves out what its format cannot hold, such as ties, and counts it here.</p>}
        {download.data && <Losses title={download.variables.label} lost={download.data} />}
        {download.error && <p className={styles.error}>{download.error.message}</p>}
      </div>
    </>
  );
}

function Losses({ title, lost }: { title: string; lost: readonly string[] }) {
  if (lost.length === 0) return <p>{title}: the file holds everything.</p>;
  return (
    <>
      <p>{title} cannot hold everything:</p>
      <ul>
        {lost.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  );
}
