import { useMemo } from "react";
import { Link } from "react-router";
import { lineSample } from "@/charts/palette";
import { type Column, columnsOf, DataTable } from "@/components/data-table";
import { NameValues } from "@/components/text";
import type { Look } from "@/features/compare/model/differences";
import { bestOf, type Figure, FIGURES } from "@/features/compare/model/figures";
import { paths, useParameter } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { NO_VALUE } from "@/lib/format";
import { jobName, type ShortName, sweepName } from "@/lib/names";
import styles from "./compare.module.css";

export interface RunsProps {
  jobs: readonly Job[];
  lookOf: (id: string) => Look;
}

/** The results of the runs, one line each; the best of each figure is marked. */
export function FigureTable({ jobs, lookOf }: RunsProps) {
  const [sort, setSort] = useParameter("sort");
  const columns = useMemo(() => figureColumns({ jobs, lookOf }), [jobs, lookOf]);
  if (columns.length < 2) return <p className={styles.note}>No run has ended with an evaluation yet.</p>;
  return (
    <DataTable
      label="Final figures"
      look="plain"
      sticky
      className={styles.figures}
      rows={jobs}
      rowId={(job) => job.id}
      columns={columns}
      sort={sort}
      onSort={setSort}
    />
  );
}

function figureColumns({ jobs, lookOf }: RunsProps): readonly Column<Job>[] {
  const of = columnsOf<Job>();
  const figures = FIGURES.filter((figure) => jobs.some((job) => figure.value(job) !== null));
  return [
    of.accessor(jobName, {
      id: "name",
      header: "Run",
      cell: ({ row }) => <RunName job={row.original} colour={lookOf(row.id).colour} />,
      meta: { isRowHead: true },
    }),
    ...figures.map((figure) => {
      const best = bestOf(figure, jobs);
      return of.accessor((job) => figure.value(job) ?? undefined, {
        id: figure.id,
        header: figure.label,
        cell: ({ getValue, row }) => (
          <FigureValue figure={figure} job={row.original} value={getValue()} isBest={best.has(row.index)} />
        ),
      });
    }),
  ];
}

interface FigureValueProps {
  figure: Figure;
  job: Job;
  value: number | undefined;
  isBest: boolean;
}

function FigureValue({ figure, job, value, isBest }: FigureValueProps) {
  if (value === undefined) return NO_VALUE;
  if (!isBest) return figure.text(value, job);
  return (
    <span className={styles.best}>
      {figure.text(value, job)}
      <span className="visually-hidden"> (best)</span>
    </span>
  );
}

interface RunNameProps {
  job: Job;
  colour: number;
  /** In place of the full name, which is the title. */
  short?: ShortName;
  /** The page behind the name; that of the run by default. */
  to?: string;
}

/** The name of a run. A run of a sweep is named by the fields in which it differs. */
export function RunName({ job, colour, short, to = paths.job(job.id) }: RunNameProps) {
  const { name, values } = short ?? sweepName(job, job.group?.values);
  return (
    <span className={styles.name}>
      <i style={{ background: lineSample(colour) }} aria-hidden />
      <Link to={to} title={jobName(job)}>
        {name}
        <NameValues values={values} />
      </Link>
    </span>
  );
}
