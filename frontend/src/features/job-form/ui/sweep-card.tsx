import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Card, Note } from "@/components/card";
import { loadable } from "@/components/loadable";
import { Prose } from "@/components/text";
import { planQuery, type Sweep } from "@/features/job-form/api";
import { refusalText } from "@/features/job-form/model/problems";
import { OPTION_RULES, type SweepOptions, type SweepPlan } from "@/features/job-form/model/sweep";
import { NumberInput } from "@/components/number-input";
import { controlId } from "@/features/job-form/ui/form-context";
import { useSettled } from "@/features/job-form/ui/use-check";
import { count } from "@/lib/format";
import { metricReferenceQuery, useLabels } from "@/lib/labels";
import { metricOptions, metricsOfSpec } from "@/lib/metric-options";
import styles from "./form.module.css";

const ComparedBy = loadable(async () => (await import("@/components/compared-by")).ComparedBy);

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
  const metrics = useMetrics(sweep, options.metric);
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
          name="count"
          label={plan.isRandom ? "Number of draws" : "Number of draws (empty: all combinations)"}
          value={options.count}
          onChange={(value) => onChange({ ...options, count: value })}
        />
        <Option
          name="seed"
          label="Seed of the draws"
          value={options.seed}
          onChange={(value) => onChange({ ...options, seed: value })}
        />
        <Option
          name="parallel"
          label="Most jobs at once (empty: no bound)"
          value={options.parallel}
          onChange={(value) => onChange({ ...options, parallel: value })}
        />
        <div className={styles.leaf}>
          <span>Compared by</span>
          <Suspense fallback={null}>
            <ComparedBy
              className={styles.compared}
              options={metrics}
              metric={options.metric}
              goal={options.goal}
              onChange={(to) => onChange({ ...options, ...to })}
            />
          </Suspense>
        </div>
      </div>
      {planned.error && (
        <p className={styles.blocking} role="alert">
          <Prose text={refusalText(planned.error)} />
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

/** The metrics that the jobs of the sweep will have, as far as they are known. */
function useMetrics(sweep: Sweep | null, chosen: string) {
  const labelOf = useLabels();
  const { data: reference } = useQuery(metricReferenceQuery);
  const spec = sweep?.spec;
  return useMemo(() => {
    const known = reference ?? [];
    return metricOptions(known, labelOf, [...metricsOfSpec(known, spec ?? {}), chosen]);
  }, [reference, labelOf, spec, chosen]);
}

interface OptionProps {
  name: keyof typeof OPTION_RULES;
  label: string;
  value: string;
  onChange: (value: string) => void;
}

function Option({ name, label, value, onChange }: OptionProps) {
  const id = controlId(`sweep.${name}`);
  return (
    <div className={styles.leaf}>
      <label htmlFor={id}>{label}</label>
      <NumberInput id={id} rules={OPTION_RULES[name]} value={value} onChange={onChange} />
    </div>
  );
}
