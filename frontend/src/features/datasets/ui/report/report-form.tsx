import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { NumberInput } from "@/components/number-input";
import { makeReport, reportsQuery } from "@/features/datasets/api/datasets";
import type { Go } from "@/features/datasets/model/place";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { numberIn } from "@/lib/numbers";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import styles from "./report.module.css";

interface Props {
  dataset: Dataset;
  version: DatasetVersion;
  /** Open from the start. The form does not close while the user fills it in. */
  open: boolean;
  go: Go;
}

const DEFAULT_TOKENS = "512";
const TOKENS = { integer: true, min: 1 };

/** Another report, with the tokenizer, the template and the lengths of a job to come. */
export function ReportForm({ dataset, version, open, go }: Props) {
  const client = useQueryClient();
  const [model, setModel] = useState("");
  const [template, setTemplate] = useState<"auto" | "none">("auto");
  const [prompt, setPrompt] = useState(DEFAULT_TOKENS);
  const [completion, setCompletion] = useState(DEFAULT_TOKENS);
  const [isUsed, setUsed] = useState(false);
  const make = useMutation({
    mutationFn: () => {
      const name = model.trim() || null;
      const asJob = () => ({
        chat_template: template,
        max_prompt_tokens: numberIn(prompt),
        max_completion_tokens: numberIn(completion),
      });
      return makeReport(dataset.id, { version: version.number, model: name, ...(name && asJob()) });
    },
    onSuccess: async (report) => {
      await client.invalidateQueries({ queryKey: reportsQuery(dataset.id, version.number).queryKey });
      go({ report: report.id });
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <details className={styles.make} open={open || isUsed || undefined}>
      <summary>Make a report for a model</summary>
      <form onSubmit={submit} onFocus={() => setUsed(true)}>
        <label className={styles.wide}>
          Model
          <input
            type="text"
            spellCheck={false}
            autoCapitalize="off"
            placeholder="ckpt_… or the path of a model"
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        </label>
        <label>
          Chat template
          <select
            value={template}
            disabled={!model.trim()}
            onChange={(event) => setTemplate(event.target.value === "none" ? "none" : "auto")}
          >
            <option value="auto">the model's, if it has one</option>
            <option value="none">none</option>
          </select>
        </label>
        <Tokens label="Longest prompt, tokens" value={prompt} onChange={setPrompt} disabled={!model.trim()} />
        <Tokens label="Longest answer, tokens" value={completion} onChange={setCompletion} disabled={!model.trim()} />
        <Button type="submit" busy={make.isPending}>
          {make.isPending ? "Asking…" : "Make the report"}
        </Button>
      </form>
      <p>
        The report measures texts in the model's tokens, cut to the job's lengths. Pairs that become the same by that
        are found here and not after hours of training. Without a model, lengths are in characters.
      </p>
      {make.error && <ProblemLines error={make.error} title="No report" />}
    </details>
  );
}

interface TokensProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  disabled: boolean;
}

function Tokens({ label, value, onChange, disabled }: TokensProps) {
  return (
    <label>
      {label}
      <NumberInput rules={TOKENS} required value={value} disabled={disabled} onChange={onChange} />
    </label>
  );
}
