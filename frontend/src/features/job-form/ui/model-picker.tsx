import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Combobox } from "@/components/combobox";
import { Segmented } from "@/components/segmented";
import { type Field, leaves } from "@/features/job-form/model/schema";
import { type JsonObject, valueAt } from "@/features/job-form/model/spec";
import { Faults, Fields } from "@/features/job-form/ui/fields";
import { controlId, useForm } from "@/features/job-form/ui/form-context";
import { checkpointsQuery, goodOnes, jobsQuery } from "@/features/jobs/api";
import { stageShort } from "@/lib/states";
import { jobOptions } from "@/lib/names";
import styles from "./form.module.css";

/** The architecture of examples/tiny.toml, which trains in seconds on a CPU. */
const TINY: JsonObject = {
  model_type: "llama",
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 128,
  tie_word_embeddings: true,
  initializer_range: 0.05,
};

/** A stored model by its id or path, the result of an earlier job, or a new model by its configuration. */
export function ModelPicker({ fields }: { fields: readonly Field[] }) {
  const { spec, set } = useForm();
  const isNew = valueAt(spec, "model.config") != null;
  const choose = (kind: "stored" | "new") =>
    set("model", kind === "new" ? { config: TINY, tokenizer: { vocab_size: 512 } } : undefined);
  const config = leaves(fields).filter(({ path }) => path === "model.config");
  const path = valueAt(spec, "model.path");
  return (
    <div className={styles.picker} data-path="model.path">
      <Segmented
        label="Kind of model"
        options={[
          { id: "stored", label: "Existing model" },
          { id: "new", label: "New model" },
        ]}
        value={isNew ? "new" : "stored"}
        onChange={choose}
      />
      {isNew ? (
        <Fields fields={config} />
      ) : (
        <div className={styles.fields}>
          <div className={styles.leaf}>
            <label htmlFor={controlId("model.path")}>Hugging Face id, checkpoint id or folder on the worker</label>
            <input
              id={controlId("model.path")}
              type="text"
              spellCheck={false}
              placeholder="Qwen/Qwen2.5-0.5B-Instruct"
              value={typeof path === "string" ? path : ""}
              onChange={(event) => set("model.path", event.target.value || undefined)}
            />
            <Faults path="model.path" />
          </div>
          <ResultPicker onChoose={(checkpoint) => set("model.path", checkpoint)} />
        </div>
      )}
    </div>
  );
}

/** The trained policy of an earlier job. */
function ResultPicker({ onChoose }: { onChoose: (checkpoint: string) => void }) {
  const jobs = useInfiniteQuery(jobsQuery);
  const { spec } = useForm();
  const ended = (jobs.data?.pages ?? []).flatMap((page) => page.data).filter(({ status }) => status === "succeeded");
  const path = valueAt(spec, "model.path");
  if (!ended.length) return null;
  return (
    <div className={styles.leaf}>
      <span className={styles.name}>Or the result of an earlier job</span>
      <JobResult jobs={jobOptions(ended)} onChoose={onChoose} />
      {typeof path === "string" && path.startsWith("ckpt_") && <small>The checkpoint {path} is used.</small>}
    </div>
  );
}

interface JobResultProps {
  jobs: readonly { value: string; label: string }[];
  onChoose: (checkpoint: string) => void;
}

const POLICIES = ["ppo", "kto", "dpo", "sft"];

function JobResult({ jobs, onChoose }: JobResultProps) {
  const [id, setId] = useState("");
  const checkpoints = useQuery({ ...checkpointsQuery(id), enabled: id !== "" });
  const finals = goodOnes(checkpoints.data ?? []).filter(({ final, stage }) => final && POLICIES.includes(stage));
  finals.sort((a, b) => POLICIES.indexOf(a.stage) - POLICIES.indexOf(b.stage));
  return (
    <>
      <Combobox label="Earlier job" placeholder="Choose a job" options={jobs} value={id} onChange={setId} />
      {finals.length > 0 && (
        <div className={styles.choices}>
          {finals.map((one) => (
            <button key={one.id} type="button" className={styles.chip} onClick={() => onChoose(one.id)}>
              Use its {stageShort(one.stage)} model
            </button>
          ))}
        </div>
      )}
      {id && checkpoints.data && !finals.length && <small>This job has no stored model any more.</small>}
    </>
  );
}
