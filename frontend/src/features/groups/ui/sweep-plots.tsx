import { useCallback, useMemo, useState } from "react";
import { Link } from "react-router";
import { Card, Note } from "@/components/card";
import { Table } from "@/components/table";
import type { Group, GroupJob } from "@/features/groups/api";
import { byParameter, type ValueRow } from "@/features/groups/model/by-parameter";
import { valueText } from "@/features/groups/model/parameters";
import { ParallelPlot } from "@/features/groups/ui/parallel-plot";
import { ParameterPlot } from "@/features/groups/ui/parameter-plot";
import { paths, useParameter } from "@/lib/address";
import { measured, NO_VALUE } from "@/lib/format";
import { fieldName, jobName, shortValue, sweepName } from "@/lib/names";
import styles from "./plots.module.css";

interface SweepPlotsProps {
  group: Group;
  parameters: readonly string[];
  /** Label of the objective. */
  label: string;
}

/** The parameters of the runs against their objective. One run is chosen in both plots, by pointer or in the list. */
export function SweepPlots({ group, parameters, label }: SweepPlotsProps) {
  const [at, setAt] = useState<string | null>(null);
  const [wanted, setPath] = useParameter("x");
  const path = wanted !== null && parameters.includes(wanted) ? wanted : (parameters[0] ?? "");
  const choose = useCallback((id: string) => setAt(id), []);
  const { jobs } = group;
  const chosen = jobs.find(({ id }) => id === at) ?? jobs[0];
  const rows = useMemo(() => byParameter(jobs, path), [jobs, path]);
  if (!jobs.some(({ objective }) => objective !== null))
    return <Note>The plots appear once a run has a value of the objective. Choose another one in “Compared by”.</Note>;
  return (
    <div className={styles.plots}>
      <Card title="Parallel coordinates">
        <Note>
          One line for each run, from its parameters to its objective on the right. Better runs are green, worse ones
          orange, and both are strongest at the ends. A dashed run has no objective. The table below has the same
          values.
        </Note>
        <ParallelPlot
          jobs={jobs}
          parameters={parameters}
          label={label}
          chosen={chosen?.id ?? null}
          onChosen={choose}
          goal={group.goal}
        />
        {chosen && <ReadOut jobs={jobs} chosen={chosen} label={label} onChosen={choose} />}
      </Card>
      <Card
        title={`${label} by parameter`}
        beside={
          <select aria-label="Parameter" value={path} onChange={({ target }) => setPath(target.value)}>
            {parameters.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        }
      >
        <Note>
          A point for each run. The orange bars are the mean of the runs with this value and its 95 % t interval.
        </Note>
        <ParameterPlot
          jobs={jobs}
          path={path}
          label={label}
          rows={rows}
          chosen={chosen?.id ?? null}
          onChosen={choose}
        />
        <details open={rows.length <= 6}>
          <summary>Means by {path}</summary>
          <MeanTable rows={rows} path={path} label={label} />
        </details>
      </Card>
    </div>
  );
}

interface ReadOutProps {
  jobs: readonly GroupJob[];
  chosen: GroupJob;
  label: string;
  onChosen: (id: string) => void;
}

/** The chosen run in words. The list chooses it by keyboard. */
function ReadOut({ jobs, chosen, label, onChosen }: ReadOutProps) {
  const fields = Object.keys(chosen.values);
  const values = fields.map((path) => `${fieldName(path, fields)} ${shortValue(chosen.values[path])}`).join(", ");
  return (
    <p className={styles.readout}>
      <select aria-label="Run" value={chosen.id} onChange={({ target }) => onChosen(target.value)}>
        {jobs.map((job) => (
          <option key={job.id} value={job.id}>
            {nameOf(job)}
          </option>
        ))}
      </select>
      <span>
        {label} {measured(chosen.objective)} · {values}
        {chosen.status !== "succeeded" && ` · ${chosen.status}`}
      </span>
      <Link to={paths.job(chosen.id)}>Open the run</Link>
    </p>
  );
}

const nameOf = (job: GroupJob): string => sweepName({ name: jobName(job) }, job.values).name;

function MeanTable({ rows, path, label }: { rows: readonly ValueRow[]; path: string; label: string }) {
  return (
    <Table label={`Means by ${path}`} look="plain" sticky head={[path, "Runs", label, "95 % interval", "n"]}>
      {rows.map(({ value, text, runs, n, mean, half }) => (
        <tr key={text}>
          <th scope="row" title={valueText(value)}>
            {value === undefined ? text : shortValue(value)}
          </th>
          <td>{runs}</td>
          <td>{measured(mean)}</td>
          <td>{mean === null || half === null ? NO_VALUE : `${measured(mean - half)} to ${measured(mean + half)}`}</td>
          <td>{n}</td>
        </tr>
      ))}
    </Table>
  );
}
