import { Completion } from "@/features/annotation/queue/completion";
import { Conversation } from "@/features/annotation/queue/conversation";
import { KeyButton } from "@/features/annotation/queue/key-button";
import styles from "@/features/annotation/queue/queue.module.css";
import type { JudgeProps } from "@/features/annotation/queue/judge";
import { useKeys } from "@/features/annotation/queue/use-keys";
import { pairCommand } from "@/lib/annotation/keys";
import type { Choice } from "@/lib/annotation/wish";

/** Two answers side by side: which one is better? */
export function Pair({ item, onAnswer, onUndo, onHelp, canUndo }: JudgeProps) {
  const choose = (choice: Choice) => onAnswer({ choice });
  useKeys(pairCommand, (command) => {
    if (command.type === "choose") choose(command.choice);
    if (command.type === "undo") onUndo();
    if (command.type === "help") onHelp();
  });
  const before = item.previous && "choice" in item.previous ? item.previous.choice : null;
  return (
    <>
      <Conversation prompt={item.prompt} />
      <div className={styles.pair}>
        {item.completions.map((text, index) => (
          <Completion key={index} number={index + 1} text={text} marked={before === String(index + 1)} />
        ))}
      </div>
      <div className={styles.bar} role="group" aria-label="Your answer">
        <KeyButton hint="1" onPress={() => choose("1")} className={styles.wide}>
          First is better
        </KeyButton>
        <KeyButton hint="0" onPress={() => choose("tie")}>
          Tie
        </KeyButton>
        <KeyButton hint="2" onPress={() => choose("2")} className={styles.wide}>
          Second is better
        </KeyButton>
        <KeyButton hint="s" look="quiet" onPress={() => choose("skip")}>
          Skip
        </KeyButton>
        <KeyButton hint="u" look="quiet" onPress={onUndo} disabled={!canUndo}>
          Undo
        </KeyButton>
      </div>
    </>
  );
}
