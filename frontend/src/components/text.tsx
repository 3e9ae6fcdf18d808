import { useSyncExternalStore } from "react";
import { CopyButton } from "@/components/button";
import { absolute, ago } from "@/lib/format";
import { visible } from "@/lib/visible";
import styles from "./text.module.css";

const QUOTED = /`([^`\n]+)`/;

/**
 * A sentence in which `code` stands between backticks. A backtick without its partner stays as it is. The sentence may hold
 * a text from outside, such as a line of a program.
 */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {visible(text)
        .split(QUOTED)
        .map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <figure className={styles.block}>
      <figcaption>
        {label}
        <CopyButton text={code} label="Copy" />
      </figcaption>
      <pre tabIndex={0}>{code}</pre>
    </figure>
  );
}

export function TimeAgo({ time }: { time: string }) {
  const now = useNow();
  return (
    <time dateTime={time} title={absolute(time)}>
      {ago(time, now)}
    </time>
  );
}

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    listeners.forEach((each) => each());
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The present, a second at a time, from one clock for the whole page. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);
