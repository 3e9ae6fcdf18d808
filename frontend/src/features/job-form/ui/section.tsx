import { type ReactNode, useState } from "react";
import { leaves } from "@/features/job-form/model/schema";
import { holds, type Section as SectionData } from "@/features/job-form/model/layout";
import { valueAt } from "@/features/job-form/model/spec";
import { Faults, Fields } from "@/features/job-form/ui/fields";
import { useForm } from "@/features/job-form/ui/form-context";
import { count } from "@/lib/format";
import styles from "./form.module.css";

/** The fields of a stage. The rare ones are behind "Advanced", which opens by itself where one of them has a problem. */
export function Section({ section, children }: { section: SectionData; children?: ReactNode }) {
  const { spec, problems, goal } = useForm();
  const [wanted, setWanted] = useState<boolean | null>(null);
  const set = leaves(section.rare).filter(({ path }) => valueAt(spec, path) !== undefined).length;
  const isFaulty = problems.some(({ path, severity }) => severity === "blocking" && holds(section.rare, path));
  const [seen, setSeen] = useState(goal);
  if (goal !== seen) {
    setSeen(goal);
    if (goal && holds(section.rare, goal.path)) setWanted(true);
  }
  const isOpen = wanted ?? isFaulty;
  return (
    <section
      className={styles.section}
      id={`section-${section.id}`}
      role="group"
      aria-labelledby={`section-${section.id}-title`}
    >
      <h2 id={`section-${section.id}-title`}>{section.title}</h2>
      <Faults path={section.id} />
      {children}
      {section.main.length > 0 && <Fields fields={section.main} />}
      {section.rare.length > 0 && (
        <details open={isOpen} onToggle={(event) => setWanted(event.currentTarget.open)}>
          <summary>
            Advanced: {count(leaves(section.rare).length || section.rare.length, "more setting")}
            {set > 0 && `, ${set} set`}
          </summary>
          {isOpen && <Fields fields={section.rare} />}
        </details>
      )}
    </section>
  );
}
