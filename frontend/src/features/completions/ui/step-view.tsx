import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "react-router";
import { samplesQuery } from "@/features/completions/api/samples";
import { figuresIn, nearestStep } from "@/features/completions/model/place";
import { histogramOf, matching, type Row, rowKey, rowsOf, sorted, within } from "@/features/completions/model/rows";
import { CompletionCard } from "@/features/completions/ui/completion-card";
import { CompletionList, Pending } from "@/features/completions/ui/completion-list";
import type { CompletionsTabProps } from "@/features/completions/ui/completions-tab";
import { FilterBar, Nothing } from "@/features/completions/ui/filter-bar";
import { StepPicker } from "@/features/completions/ui/step-picker";
import { type Chooser, usePlace } from "@/features/completions/ui/use-place";
import styles from "./completions.module.css";

/** The completions of one step. Filters, order and histogram are computed here, because a step has few. */
export function StepView({ jobId, seed, stage, steps, evaluated, live }: CompletionsTabProps) {
  const chooser = usePlace();
  const step = nearestStep(steps, chooser.place.step) ?? 0;
  const arrived = live(step);
  const query = useQuery({ ...samplesQuery({ jobId, seed, stage }, step), enabled: arrived === undefined });
  const samples = arrived ?? query.data;
  const rows = useMemo(() => rowsOf(samples ?? [], stage, step), [samples, stage, step]);
  return (
    <>
      <StepPicker steps={steps} step={step} chooser={chooser} />
      {samples ? (
        <StepRows jobId={jobId} seed={seed} rows={rows} chooser={chooser} evaluated={evaluated} step={step} />
      ) : (
        <Pending query={query} />
      )}
    </>
  );
}

interface StepRowsProps {
  jobId: string;
  seed: number | null;
  rows: readonly Row[];
  chooser: Chooser;
  evaluated: readonly number[];
  step: number;
}

function StepRows({ jobId, seed, rows, chooser, evaluated, step }: StepRowsProps) {
  const { place } = chooser;
  const samples = rows.map((row) => row.sample);
  const tables = useMemo(() => rows.flatMap(({ sample }) => (sample.token_table ? [sample.token_table] : [])), [rows]);
  const matched = matching(rows, place);
  const shown = sorted(within(matched, place), place.by, place.order);
  return (
    <>
      <FilterBar
        chooser={chooser}
        figures={figuresIn(samples)}
        histogram={histogramOf(matched, place.by)}
        shown={shown.length}
        total={rows.length}
        hasHeldOut={samples.some((sample) => sample.held_out)}
      >
        {!tables.length && <WhereTokens evaluated={evaluated} step={step} chooser={chooser} />}
      </FilterBar>
      {shown.length ? (
        <CompletionList
          rows={shown}
          keyOf={rowKey}
          start={place.row === null ? undefined : shown.findIndex((row) => row.index === place.row)}
          render={(row) => <CompletionCard jobId={jobId} seed={seed} row={row} tables={tables} chooser={chooser} />}
        />
      ) : (
        <Nothing chooser={chooser} />
      )}
    </>
  );
}

/** Links to the nearest steps with token tables, from a step without them. */
function WhereTokens({ evaluated, step, chooser }: { evaluated: readonly number[]; step: number; chooser: Chooser }) {
  const around = [
    evaluated.findLast((one) => one < step && one > 0),
    evaluated.find((one) => one > step && one > 0),
  ].filter((one) => one !== undefined);
  if (!around.length) return null;
  return (
    <p className={styles.hint} title="Evaluations also log completions token by token, and those of held-out prompts.">
      Token by token:{" "}
      {around.map((one, index) => (
        <span key={one}>
          {index > 0 && ", "}
          <Link to={chooser.linkTo({ step: one, row: null })} replace>
            step {one}
          </Link>
        </span>
      ))}
    </p>
  );
}
