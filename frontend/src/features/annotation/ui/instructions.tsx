import { Suspense } from "react";
import { loadable } from "@/components/loadable";
import styles from "./instructions.module.css";

const Markdown = loadable(async () => (await import("@/components/markdown")).Markdown);

interface InstructionsProps {
  text: string;
  className: string | undefined;
  /** Whether they are shown at first. */
  open?: boolean;
}

/** The instructions of a round, as Markdown. They can be folded away. */
export function Instructions({ text, className, open = false }: InstructionsProps) {
  return (
    <details className={className} open={open}>
      <summary>Instructions</summary>
      <div className={styles.text}>
        <Suspense fallback={<p>{text}</p>}>
          <Markdown text={text} />
        </Suspense>
      </div>
    </details>
  );
}
