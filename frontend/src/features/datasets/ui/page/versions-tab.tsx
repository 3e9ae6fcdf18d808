import { Link } from "react-router";
import { CopyButton } from "@/components/button";
import { StatusBadge } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { originText, rowsChange } from "@/features/datasets/model/origin-text";
import { moved, START, writePlace } from "@/features/datasets/model/place";
import { ExportLinks } from "@/features/datasets/ui/page/dataset-actions";
import { JobLink } from "@/components/job-link";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { bytes, count } from "@/lib/format";
import styles from "./versions.module.css";

interface Props {
  dataset: Dataset;
  versions: readonly DatasetVersion[];
  /** The number of the one that the page shows. */
  shown: number;
}

/** The dataset's history, newest first: what each version was made of, and which jobs hold on to it. */
export function VersionsTab({ dataset, versions, shown }: Props) {
  const rowsOf = (number: number | null) => versions.find((one) => one.number === number)?.rows;
  return (
    <>
      <p className={styles.intro}>
        A version never changes. A job that names <code>{dataset.id}</code> takes the newest that is ready, and keeps to
        it by its sum, whatever comes after.
      </p>
      <ol className={styles.list}>
        {versions.map((version) => (
          <li key={version.id} aria-current={version.number === shown || undefined}>
            <Version dataset={dataset} version={version} change={rowsChange(version.rows, rowsOf(version.parent))} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Version({ dataset, version, change }: { dataset: Dataset; version: DatasetVersion; change: string }) {
  const { number, status, origin, parent, rows, bytes: size, left_out: leftOut, sha256, created_at: created } = version;
  const reference = `${dataset.id}@${number}`;
  return (
    <>
      <div className={styles.what}>
        <p className={styles.title}>
          <Link to={`?${writePlace(moved(START, { version: number })).toString()}`}>Version {number}</Link>
          <StatusBadge status={version.damage === null ? status : "damaged"} />
          <small>
            <TimeAgo time={created} />
          </small>
        </p>
        <p>{originText(origin, parent)}.</p>
        <p className={styles.facts}>
          {rows !== null && <span>{count(rows, "row")}</span>}
          {change && <span>{change}</span>}
          {leftOut > 0 && <span>{count(leftOut, "record")} left out</span>}
          {size !== null && <span>{bytes(size)}</span>}
          {sha256 && <code title={`SHA-256 of the rows as stored: ${sha256}`}>sha256 {sha256.slice(0, 12)}…</code>}
        </p>
        {version.damage !== null && <p className={styles.error}>The stored rows are damaged: {version.damage}.</p>}
        {version.error && <p className={styles.error}>{version.error.message}</p>}
        <Jobs ids={version.jobs} />
      </div>
      <div className={styles.actions}>
        <CopyButton text={reference} label={`Copy @${number}`} />
        {rows !== null && <ExportLinks datasetId={dataset.id} version={number} />}
      </div>
    </>
  );
}

const SHOWN = 5;

function Jobs({ ids }: { ids: readonly string[] }) {
  if (!ids.length) return null;
  const more = ids.length - SHOWN;
  return (
    <p className={styles.jobs}>
      Used by{" "}
      {ids.slice(0, SHOWN).map((id) => (
        <JobLink key={id} id={id} />
      ))}
      {more > 0 && <span>and {count(more, "more job")}</span>}
    </p>
  );
}
