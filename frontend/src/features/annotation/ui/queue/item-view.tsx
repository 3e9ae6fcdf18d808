import type { MouseEvent, ReactNode } from "react";
import { Button } from "@/components/button";
import { type Prompt, turnsOf } from "@/features/annotation/model/item";
import styles from "./queue.module.css";

interface CompletionProps {
  number: number;
  text: string;
  /** Instead of the number, which it then shows itself. */
  children?: ReactNode;
  marked?: boolean;
}

/** One answer, without the name of its model. */
export function Completion({ number, text, children, marked = false }: CompletionProps) {
  return (
    <section className={`${styles.completion} ${marked ? styles.marked : ""}`} aria-label={`Answer ${number}`}>
      <header>
        {children ?? (
          <span className={styles.number} aria-hidden>
            {number}
          </span>
        )}
      </header>
      {text.trim() ? <p className={styles.text}>{text}</p> : <p className={styles.nothing}>(an empty answer)</p>}
    </section>
  );
}

/** The prompt as a conversation. A long one scrolls by itself, so that the answers stay in sight. */
export function Conversation({ prompt }: { prompt: Prompt }) {
  return (
    <section className={styles.conversation} aria-label="Prompt" tabIndex={0}>
      {turnsOf(prompt).map(({ role, text }, index) => (
        <div key={index} className={styles.turn} data-role={role ?? "prompt"}>
          <b>{role ?? "prompt"}</b>
          <p className={styles.text}>{text}</p>
        </div>
      ))}
    </section>
  );
}

interface KeyButtonProps {
  /** The key that does the same, as it is printed; null where none does. */
  hint: string | null;
  /** Its name, where that is another. */
  keyName?: string;
  onPress: () => void;
  disabled?: boolean;
  pressed?: boolean;
  look?: "plain" | "primary" | "quiet";
  className?: string | undefined;
  children: ReactNode;
}

/** A button that shows its key. After a click it lets go of the focus, so that Enter does not press it again. */
export function KeyButton({
  hint,
  keyName,
  onPress,
  disabled,
  pressed,
  look = "plain",
  className,
  children,
}: KeyButtonProps) {
  const click = (event: MouseEvent<HTMLButtonElement>) => {
    if (event.detail > 0) event.currentTarget.blur();
    onPress();
  };
  return (
    <Button
      look={look}
      className={`${styles.keyButton} ${className ?? ""}`}
      onClick={click}
      disabled={disabled}
      aria-pressed={pressed}
      aria-keyshortcuts={keyName ?? hint ?? undefined}
    >
      {hint && <kbd aria-hidden>{hint}</kbd>}
      <span>{children}</span>
    </Button>
  );
}
