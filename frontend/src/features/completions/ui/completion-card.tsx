import { Link } from "react-router";
import { Button } from "@/components/button";
import { LongText } from "@/components/long-text";
import { addressOf, FIGURES } from "@/features/completions/model/place";
import { missingOf, type Row } from "@/features/completions/model/rows";
import { Beside } from "@/features/completions/ui/beside";
import { AddNote, NoteOf } from "@/features/completions/ui/completion-note";
import { TokenView } from "@/features/completions/ui/token-view";
import { useNote } from "@/features/completions/ui/use-note";
import type { Chooser } from "@/features/completions/ui/use-place";
import type { Sample, TokenRow } from "@/lib/api/types";
import { fixed } from "@/lib/format";
import { noValue } from "@/lib/labels";
import { trimmedStart } from "@/lib/visible";
import styles from "./completions.module.css";

/** Characters of a text that are shown before it is unfolded. */
export const LONG = 420;

interface CompletionCardProps {
  jobId: string;
  /** One seed of a job with several; null for a job with one. */
  seed: number | null;
  row: Row;
  /** The token tables that share one colour scale. */
  tables: readonly (readonly TokenRow[])[];
  chooser: Chooser;
  /** Whether the list has completions of several steps. */
  acrossSteps?: boolean;
  /** Text of the link to the step, where the number of the step alone does not tell it. */
  whichStep?: string;
  /** Whether the step ran again and has another completion in this place, to which no link may lead. */
  isReplaced?: boolean;
}

/** One completion with its figures, and what it can be looked at beside or by. */
export function CompletionCard(props: CompletionCardProps) {
  const { jobId, seed, row, tables, chooser, acrossSteps = false, whichStep, isReplaced = false } = props;
  const { sample, stage, step, index } = row;
  const { place, choose, linkTo } = chooser;
  const table = sample.token_table;
  const noting = useNote(jobId, seed, row);
  const open = !acrossSteps && place.row === index && Boolean(table?.length);
  return (
    <article className={styles.completion} aria-label={`Completion ${index + 1} of step ${step}`}>
      <div className={styles.prompt}>
        <LongText text={trimmedStart(sample.prompt)} limit={LONG} />
      </div>
      <div className={styles.body}>
        <div className={styles.head}>
          <Figures sample={sample} />
          <div className={styles.actions}>
            {acrossSteps && <Link to={linkTo({ view: "step", step, row: index })}>{whichStep ?? `Step ${step}`}</Link>}
            {!isReplaced && stage !== "evaluation" && (
              <Link
                to={linkTo({ view: "prompt", of: addressOf(stage, step, index) })}
                aria-label={`Same prompt: ${sample.prompt.trim().slice(0, 40)}`}
              >
                Same prompt
              </Link>
            )}
            {Boolean(table?.length) && (
              <Button aria-expanded={open} onClick={() => choose({ row: open ? null : index })}>
                {open ? "Hide tokens" : "Tokens"}
              </Button>
            )}
            <AddNote noting={noting} />
          </div>
        </div>
        <Beside jobId={jobId} seed={seed} row={row} rival={place.rival} />
        {open && table && <TokenView table={table} tables={tables} />}
        <NoteOf noting={noting} />
      </div>
    </article>
  );
}

export function Figures({ sample }: { sample: Sample }) {
  return (
    <div className={styles.figures}>
      <dl>
        {FIGURES.map(({ id, label, decimals }) => {
          const missing = missingOf(sample, id);
          if (typeof sample[id] !== "number" && !missing) return null;
          return (
            <div key={id}>
              <dt>{label}</dt>
              {missing ? <dd className={styles.cut}>{noValue(missing)}</dd> : <dd>{fixed(sample[id], decimals)}</dd>}
            </div>
          );
        })}
      </dl>
      {typeof sample.policy_step === "number" && (
        <span title="Steps that the policy had taken when it sampled the response">
          policy of step {sample.policy_step}
        </span>
      )}
      {sample.held_out && <span title="Its prompt is logged at every evaluation">held out</span>}
      {sample.finished === true && <span title="The response ended with an EOS token">EOS</span>}
      {sample.finished === false && (
        <span className={styles.cut} title="It reached the longest length without an EOS token">
          cut off
        </span>
      )}
    </div>
  );
}
