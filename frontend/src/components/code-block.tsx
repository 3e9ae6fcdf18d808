import { CopyButton } from "@/components/copy-button";
import styles from "./code-block.module.css";

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
