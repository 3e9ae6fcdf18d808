import { Button } from "@/components/button";
import { TimeAgo } from "@/components/text";
import { outcome, wayBack } from "@/features/job-actions/model/knobs";
import { KNOBS } from "@/lib/api/knobs.gen";
import type { JobCommand, JobKnob } from "@/lib/api/types";
import { number } from "@/lib/format";
import { commandLabel } from "@/lib/labels";
import styles from "./actions.module.css";

interface HistoryProps {
  commands: readonly JobCommand[];
  knobs: readonly JobKnob[];
  busy: boolean;
  onBack: (change: { name: JobKnob["name"]; value: number }) => void;
}

/** The commands so far. A change may be taken back, which is a change of its own. */
export function KnobHistory({ commands, knobs, busy, onBack }: HistoryProps) {
  return (
    <section>
      <h2>Changes and requests so far</h2>
      <ul className={styles.history} tabIndex={0}>
        {commands
          .map((command) => ({ command, back: wayBack(command, knobs) }))
          .map(({ command, back }) => (
            <li key={command.id} data-status={command.status}>
              {commandLabel(command.name)}
              {command.value !== null &&
                `${command.value_before === null ? "" : ` ${number(command.value_before)}`} → ${number(command.value)}`}
              . {outcome(command)}. <TimeAgo time={command.created_at} />{" "}
              {back && (
                <Button
                  onClick={() => onBack(back)}
                  busy={busy}
                  aria-label={`Set the ${KNOBS[back.name].label} back to ${number(back.value)}`}
                >
                  Back to {number(back.value)}
                </Button>
              )}
            </li>
          ))}
      </ul>
    </section>
  );
}
