import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { LongText } from "@/components/long-text";
import { previousQuery } from "@/features/completions/api/samples";
import { addressOf, type Rival } from "@/features/completions/model/place";
import { type Row, scoreText } from "@/features/completions/model/rows";
import { LONG } from "@/features/completions/ui/completion-card";
import type { Sample } from "@/lib/api/types";
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
  const { reference, reference_score: score, reference_score_missing: missing } = sample;
  if (rival === "none") return <LongText text={trimmedStart(sample.response)} limit={LONG} />;
  if (typeof reference !== "string")
    return <Without row={row} why="The policy before PPO answers held-out prompts only." />;
  return (
    <TwoTexts a={{ name: "Before PPO", text: reference, score: scoreText(score, missing) }} b={sideOf(step, sample)} />
  );
}

function BesidePrevious({ jobId, seed, row }: Omit<BesideProps, "rival">) {
  const { sample, step, index } = row;
  const stage = asStage(row.stage) ?? "ppo";
  const query = useQuery(previousQuery({ jobId, seed, stage }, addressOf(stage, step, index), step));
  if (query.data) return <TwoTexts a={sideOf(query.data.step, query.data)} b={sideOf(step, sample)} />;
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
  /** In words. */
  readonly score: string | null;
}

export const sideOf = (step: number, sample: Sample): Side => ({
  name: `Step ${step}`,
  text: sample.response,
  score: scoreText(sample.score, sample.score_missing),
});

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
            {score !== null && <span>score {score}</span>}
          </p>
          <LongText text={trimmedStart(text)} parts={parts} limit={LONG} />
        </div>
      ))}
      {diff.tooLong && <p className={styles.hint}>The texts are too long and too different to mark the differences.</p>}
    </div>
  );
}
