import { type ReactNode, useEffect } from "react";
import styles from "./page-title.module.css";

interface Props {
  title: string;
  children?: ReactNode;
}

/** The page's heading, its name in the browser's tab, and what can be done on it. */
export function PageTitle({ title, children }: Props) {
  useDocumentTitle(title);
  return (
    <div className={styles.row}>
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Proximal`;
  }, [title]);
}
