import { Link } from "react-router";
import { lineSample } from "@/charts/palette";
import { Table } from "@/components/table";
import type { Difference, Look } from "@/features/compare/model/differences";
import { bestOf, FIGURES } from "@/features/compare/model/figures";
import { paths } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { NO_VALUE } from "@/lib/format";
import { jobName } from "@/lib/states";
import styles from "./compare.module.css";

export interface RunsProps {
  jobs: readonly Job[];
  lookOf: (id: string) => Look;
}

/** The results of the runs, one line each; the best of each figure is marked. */
export function FigureTable({ jobs, lookOf }: RunsProps) {
  const figures = FIGURES.filter((figure) => jobs.some((job) => figure.value(job) !== null));
  if (!figures.length) return <p className={styles.note}>No run has ended with an evaluation yet.</p>;
  const best = figures.map((figure) => bestOf(figure, jobs));
  return (
    <Table
      label="Final figures"
      look="plain"
      sticky
      head={["Run", ...figures.map(({ label }) => label)]}
      className={styles.figures}
    >
      {jobs.map((job, index) => (
        <tr key={job.id}>
          <th scope="row">
            <RunName job={job} colour={lookOf(job.id).colour} />
          </th>
          {figures.map((figure, column) => {
            const value = figure.value(job);
            const isBest = best[column]?.has(index) ?? false;
            return (
              <td key={figure.label} className={isBest ? styles.best : ""}>
                {value === null ? NO_VALUE : figure.text(value, job)}
                {isBest && <span className="visually-hidden"> (best)</span>}
              </td>
            );
          })}
        </tr>
      ))}
    </Table>
  );
}

interface RunNameProps {
  job: Job;
  colour: number;
  /** In place of the full name, which is the title then. */
  short?: string;
}

export function RunName({ job, colour, short = jobName(job) }: RunNameProps) {
  return (
    <span className={styles.name}>
      <i style={{ background: lineSample(colour) }} aria-hidden />
      <Link to={paths.job(job.id)} title={jobName(job)}>
        {short}
      </Link>
    </span>
  );
}

/** The fields in which the specs differ. */
export function DifferenceTable({ found, jobs, lookOf }: RunsProps & { found: readonly Difference[] }) {
  const heads = jobs.map((job) => (
    <th scope="col" key={job.id}>
      <RunName job={job} {...lookOf(job.id)} />
    </th>
  ));
  return (
    <Table
      label="Differences of the specs"
      look="plain"
      sticky
      head={["Field", ...heads]}
      className={styles.differences}
    >
      {found.map(({ path, values }) => (
        <tr key={path}>
          <th scope="row">
            <code>{path}</code>
          </th>
          {values.map((value, index) => (
            <td key={jobs[index]?.id}>{value}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}
