import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react";
import type { ReactNode } from "react";
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

/** A row of tabs and the panel of the chosen one. The arrow keys change the tab. */
export function Tabs<Id extends string>({ tabs, value, onChange, label, children }: TabsProps<Id>) {
  const choose = (id: string | null | undefined) => {
    const chosen = tabs.find((tab) => idOf(tab.id) === id);
    if (chosen && chosen.id !== value) onChange(chosen.id);
  };
  return (
    <TabProvider selectedId={idOf(value)} setSelectedId={choose}>
      <TabList className={styles.tabs} aria-label={label}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={idOf(tab.id)}>
            {tab.label}
          </Tab>
        ))}
      </TabList>
      <TabPanel tabId={idOf(value)} className={styles.panel}>
        {children}
      </TabPanel>
    </TabProvider>
  );
}

const idOf = (id: string): string => `tab-${id}`;
