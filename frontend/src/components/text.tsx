import { Fragment, type PointerEvent, type ReactNode, useSyncExternalStore } from "react";
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

/** The fields in which a run of a sweep differs from the others. Lines break between two of them. */
export function NameValues({ values }: { values: readonly string[] }) {
  if (!values.length) return null;
  return (
    <small className={styles.values}>
      {values.map((value, index) => (
        <Fragment key={value}>
          {" "}
          <span>
            {value}
            {index < values.length - 1 && ","}
          </span>
        </Fragment>
      ))}
    </small>
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

/** A time in a few words. Its full date shows under the pointer, and is made then: the first one takes a phone 0.1 s. */
export function Time({ at, children }: { at: string; children: ReactNode }) {
  const name = ({ currentTarget }: PointerEvent<HTMLTimeElement>) => {
    currentTarget.title = absolute(at);
  };
  return (
    <time dateTime={at} onPointerEnter={name}>
      {children}
    </time>
  );
}

export function TimeAgo({ time }: { time: string }) {
  const now = useNow();
  return <Time at={time}>{ago(time, now)}</Time>;
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
