import { Notice } from "@/components/notice";
import { Prose } from "@/components/text";
import { ApiError } from "@/lib/api/client";
import type { ProblemItem } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./datasets.module.css";

interface Props {
  error: Error;
  /** The action that failed. */
  title: string;
}

/** A problem document, with its errors line by line. */
export function ProblemLines({ error, title }: Props) {
  const body = error instanceof ApiError ? error.body : {};
  return <Problems title={title} message={error.message} items={body.errors ?? []} total={body.error_count ?? null} />;
}

interface ProblemsProps {
  title: string;
  message: string;
  items: readonly Partial<ProblemItem>[];
  /** How many there are, where not all are listed. */
  total: number | null;
}

export function Problems({ title, message, items, total }: ProblemsProps) {
  const all = total ?? items.length;
  return (
    <Notice tone="bad" title={all > 1 ? `${title}: ${count(all, "problem")}` : title}>
      {items.every((item) => !item.line) ? (
        <p>
          <Prose text={message} />
        </p>
      ) : (
        <ol className={styles.problems}>
          {items.map((item, index) => (
            <li key={index}>
              <span>{place(item)}</span>
              <span>
                {item.pointer && <code>{item.pointer}</code>} <Prose text={item.detail ?? ""} />
              </span>
            </li>
          ))}
        </ol>
      )}
      {all > items.length && items.length > 0 && <p>The first {items.length} are shown.</p>}
    </Notice>
  );
}

function place({ line, column }: Partial<ProblemItem>): string {
  if (!line) return "file";
  return column ? `line ${line}, column ${column}` : `line ${line}`;
}
