import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext } from "react";
import { Link } from "react-router";
import { Button } from "@/components/button";
import { statusesText } from "@/features/jobs/model/folding";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { count, measured, percent } from "@/lib/format";
import { metricReferenceQuery, useLabels } from "@/lib/labels";
import { labelOfAny } from "@/lib/metric-options";
import { fieldName, shortValue } from "@/lib/names";
import styles from "./fold.module.css";

type Folded = NonNullable<JobSummary["folded"]>;

interface Folding {
  /** Ids of the groups whose jobs are shown. */
  readonly open: readonly string[];
  readonly toggle: (group: string) => void;
}

export const FoldingContext = createContext<Folding>({ open: [], toggle: () => undefined });

/** The group's name, which leads to its page, and a button that shows its jobs. */
export function FoldedName({ folded }: { folded: Folded }) {
  const { open, toggle } = useContext(FoldingContext);
  const isOpen = open.includes(folded.group_id);
  const name = folded.name || folded.group_id;
  return (
    <span className={styles.name}>
      <Button
        look="quiet"
        aria-expanded={isOpen}
        aria-label={`${isOpen ? "Hide" : "Show"} the jobs of ${name}`}
        onClick={() => toggle(folded.group_id)}
      >
        {isOpen ? "▾" : "▸"}
      </Button>
      <span>
        <Link to={paths.group(folded.group_id)}>{name}</Link>
        <small>
          {folded.sweep ? "sweep" : "group"} of {count(folded.jobs, "job")}
        </small>
      </span>
    </span>
  );
}

const RATES = ["win_rate", "eval/win_rate", "best_win_rate"];

/** The cells of a folded group, by the id of the column. The other columns have none. */
export function foldedCell(id: string, folded: Folded): ReactNode {
  if (id === "status") return <span className={styles.statuses}>{statusesText(folded.statuses)}</span>;
  if (id === "progress") return <Best folded={folded} />;
  if (id === `metric:${folded.metric}` && folded.best) return `best ${measured(folded.best.objective)}`;
  return null;
}

/** The best job in figures. */
function Best({ folded: { best, metric, goal } }: { folded: Folded }) {
  const labelOf = useLabels();
  const { data: reference = [] } = useQuery(metricReferenceQuery);
  const label = labelOfAny(reference, labelOf, metric);
  if (!best) return <span className={styles.best}>no job has “{label}” yet</span>;
  const fields = Object.keys(best.values);
  const values = fields.map((path) => `${fieldName(path, fields)} ${shortValue(best.values[path])}`).join(", ");
  const value = RATES.includes(metric) ? percent(best.objective, 1) : measured(best.objective);
  return (
    <span className={styles.best}>
      <span title={metric}>
        {goal === "minimize" ? "lowest" : "highest"} {label}
      </span>{" "}
      <b>{value}</b>:{" "}
      <Link to={paths.job(best.job)} title={best.name}>
        run {best.number}
      </Link>
      {values && <small>{values}</small>}
    </span>
  );
}
