import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react";
import { type ReactNode, useEffect, useRef } from "react";
import { Boundary } from "@/components/boundary";
import styles from "./choice.module.css";

export interface Choice<Id extends string> {
  readonly id: Id;
  readonly label: string;
}

interface TabsProps<Id extends string> {
  tabs: readonly Choice<Id>[];
  value: Id;
  onChange: (id: Id) => void;
  label: string;
  /** Content of the chosen tab. */
  children: ReactNode;
}

/** A row of tabs and the panel of the chosen one. The arrow keys change the tab; Tab leads to the content of the panel. */
export function Tabs<Id extends string>({ tabs, value, onChange, label, children }: TabsProps<Id>) {
  const choose = (id: string | null | undefined) => {
    const chosen = tabs.find((tab) => idOf(tab.id) === id);
    if (chosen && chosen.id !== value) onChange(chosen.id);
  };
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // In a frame of its own: it needs the layout, which the browser would else compute within the rendering.
    const frame = requestAnimationFrame(() => showTab(row.current, idOf(value)));
    return () => cancelAnimationFrame(frame);
  }, [value]);
  return (
    <TabProvider selectedId={idOf(value)} setSelectedId={choose}>
      <TabList ref={row} className={`${styles.tabs} fading`} aria-label={label}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={idOf(tab.id)}>
            {tab.label}
          </Tab>
        ))}
      </TabList>
      <TabPanel tabId={idOf(value)} className={styles.panel} focusable={false}>
        <Boundary address={value}>{children}</Boundary>
      </TabPanel>
    </TabProvider>
  );
}

/** Scrolls the row, not the page, until the tab is in its middle. */
function showTab(row: HTMLElement | null, id: string): void {
  const tab = row?.querySelector<HTMLElement>(`#${id}`);
  if (row && tab) row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

const idOf = (id: string): string => `tab-${id}`;
