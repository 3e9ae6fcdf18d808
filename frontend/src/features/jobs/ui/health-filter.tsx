import { Popover } from "@/components/popover";
import { HEALTH, type Health } from "@/features/jobs/model/choice";
import styles from "./jobs.module.css";

const LABELS: Record<Health, string> = {
  error: "Errors",
  warning: "Warnings only",
  none: "No findings",
};

interface HealthFilterProps {
  chosen: readonly Health[];
  onChange: (health: readonly Health[]) => void;
}

/** Which jobs are listed by their gravest finding. */
export function HealthFilter({ chosen, onChange }: HealthFilterProps) {
  return (
    <Popover button={chosen.length ? `Health (${chosen.length})` : "Health"} label="Health of the jobs">
      <div className={styles.checks}>
        {HEALTH.map((one) => (
          <label key={one} className={styles.check}>
            <input
              type="checkbox"
              checked={chosen.includes(one)}
              onChange={({ target }) =>
                onChange(HEALTH.filter((other) => (other === one ? target.checked : chosen.includes(other))))
              }
            />
            {LABELS[one]}
          </label>
        ))}
      </div>
    </Popover>
  );
}
