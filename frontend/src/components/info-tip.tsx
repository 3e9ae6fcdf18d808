import { type ReactNode, useId } from "react";
import styles from "./info-tip.module.css";

/** A small button that explains. The browser's own popover brings Escape, focus and closing by a click elsewhere. */
export function InfoTip({ label, children }: { label: string; children: ReactNode }) {
  const id = useId();
  const anchorName = `--tip${id.replaceAll(/[^a-zA-Z0-9]/g, "")}`;
  return (
    <>
      <button type="button" className={styles.button} popoverTarget={id} aria-label={label} style={{ anchorName }}>
        i
      </button>
      <div id={id} popover="auto" className={styles.tip} style={{ positionAnchor: anchorName }}>
        {children}
      </div>
    </>
  );
}
