import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "react-router";
import { Boundary } from "@/components/boundary";
import styles from "./choice.module.css";

export interface Choice<Id extends string> {
  readonly id: Id;
  readonly label: string;
}

interface TabsProps<Id extends string> {
  tabs: readonly Choice<Id>[];
  value: Id;
  /** The query of the address that shows a tab. */
  addressOf: (id: Id) => URLSearchParams;
  label: string;
  /** Content of the chosen tab. */
  children: ReactNode;
}

/** The parts of a page: a row of links, since each part has an address, and the chosen part. */
export function Tabs<Id extends string>({ tabs, value, addressOf, label, children }: TabsProps<Id>) {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    // In a frame of its own: it needs the layout, which the browser would else compute within the rendering.
    const frame = requestAnimationFrame(() => showChosen(row.current, "[aria-current]"));
    return () => cancelAnimationFrame(frame);
  }, [value]);
  return (
    <>
      <nav ref={row} className={`${styles.tabs} fading`} aria-label={label}>
        {tabs.map(({ id, label: text }) => (
          <Link
            key={id}
            to={{ search: addressOf(id).toString() }}
            replace
            aria-current={id === value ? "page" : undefined}
          >
            {text}
          </Link>
        ))}
      </nav>
      <div className={styles.panel}>
        <Boundary address={value}>{children}</Boundary>
      </div>
    </>
  );
}

/** Scrolls the row, not the page, until the chosen part is in its middle. The row is its offset parent. */
export function showChosen(row: HTMLElement | null, selector: string): void {
  const chosen = row?.querySelector<HTMLElement>(selector);
  if (row && chosen) row.scrollLeft = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
}
