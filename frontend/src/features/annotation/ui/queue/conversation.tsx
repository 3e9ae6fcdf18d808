import { turnsOf } from "@/features/annotation/model/turns";
import type { Prompt } from "@/features/annotation/model/wish";
import styles from "./queue.module.css";

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
