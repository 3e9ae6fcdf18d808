import { type ReactNode, useEffect } from "react";
import { Link } from "react-router";
import { visible } from "@/lib/visible";
import styles from "./page-header.module.css";

export interface PageLink {
  readonly to: string;
  readonly label: string;
}

interface PageHeaderProps {
  title: string;
  /** Name of the browser tab, where it differs from the title. */
  documentTitle?: string;
  /** The page above this one. */
  parent?: PageLink;
  /** Stands at the right end of the line above the title. */
  aside?: ReactNode;
  /** Takes the place of the plain heading. */
  heading?: ReactNode;
  badge?: ReactNode;
  actions?: ReactNode;
  /** Whether the page is as wide as the screen: its table gains from the room. */
  wide?: boolean;
  /** Lines below the title. */
  children?: ReactNode;
}

/** Heading of a page with its place, its state and its actions. It names the browser's tab too. */
export function PageHeader({ title, documentTitle = title, ...props }: PageHeaderProps) {
  const { parent, aside, heading, badge, actions, wide, children } = props;
  useDocumentTitle(documentTitle);
  return (
    <header className={styles.header} data-wide={wide || undefined}>
      {parent && (
        <div className={styles.above}>
          <nav aria-label="Breadcrumb">
            <Link to={parent.to}>{parent.label}</Link>
          </nav>
          {aside}
        </div>
      )}
      <div className={styles.title}>
        <div className={styles.name}>
          {heading ?? <h1>{visible(title)}</h1>}
          {badge}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </header>
  );
}

/** Short facts in a line that wraps. */
export function Facts({ as: Element = "p", children }: { as?: "p" | "dl"; children: ReactNode }) {
  return <Element className={styles.facts}>{children}</Element>;
}

interface FactProps {
  name: string;
  /** Left out on a phone. */
  minor?: boolean;
  children: ReactNode;
}

/** One named fact of a `dl`. */
export function Fact({ name, minor = false, children }: FactProps) {
  return (
    <div className={minor ? styles.minor : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${visible(title)} · Proximal`;
  }, [title]);
}
