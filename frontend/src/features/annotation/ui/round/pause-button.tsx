import { Button } from "@/components/button";
import { changeRound } from "@/features/annotation/api";
import { useRoundChange } from "@/features/annotation/ui/round/use-round-change";
import type { Round } from "@/lib/api/types";
import styles from "./round.module.css";

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
