import type { ReactNode } from "react";
import { Notice } from "@/components/notice";
import { hasJudge, sidesOf } from "@/features/run/model/spec";
import { Comparison } from "@/features/run/ui/results/comparison";
import { WinRate } from "@/features/run/ui/results/win-rate";
import type { Job } from "@/lib/api/types";
import styles from "./results.module.css";

interface Props {
  job: Job;
  summary: Readonly<Record<string, number>>;
  waiting: boolean;
  /** The completions behind the figures. */
  children: ReactNode;
}

/** What the run learnt: the trained policy against the one before it, on prompts held out from both. */
export function ResultsTab({ job, summary, waiting, children }: Props) {
  const sides = sidesOf(job.spec);
  if (summary.win_rate === undefined) {
    return (
      <Notice title={waiting ? "Not evaluated yet" : "Not evaluated"}>
        <p>
          {waiting
            ? "At the end, the trained policy and the one before it answer the same held-out prompts. The result appears here."
            : "The job ended before its evaluation."}
        </p>
      </Notice>
    );
  }
  return (
    <>
      <div className={styles.results}>
        <WinRate summary={summary} sides={sides} judged={hasJudge(job.spec)} />
        <Comparison summary={summary} sides={sides} />
      </div>
      <h2 className={styles.prompts}>The same prompts, before and after</h2>
      {children}
    </>
  );
}
