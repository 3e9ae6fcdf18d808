import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Combobox } from "@/components/combobox";
import { DATASET_KINDS } from "@/lib/api/fields.gen";
import { datasetOptions } from "@/lib/dataset-options";
import { choicesQuery } from "@/features/job-form/api";
import { type Role, rolesOf, stagesIn } from "@/features/job-form/model/layout";
import { labelOf } from "@/features/job-form/model/schema";
import { valueAt } from "@/features/job-form/model/spec";
import { Faults } from "@/features/job-form/ui/fields";
import { controlId, useForm } from "@/features/job-form/ui/form-context";
import { paths } from "@/lib/address";
import type { DatasetKind } from "@/lib/api/types";
import { STAGES, stageLabel, stageShort } from "@/lib/states";
import styles from "./form.module.css";

/** The stages of the run, in their fixed order. */
export function StagePicker() {
  const { spec, set } = useForm();
  const chosen = stagesIn(spec);
  const toggle = (stage: (typeof STAGES)[number]) => {
    const next = STAGES.filter((one) => (one === stage ? !chosen.includes(one) : chosen.includes(one)));
    set("stages", next);
  };
  return (
    <fieldset className={styles.stages} data-path="stages">
      <legend>Stages</legend>
      {STAGES.map((stage) => (
        <label key={stage} className={styles.check} title={stageLabel(stage)}>
          <input type="checkbox" checked={chosen.includes(stage)} onChange={() => toggle(stage)} />
          {stageShort(stage)}
        </label>
      ))}
      <Faults path="stages" />
    </fieldset>
  );
}

const ROLE_NOTES: Record<Role, string> = {
  preferences: "Comparisons of answers",
  thumbs: "Single answers with a thumb up or down, for KTO",
  steps: "Solutions with a label for each step, for a stepwise reward model",
  sft: "Demonstrations; left out: the preferred answers of the comparisons",
  prompts: "Prompts for PPO; left out: those of the comparisons",
  evaluation_prompts: "Prompts for the evaluation; left out: held-out ones",
  pretraining: "Texts for PTX",
};

/** A dataset for each role that the stages of the job can use. */
export function DataPicker() {
  const { spec } = useForm();
  return (
    <div className={styles.fields}>
      {rolesOf(spec, stagesIn(spec)).map((role) => (
        <DatasetPicker key={role} role={role} kind={DATASET_KINDS[role]} />
      ))}
    </div>
  );
}

function DatasetPicker({ role, kind }: { role: Role; kind: DatasetKind }) {
  const { spec, set } = useForm();
  const path = `data.${role}`;
  const datasets = useQuery(choicesQuery(kind));
  const value = valueAt(spec, path);
  const all = useQuery(choicesQuery(null));
  const fit = datasets.data ?? [];
  // Those of other kinds are shown as well, with the reason why they cannot be chosen.
  const options = datasetOptions([...fit, ...(all.data ?? []).filter((one) => one.kind !== kind)], [kind]);
  const [id = ""] = typeof value === "string" ? value.split("@") : [];
  const isVersion = typeof value === "string" && value.includes("@");
  // The stored spec names a version by the hash of its rows.
  const known = options.find((option) => option.value === id);
  const shown =
    isVersion && known
      ? [...options, { value, label: `${known.label.split(" (")[0] ?? id}, as in the original` }]
      : options;
  return (
    <div className={styles.leaf} data-path={path} id={controlId(path)} tabIndex={-1}>
      <span className={styles.name}>{labelOf(role)}</span>
      <Combobox
        label={labelOf(role)}
        options={shown}
        placeholder="Choose a dataset"
        none="None"
        value={typeof value === "string" ? value : ""}
        onChange={(chosen) => set(path, chosen || undefined)}
      />
      <Faults path={path} />
      <small className={styles.help}>
        {ROLE_NOTES[role]}
        {datasets.data?.length === 0 && (
          <>
            . <Link to={paths.newDataset}>Add such a dataset</Link>
          </>
        )}
      </small>
    </div>
  );
}
