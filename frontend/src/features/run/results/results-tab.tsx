import type { ReactNode } from "react";
import { Notice } from "@/components/notice";
import { Comparison } from "@/features/run/results/comparison";
import styles from "@/features/run/results/results.module.css";
import { WinRate } from "@/features/run/results/win-rate";

interface Props {
  summary: Readonly<Record<string, number>>;
  waiting: boolean;
  /** The completions behind the figures. */
  children: ReactNode;
}

/** What the run learnt: the trained policy against the SFT policy on prompts held out from both. */
export function ResultsTab({ summary, waiting, children }: Props) {
  if (summary.win_rate === undefined) {
    return (
      <Notice title={waiting ? "Not evaluated yet" : "Not evaluated"}>
        <p>
          {waiting
            ? "After PPO, the trained policy and the SFT policy answer the same held-out prompts. The result appears here."
            : "The job ended before its evaluation."}
        </p>
      </Notice>
    );
  }
  return (
    <>
      <div className={styles.results}>
        <WinRate summary={summary} />
        <Comparison summary={summary} />
      </div>
      <h2 className={styles.prompts}>The same prompts, before and after</h2>
      {children}
    </>
  );
}
