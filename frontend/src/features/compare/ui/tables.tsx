import { Link } from "react-router";
import { lineSample } from "@/charts/palette";
import { SortHead } from "@/components/sort-head";
import { Table } from "@/components/table";
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
  const figures = FIGURES.filter((figure) => jobs.some((job) => figure.value(job) !== null));
  if (!figures.length) return <p className={styles.note}>No run has ended with an evaluation yet.</p>;
  const best = figures.map((figure) => bestOf(figure, jobs));
  const head = (id: string, label: string) => (
    <SortHead key={id} id={id} sort={sort} highFirst={id !== "name"} onSort={setSort}>
      {label}
    </SortHead>
  );
  return (
    <Table
      label="Final figures"
      look="plain"
      sticky
      className={styles.figures}
      head={[head("name", "Run"), ...figures.map(({ id, label }) => head(id, label))]}
    >
      {sorted(jobs, figures, sort).map((job) => (
        <tr key={job.id}>
          <th scope="row">
            <RunName job={job} {...lookOf(job.id)} />
          </th>
          {figures.map((figure, index) => {
            const isBest = best[index]?.has(jobs.indexOf(job)) ?? false;
            const value = figure.value(job) ?? undefined;
            return (
              <td key={figure.id}>
                <FigureValue figure={figure} job={job} value={value} isBest={isBest} />
              </td>
            );
          })}
        </tr>
      ))}
    </Table>
  );
}

/** The runs by name or by a figure; those without the figure come last. */
function sorted(jobs: readonly Job[], figures: readonly Figure[], sort: string | null): readonly Job[] {
  const sign = sort?.startsWith("-") ? -1 : 1;
  const id = sort?.replace(/^-/, "");
  const figure = figures.find((one) => one.id === id);
  if (id === "name") return jobs.toSorted((a, b) => sign * jobName(a).localeCompare(jobName(b)));
  if (!figure) return jobs;
  const last = sign * Infinity;
  return jobs.toSorted((a, b) => {
    const [left, right] = [figure.value(a) ?? last, figure.value(b) ?? last];
    return left === right ? 0 : sign * (left < right ? -1 : 1);
  });
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
