import type { MouseEvent, ReactNode } from "react";
import { Button } from "@/components/button";
import styles from "./queue.module.css";

interface Props {
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
export function KeyButton({ hint, keyName, onPress, disabled, pressed, look = "plain", className, children }: Props) {
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
