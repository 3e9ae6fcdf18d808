import { Field, type FieldsProps } from "@/features/annotation/ui/create/field";
import { CheckpointSelect, DatasetSelect } from "@/features/annotation/ui/create/selects";
import type { JobSummary } from "@/lib/api/types";
import styles from "./create.module.css";

interface Props extends FieldsProps {
  /** The job that the form began with. */
  job?: JobSummary | undefined;
}

/** Completions that are still to be written, by one checkpoint or two, for the prompts of a dataset. */
export function CheckpointFields({ draft, problems, onChange, job }: Props) {
  return (
    <div className={styles.fields}>
      <CheckpointSelect
        label="Checkpoint"
        problem={problems.first}
        what="policy"
        job={job}
        value={draft.first}
        onChange={(first) => onChange({ first })}
      />
      <CheckpointSelect
        label="Compared with"
        note="Annotators do not see which model wrote an answer."
        none="itself: it writes all of them"
        what="policy"
        job={job}
        value={draft.second}
        onChange={(second) => onChange({ second })}
      />
      <DatasetSelect
        label="Prompts"
        note="Preferences, thumbs, labelled steps and SFT pairs supply their prompts."
        problem={problems.prompts}
        kinds={["prompts", "preferences", "thumbs", "steps", "sft"]}
        value={draft.prompts}
        onChange={(prompts) => onChange({ prompts })}
      />
      <Field label="At most" note="Prompts, drawn at random." problem={problems.limit}>
        <input
          type="text"
          inputMode="numeric"
          placeholder="200"
          value={draft.limit}
          onChange={(event) => onChange({ limit: event.target.value })}
        />
      </Field>
      {draft.kind === "ranking" && (
        <Field label="Completions of each" note="Two to nine in all." problem={problems.completions}>
          <input
            type="text"
            inputMode="numeric"
            value={draft.completions}
            onChange={(event) => onChange({ completions: event.target.value })}
          />
        </Field>
      )}
      <Field label="Temperature" note="1: as the model learnt it." problem={problems.temperature}>
        <input
          type="text"
          inputMode="decimal"
          value={draft.temperature}
          onChange={(event) => onChange({ temperature: event.target.value })}
        />
      </Field>
      <Field label="Longest completion" note="In tokens; left out: as in the job." problem={problems.maxNewTokens}>
        <input
          type="text"
          inputMode="numeric"
          placeholder="as in the job"
          value={draft.maxNewTokens}
          onChange={(event) => onChange({ maxNewTokens: event.target.value })}
        />
      </Field>
    </div>
  );
}
