import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { Announce, Skeleton } from "@/components/status";
import { Prose } from "@/components/text";
import { type Commands, commandsQuery, knobsQuery, sendCommands } from "@/features/job-actions/api";
import {
  changesText,
  type Draft,
  outcome,
  rangeText,
  readDraft,
  takenBack,
  withoutSent,
} from "@/features/job-actions/model/knobs";
import { KnobHistory } from "@/features/job-actions/ui/knob-history";
import { Refusal } from "@/features/job-actions/ui/dialogs";
import { jobsKey } from "@/features/jobs/api";
import { KNOBS } from "@/lib/api/knobs.gen";
import type { JobCommand, JobKnob } from "@/lib/api/types";
import { number } from "@/lib/format";
import { commandLabel } from "@/lib/labels";
import { stageLabel } from "@/lib/states";
import styles from "./actions.module.css";

const POLL_MS = 2000;

/** Every live setting of the stage that runs, with its value, its range, what is under way, and its history. */
export function KnobPanel({ jobId }: { jobId: string }) {
  const knobs = useQuery({ ...knobsQuery(jobId), refetchInterval: POLL_MS });
  const commands = useQuery({ ...commandsQuery(jobId), refetchInterval: POLL_MS });
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>({});
  const [sent, setSent] = useState<Sent | null>(null);
  const send = useMutation({
    mutationFn: ({ body }: Request) => sendCommands(jobId, body),
    onSuccess: (_, { body, back }) => {
      setSent(back && { text: changesText(body), back });
      setDraft((before) => withoutSent(before, body));
      void client.invalidateQueries({ queryKey: [...jobsKey, jobId] });
    },
  });
  if (knobs.error && !knobs.data) return <Refusal error={knobs.error} />;
  if (!knobs.data) return <Skeleton rows={4} label="Loading the live settings" />;
  const { stage, knobs: all, pending } = knobs.data;
  const { commands: changes, problems } = readDraft(draft, all, pending);
  const available = all.filter((knob) => knob.available);
  const missing = all.filter((knob) => !knob.available);
  const newest = commands.data?.[0];
  const isReady = Object.keys(changes).length > 0 && Object.keys(problems).length === 0;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) send.mutate({ body: changes, back: takenBack(changes, all, pending) });
      }}
    >
      <Note>{stageLabel(stage)} takes up a change between two steps. An exact resume repeats it at the same step.</Note>
      {available.map((knob) => (
        <Knob
          key={knob.name}
          knob={knob}
          text={draft[knob.name] ?? ""}
          problem={problems[knob.name]}
          waiting={pending.find(({ name }) => name === knob.name)}
          onChange={(text) => setDraft({ ...draft, [knob.name]: text })}
        />
      ))}
      {missing.length > 0 && (
        <details>
          <summary>Settings that this run does not have</summary>
          <ul className={styles.history}>
            {missing.map(({ name, reason }) => (
              <li key={name}>
                {KNOBS[name].label}: <Prose text={reason ?? ""} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {sent && (
        <p className={styles.sent} role="status">
          <span>{`Requested: ${sent.text}.`}</span>
          <Button onClick={() => send.mutate({ body: sent.back, back: null })} busy={send.isPending}>
            Undo
          </Button>
        </p>
      )}
      <Refusal error={send.error} />
      <div className={styles.buttons}>
        <Button
          onClick={() => send.mutate({ body: { evaluate: true, checkpoint: false }, back: null })}
          busy={send.isPending}
        >
          Evaluate now
        </Button>
        <Button
          onClick={() => send.mutate({ body: { evaluate: false, checkpoint: true }, back: null })}
          busy={send.isPending}
        >
          Checkpoint now
        </Button>
        <Button type="submit" look="primary" disabled={!isReady || send.isPending}>
          Apply
        </Button>
      </div>
      <Announce text={newest ? `${commandLabel(newest.name)}. ${outcome(newest)}.` : ""} />
      {commands.data && commands.data.length > 0 && (
        <KnobHistory
          commands={commands.data}
          knobs={all}
          busy={send.isPending}
          onBack={({ name, value }) => {
            const body = { [name]: value } as unknown as Commands;
            send.mutate({ body, back: takenBack(body, all, pending) });
          }}
        />
      )}
    </form>
  );
}

interface Request {
  readonly body: Commands;
  /** The request that takes it back; null for an action, and for a request that is one. */
  readonly back: Commands | null;
}

/** The last change, which the user may take back. */
interface Sent {
  readonly text: string;
  readonly back: Commands;
}

interface KnobProps {
  knob: JobKnob;
  text: string;
  problem: string | undefined;
  waiting: JobCommand | undefined;
  onChange: (text: string) => void;
}

function Knob({ knob, text, problem, waiting, onChange }: KnobProps) {
  const id = `knob-${knob.name}`;
  return (
    <div className={styles.knob}>
      <label htmlFor={id}>
        <b>{KNOBS[knob.name].label}</b>
        <small>
          <code>{knob.field}</code>, {KNOBS[knob.name].unit}
        </small>
      </label>
      <input
        id={id}
        type="text"
        inputMode="decimal"
        autoComplete="off"
        placeholder={number(knob.value)}
        value={text}
        aria-describedby={`${id}-note`}
        aria-invalid={problem !== undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      <small id={`${id}-note`}>
        {problem !== undefined ? (
          <span className={styles.fault}>{problem}</span>
        ) : (
          <>
            Now {number(knob.value)}, {rangeText(knob)}
            {waiting && `; ${number(waiting.value)} is pending`}
          </>
        )}
      </small>
    </div>
  );
}
