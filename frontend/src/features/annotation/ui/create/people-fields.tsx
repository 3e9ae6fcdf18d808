import { answersOf, valueOf } from "@/features/annotation/model/draft";
import { Field, type FieldsProps } from "@/features/annotation/ui/create/field";
import { CheckpointSelect, DatasetSelect } from "@/features/annotation/ui/create/selects";
import { LONGEST } from "@/lib/api/fields.gen";
import type { JobSummary } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./create.module.css";

interface Props extends FieldsProps {
  job?: JobSummary | undefined;
}

/** Fields for the number of annotators per item, gold questions and instructions. */
export function PeopleFields({ draft, problems, onChange, job }: Props) {
  const answers = answersOf(draft);
  return (
    <div className={styles.fields}>
      <Field
        label="Annotators per item"
        note={answers ? `${count(answers, "answer")} in all.` : "Agreement is measured from 2 on."}
        problem={problems.overlap}
      >
        <input
          type="text"
          inputMode="numeric"
          value={draft.overlap}
          onChange={(event) => onChange({ overlap: event.target.value })}
        />
      </Field>
      <Field
        label="Gold questions, %"
        note="Share of items with a known answer, to check annotators."
        problem={problems.goldShare}
      >
        <input
          type="text"
          inputMode="decimal"
          value={draft.goldShare}
          onChange={(event) => onChange({ goldShare: event.target.value })}
        />
      </Field>
      {valueOf(draft.goldShare) > 0 && (
        <DatasetSelect
          label="Gold questions from"
          note="Preferences whose labels are right."
          problem={problems.gold}
          kinds={["preferences"]}
          none={draft.from === "dataset" ? "the labelled rows of the dataset" : undefined}
          value={draft.gold}
          onChange={(gold) => onChange({ gold })}
        />
      )}
      <CheckpointSelect
        label="Compare with a reward model"
        note="How often it prefers what people prefer. Can be chosen later."
        none="none"
        what="reward_model"
        job={job}
        value={draft.rewardModel}
        onChange={(rewardModel) => onChange({ rewardModel })}
      />
      <Field label="Instructions" note="Shown above every item, as Markdown." wide>
        <textarea
          rows={3}
          maxLength={LONGEST.roundInstructions}
          placeholder="Which answer is more helpful and honest? If both are equally good, choose a tie."
          value={draft.instructions}
          onChange={(event) => onChange({ instructions: event.target.value })}
        />
      </Field>
    </div>
  );
}
