import { Combobox } from "@/components/combobox";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { checkpointLabel, isPolicy } from "@/features/annotation/model/draft";
import { bareDataset } from "@/features/annotation/model/dataset-reference";
import { Field } from "@/features/annotation/ui/create/field";
import { datasetsQuery } from "@/features/datasets/api/datasets";
import { datasetOptions } from "@/lib/dataset-options";
import { checkpointsQuery, goodOnes, jobsQuery } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import type { DatasetKind, JobSummary } from "@/lib/api/types";
import { jobOptions } from "@/lib/names";
import styles from "./create.module.css";

interface CheckpointSelectProps {
  label: string;
  note?: string;
  problem?: string | undefined;
  /** Which checkpoints of a job are offered. */
  what: "policy" | "reward_model";
  /** Where to look first. */
  job?: JobSummary | undefined;
  /** Label of the empty choice. Without it, the field needs a value. */
  none?: string;
  value: string;
  onChange: (id: string) => void;
}

/** First the job, then one of its checkpoints. */
export function CheckpointSelect({ label, note, problem, what, job, none, value, onChange }: CheckpointSelectProps) {
  const [chosen, setChosen] = useState(job?.id ?? "");
  const { jobs, more } = useJobs(job);
  const query = useQuery({ ...checkpointsQuery(chosen), enabled: chosen !== "" });
  const fit = goodOnes(query.data ?? []).filter((one) => (what === "policy" ? isPolicy(one) : one.stage === what));
  const options = fit.map((one) => ({ value: one.id, label: checkpointLabel(one) }));
  const change = (id: string) => {
    setChosen(id);
    onChange("");
  };
  return (
    <Field named label={label} note={chosen && query.data && !fit.length ? NONE[what] : note} problem={problem}>
      <span className={styles.twice}>
        <Combobox
          label={`${label}: job`}
          options={jobOptions(jobs)}
          none={none}
          placeholder="Choose a job or type its id"
          onMore={more}
          value={chosen}
          onChange={change}
        />
        {chosen && (
          <Combobox
            label={`${label}: its checkpoint`}
            {...{ options, none, value, onChange }}
            placeholder="Choose a checkpoint or type its id"
          />
        )}
      </span>
    </Field>
  );
}

const NONE = {
  policy: "This job has saved no policy yet.",
  reward_model: "This job has saved no reward model.",
};

interface Jobs {
  readonly jobs: readonly JobSummary[];
  /** Brings older ones; null where there are none. */
  readonly more: (() => void) | null;
}

function useJobs(first: JobSummary | undefined): Jobs {
  const query = useInfiniteQuery(jobsQuery);
  const listed = query.data?.pages.flatMap((page) => page.data) ?? [];
  const jobs = first ? [first, ...listed.filter((one) => one.id !== first.id)] : listed;
  return { jobs, more: query.hasNextPage ? () => void query.fetchNextPage() : null };
}

interface DatasetSelectProps {
  label: string;
  note?: string;
  problem?: string | undefined;
  kinds: readonly DatasetKind[];
  /** Label of the empty choice. Without it, the field needs a value. */
  none?: string | undefined;
  value: string;
  onChange: (id: string) => void;
}

/** The newest datasets of these kinds; any other one by its id. */
export function DatasetSelect({ label, note, problem, kinds, none, value, onChange }: DatasetSelectProps) {
  const query = useInfiniteQuery(datasetsQuery({ search: "", kind: null, archived: false, sort: null }));
  const all = query.data?.pages.flatMap((page) => page.data) ?? [];
  const listed = all.filter((one) => kinds.includes(one.kind));
  const options = datasetOptions(all, kinds);
  const version = value.slice(bareDataset(value).length);
  const named = listed.find((one) => one.id === bareDataset(value))?.name;
  // A version of a dataset, as a link may name it, is an option of its own.
  if (version) options.unshift({ value, label: named ? `${named}, version ${version.slice(1)}` : value });
  const isEmpty = query.data !== undefined && !query.hasNextPage && listed.length === 0;
  const hint = isEmpty ? (
    <>
      {note} <Link to={paths.newDataset}>Add such a dataset</Link>
    </>
  ) : (
    note
  );
  return (
    <Field named label={label} note={hint} problem={problem}>
      <Combobox
        {...{ label, options, none, value, onChange }}
        onMore={query.hasNextPage ? () => void query.fetchNextPage() : null}
        placeholder="Choose a dataset or type its id"
      />
    </Field>
  );
}
