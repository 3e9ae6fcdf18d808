import { winRate } from "@/features/annotation/model/figures";
import type { Round, RoundPolicy, RoundSide } from "@/lib/api/types";
import { percent } from "@/lib/format";
import { stageShort } from "@/lib/stages";
import styles from "./round.module.css";

/** Which model people prefer. Folded away while the round runs, as whoever annotates should not know. */
export function Sides({ round, sides }: { round: Round; sides: readonly RoundSide[] }) {
  return (
    <section className={styles.card} aria-label="Which model is preferred">
      <h2>Which model is preferred</h2>
      <details open={round.status === "closed"}>
        <summary>{round.status === "closed" ? "By how much" : "Show it (better not before you have answered)"}</summary>
        <table className={styles.small}>
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">Preferred</th>
              <th scope="col">Won–lost–tied</th>
            </tr>
          </thead>
          <tbody>
            {sides.map((side, index) => (
              <tr key={index}>
                <th scope="row">{nameOf(round.policies?.[side.policy], side)}</th>
                <td>{percent(winRate(side))}</td>
                <td>
                  {side.wins}–{side.losses}–{side.ties}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className={styles.note}>A tie counts one half for each.</p>
      </details>
    </section>
  );
}

function nameOf(policy: RoundPolicy | undefined, side: RoundSide): string {
  if (policy?.stage) return `${stageShort(policy.stage)}${policy.step === null ? "" : `, step ${policy.step}`}`;
  return policy?.model ?? side.checkpoint ?? "a model";
}
