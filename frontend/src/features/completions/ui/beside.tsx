import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { LongText } from "@/components/long-text";
import { previousQuery } from "@/features/completions/api/samples";
import { addressOf, type Rival } from "@/features/completions/model/place";
import type { Row } from "@/features/completions/model/rows";
import { LONG } from "@/features/completions/ui/completion-card";
import { fixed } from "@/lib/format";
import { asStage } from "@/lib/states";
import { diffTexts } from "@/lib/text-diff";
import { trimmedStart } from "@/lib/visible";
import styles from "./completions.module.css";

interface BesideProps {
  jobId: string;
  seed: number | null;
  row: Row;
  rival: Rival;
}

/** A response alone, or beside another one to the same prompt, with the words marked that differ. */
export function Beside({ jobId, seed, row, rival }: BesideProps) {
  const { sample, step } = row;
  if (rival === "previous") return <BesidePrevious jobId={jobId} seed={seed} row={row} />;
  const { reference, reference_score: score } = sample;
  if (rival === "none") return <LongText text={trimmedStart(sample.response)} limit={LONG} />;
  if (typeof reference !== "string")
    return <Without row={row} why="The policy before PPO answers held-out prompts only." />;
  return (
    <TwoTexts
      a={{ name: "Before PPO", text: reference, score }}
      b={{ name: `Step ${step}`, text: sample.response, score: sample.score }}
    />
  );
}

function BesidePrevious({ jobId, seed, row }: Omit<BesideProps, "rival">) {
  const { sample, step, index } = row;
  const stage = asStage(row.stage) ?? "ppo";
  const query = useQuery(previousQuery({ jobId, seed, stage }, addressOf(stage, step, index), step));
  if (query.data)
    return (
      <TwoTexts
        a={{ name: `Step ${query.data.step}`, text: query.data.response, score: query.data.score }}
        b={{ name: `Step ${step}`, text: sample.response, score: sample.score }}
      />
    );
  const why = query.isError ? "The earlier completion could not be loaded." : "This prompt was not logged before.";
  return <Without row={row} why={query.isPending ? "Looking for an earlier completion…" : why} />;
}

function Without({ row, why }: { row: Row; why: string }) {
  return (
    <>
      <LongText text={trimmedStart(row.sample.response)} limit={LONG} />
      <p className={styles.hint}>{why}</p>
    </>
  );
}

export interface Side {
  readonly name: string;
  readonly text: string;
  readonly score: number | null | undefined;
}

/** Two texts with marks on the words that differ. */
export function TwoTexts({ a, b }: { a: Side; b: Side }) {
  const diff = useMemo(() => diffTexts(trimmedStart(a.text), trimmedStart(b.text)), [a.text, b.text]);
  return (
    <div className={styles.two}>
      {[
        { ...a, parts: diff.a },
        { ...b, parts: diff.b },
      ].map(({ name, text, score, parts }, index) => (
        <div key={index}>
          <p className={styles.who}>
            <b>{name}</b>
            {typeof score === "number" && <span>score {fixed(score)}</span>}
          </p>
          <LongText text={trimmedStart(text)} parts={parts} limit={LONG} />
        </div>
      ))}
      {diff.tooLong && <p className={styles.hint}>The texts are too long and too different to mark the differences.</p>}
    </div>
  );
}
