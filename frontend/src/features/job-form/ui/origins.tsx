import { Link } from "react-router";
import { carriedOver, type Start } from "@/features/job-form/model/origin";
import type { FormState } from "@/features/job-form/ui/form-context";
import { paths } from "@/lib/address";
import { LONGEST } from "@/lib/api/fields.gen";
import { stageShort } from "@/lib/states";
import styles from "./form.module.css";

/** The job that the form starts from, and for a branch the parts that continue; or the group that the new job joins. */
export function Origins({ start }: { start: Start }) {
  const { job, checkpoint, group } = start;
  if (group) return <p className={styles.help}>The job joins the group {group.name || group.id}.</p>;
  if (!job) return null;
  const name = <Link to={paths.job(job.id)}>{job.name || job.id}</Link>;
  if (!checkpoint) return <p className={styles.help}>It has the settings of {name} and starts from the beginning.</p>;
  return (
    <p className={styles.help}>
      It continues {name} from {stageShort(checkpoint.stage)} {checkpoint.final ? "result" : `step ${checkpoint.step}`},
      with {carriedOver(checkpoint).join(", ")}. A change that makes the stored state unusable is refused with its
      field.
    </p>
  );
}

export function NameField({ spec, set }: Pick<FormState, "spec" | "set">) {
  return (
    <div className={styles.leaf} data-path="name">
      <label htmlFor="field-name">Name</label>
      <input
        id="field-name"
        type="text"
        maxLength={LONGEST.jobName}
        placeholder="Shown in lists"
        value={typeof spec.name === "string" ? spec.name : ""}
        onChange={(event) => set("name", event.target.value || undefined)}
      />
    </div>
  );
}
