import { changeRound } from "@/api/annotation";
import type { Round } from "@/api/types";
import { Button } from "@/components/button";
import styles from "@/features/annotation/round/round.module.css";
import { useRoundChange } from "@/features/annotation/round/use-round-change";

/** While a round is paused, nobody is handed a new item; answers on their way are taken. */
export function PauseButton({ round }: { round: Round }) {
  const change = useRoundChange(round.id, (status: "open" | "paused") => changeRound(round.id, { status }));
  const paused = round.status === "paused";
  return (
    <>
      {change.error && (
        <span className={styles.error} role="alert">
          {change.error.message}
        </span>
      )}
      <Button onClick={() => change.mutate(paused ? "open" : "paused")} disabled={change.isPending}>
        {paused ? "Open again" : "Pause"}
      </Button>
    </>
  );
}
