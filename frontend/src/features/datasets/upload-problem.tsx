import { ApiError } from "@/api/problem";
import type { ProblemItem } from "@/api/types";
import { Notice } from "@/components/notice";
import styles from "@/features/datasets/upload.module.css";
import { count } from "@/lib/format";

/** What is wrong with an upload, line by line. */
export function UploadProblem({ error }: { error: Error }) {
  const body = error instanceof ApiError ? error.body : {};
  const items = body.errors ?? [];
  const total = body.error_count ?? items.length;
  if (!items.length) {
    return (
      <Notice tone="bad" title="Not uploaded">
        <p>{error.message}</p>
      </Notice>
    );
  }
  return (
    <Notice tone="bad" title={`Nothing was stored: ${count(total, "problem")} in the file`}>
      <ol className={styles.problems}>
        {items.map((item, index) => (
          <li key={index}>
            <span>{place(item)}</span>
            <span>
              {item.pointer && <code>{item.pointer}</code>} {item.detail}
            </span>
          </li>
        ))}
      </ol>
      {total > items.length && <p>The first {items.length} are shown. Mend the file and upload it again.</p>}
    </Notice>
  );
}

function place(item: ProblemItem): string {
  if (!item.line) return "file";
  return item.column ? `line ${item.line}, column ${item.column}` : `line ${item.line}`;
}
