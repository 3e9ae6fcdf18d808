import { useQuery } from "@tanstack/react-query";
import { Card, Note } from "@/components/card";
import { Prose } from "@/components/text";
import { planQuery, type Sweep } from "@/features/job-form/api";
import type { SweepOptions, SweepPlan } from "@/features/job-form/model/sweep";
import { useSettled } from "@/features/job-form/ui/use-check";
import { count } from "@/lib/format";
import styles from "./form.module.css";

interface SweepCardProps {
  plan: SweepPlan;
  sweep: Sweep | null;
  options: SweepOptions;
  onChange: (options: SweepOptions) => void;
}

const SHOWN = 6;

/** The size of a sweep, its draws, and the jobs that the server would make. */
export function SweepCard({ plan, sweep, options, onChange }: SweepCardProps) {
  const planned = useQuery(planQuery(useSettled(sweep)));
  const fields = Object.keys(plan.parameters);
  const jobs = planned.data?.jobs ?? [];
  return (
    <Card title="Sweep">
      {fields.length === 0 ? (
        <Note>Choose “Vary” at the fields that differ between the jobs, and write their values.</Note>
      ) : (
        <p>
          {plan.jobs === null ? "Enter the number of draws for the random ranges" : <b>{count(plan.jobs, "job")}</b>}
          {plan.jobs !== null && `, which differ in ${fields.join(", ")}`}.
        </p>
      )}
      <div className={styles.fields}>
        <Option
          label={plan.isRandom ? "Number of draws" : "Number of draws (empty: all combinations)"}
          value={options.count}
          onChange={(value) => onChange({ ...options, count: value })}
        />
        <Option
          label="Seed of the draws"
          value={options.seed}
          onChange={(value) => onChange({ ...options, seed: value })}
        />
        <Option
          label="Most jobs at once (empty: no bound)"
          value={options.parallel}
          onChange={(value) => onChange({ ...options, parallel: value })}
        />
        <div className={styles.leaf}>
          <label htmlFor="sweep-metric">Compared by</label>
          <input
            id="sweep-metric"
            type="text"
            value={options.metric}
            onChange={(event) => onChange({ ...options, metric: event.target.value })}
          />
        </div>
      </div>
      {planned.error && (
        <p className={styles.blocking} role="alert">
          <Prose text={planned.error.message} />
        </p>
      )}
      {jobs.length > 0 && (
        <ul className={styles.planned}>
          {jobs.slice(0, SHOWN).map((job) => (
            <li key={job.number}>
              {job.number}:{" "}
              {Object.entries(job.values)
                .map(([path, value]) => `${path} = ${JSON.stringify(value)}`)
                .join(", ")}
            </li>
          ))}
          {jobs.length > SHOWN && <li>and {jobs.length - SHOWN} more</li>}
        </ul>
      )}
    </Card>
  );
}

function Option({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const id = `sweep-${label.split(" (")[0] ?? label}`.replaceAll(" ", "-").toLowerCase();
  return (
    <div className={styles.leaf}>
      <label htmlFor={id}>{label}</label>
      <input id={id} type="number" min={0} step={1} value={value} onChange={(event) => onChange(event.target.value)} />
    </div>
  );
}
