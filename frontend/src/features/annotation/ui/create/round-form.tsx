import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { Segmented } from "@/components/segmented";
import { createRound, roundQuery, roundsKey } from "@/features/annotation/api";
import { bodyOf, type Draft, problemsOf } from "@/features/annotation/model/draft";
import { CheckpointFields } from "@/features/annotation/ui/create/checkpoint-fields";
import { DatasetFields } from "@/features/annotation/ui/create/dataset-fields";
import { Field, type FieldsProps } from "@/features/annotation/ui/create/field";
import { PeopleFields } from "@/features/annotation/ui/create/people-fields";
import { paths } from "@/lib/address";
import { LONGEST } from "@/lib/api/fields.gen";
import type { JobSummary } from "@/lib/api/types";
import styles from "./create.module.css";

const PROBLEM = "[data-problem] :is(input, select, textarea)";

export function RoundForm({ start, job }: { start: Draft; job?: JobSummary }) {
  const [draft, setDraft] = useState(start);
  const form = useRef<HTMLFormElement>(null);
  const [tried, setTried] = useState(false);
  const create = useCreate();
  const problems = problemsOf(draft);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setTried(true);
    if (!Object.keys(problems).length) create.mutate(draft);
    else requestAnimationFrame(() => form.current?.querySelector<HTMLElement>(PROBLEM)?.focus());
  };
  const fields: FieldsProps = {
    draft,
    problems: tried ? problems : {},
    onChange: (change) => setDraft((before) => ({ ...before, ...change })),
  };
  return (
    <form ref={form} className={styles.form} onSubmit={submit} noValidate>
      <section>
        <h2>Answers to compare</h2>
        <div className={styles.choices}>
          <Segmented
            label="Source of the completions"
            options={FROM}
            value={draft.from}
            onChange={(from) => fields.onChange({ from })}
          />
          <Segmented label="Task" options={KINDS} value={draft.kind} onChange={(kind) => fields.onChange({ kind })} />
        </div>
        {draft.from === "dataset" ? <DatasetFields {...fields} /> : <CheckpointFields {...fields} job={job} />}
      </section>
      <section>
        <h2>Who answers, and how</h2>
        <PeopleFields {...fields} job={job} />
      </section>
      <section>
        <Field label="Name" note="For people; left out, it is called after its source.">
          <input
            type="text"
            value={draft.name}
            maxLength={LONGEST.roundName}
            onChange={(event) => fields.onChange({ name: event.target.value })}
          />
        </Field>
      </section>
      {create.error && (
        <Notice tone="bad" title="The round was not created">
          <p>{create.error.message}</p>
        </Notice>
      )}
      <p className={styles.send}>
        <Button type="submit" look="primary" busy={create.isPending}>
          {create.isPending ? "Creating…" : "Create the round"}
        </Button>
        {tried && Object.keys(problems).length > 0 && <span role="alert">Something is missing above.</span>}
      </p>
    </form>
  );
}

const FROM = [
  { id: "dataset", label: "From a dataset" },
  { id: "checkpoints", label: "From checkpoints" },
] as const;
const KINDS = [
  { id: "pairs", label: "Choose between two" },
  { id: "ranking", label: "Rank several" },
] as const;

function useCreate() {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (draft: Draft) => createRound(bodyOf(draft)),
    onSuccess: async (round) => {
      client.setQueryData(roundQuery(round.id).queryKey, round);
      void client.invalidateQueries({ queryKey: [...roundsKey, "list"] });
      await navigate(paths.round(round.id));
    },
  });
}
