import { pairCommand } from "@/features/annotation/model/keys";
import type { Choice } from "@/features/annotation/model/wish";
import { Completion } from "@/features/annotation/ui/queue/completion";
import { Conversation } from "@/features/annotation/ui/queue/conversation";
import type { JudgeProps } from "@/features/annotation/ui/queue/judge";
import { KeyButton } from "@/features/annotation/ui/queue/key-button";
import { useKeys } from "@/features/annotation/ui/queue/use-keys";
import styles from "./queue.module.css";

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
