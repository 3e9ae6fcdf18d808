import { useState } from "react";
import { Button } from "@/components/button";
import styles from "@/features/run/completions/completions.module.css";
import { LongText } from "@/features/run/completions/long-text";
import { winner } from "@/features/run/completions/winner";
import { fixed } from "@/lib/format";
import type { SampleRow } from "@/lib/run/event";

const AT_ONCE = 10;

/** The evaluation: for each prompt the SFT policy's answer and the trained policy's, and which was judged better. */
export function SideBySide({ rows }: { rows: readonly SampleRow[] }) {
  const [shown, setShown] = useState(AT_ONCE);
  return (
    <>
      <p className={styles.tally}>{tally(rows)}</p>
      <ul className={styles.pairs}>
        {rows.slice(0, shown).map((row, index) => (
          <Pair key={index} row={row} />
        ))}
      </ul>
      {shown < rows.length && (
        <Button onClick={() => setShown(shown + AT_ONCE)}>
          Show {Math.min(AT_ONCE, rows.length - shown)} more of {rows.length}
        </Button>
      )}
    </>
  );
}

function tally(rows: readonly SampleRow[]): string {
  const won = rows.map(winner);
  const count = (side: ReturnType<typeof winner>) => won.filter((one) => one === side).length;
  return `Of ${rows.length} prompts: PPO better on ${count("ppo")}, SFT better on ${count("sft")}, even on ${count("tie")}.`;
}

function Pair({ row }: { row: SampleRow }) {
  const better = winner(row);
  return (
    <li className={styles.pair}>
      <p className={styles.asked}>
        <LongText text={row.prompt} />
      </p>
      <Answer
        name="SFT"
        better={better === "sft"}
        text={row.reference ?? ""}
        score={row.reference_score}
        judge={row.reference_judge}
      />
      <Answer
        name="PPO"
        better={better === "ppo"}
        text={row.response}
        score={row.score}
        judge={row.judge}
        kl={row.kl}
      />
    </li>
  );
}

interface AnswerProps {
  name: string;
  better: boolean;
  text: string;
  score: number | null;
  judge: number | null;
  kl?: number | null;
}

function Answer({ name, better, text, score, judge, kl = null }: AnswerProps) {
  return (
    <div className={`${styles.answer} ${better ? styles.better : ""}`}>
      <p className={styles.who}>
        <b>{name}</b>
        {better && <span className={styles.mark}>better</span>}
        <span className={styles.scores}>
          {judge !== null && <span>judge {fixed(judge)}</span>}
          {score !== null && <span>score {fixed(score)}</span>}
          {kl !== null && <span>KL {fixed(kl)}</span>}
        </span>
      </p>
      <LongText text={text} />
    </div>
  );
}
