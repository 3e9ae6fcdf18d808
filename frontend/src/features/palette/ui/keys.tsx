import type { RefObject } from "react";
import { Button } from "@/components/button";
import { PLACES, spoken } from "@/features/palette/model";
import { type KeyGroup, listedKeys } from "@/lib/shortcuts";
import styles from "./palette.module.css";

interface KeysProps {
  /** Gets the focus, so that the dialog shows its beginning and the arrow keys scroll it. */
  list: RefObject<HTMLDivElement | null>;
  singleKeys: boolean;
  onSingleKeys: (on: boolean) => void;
  onClose: () => void;
}

/** The list of keys of the page, with the switch that turns single keys off. */
export function Keys({ list, singleKeys, onSingleKeys, onClose }: KeysProps) {
  const places = PLACES.flatMap(({ keys, label }) => (keys ? [[spoken(keys), label] as const] : []));
  const everywhere = [
    ["Ctrl K or ⌘ K", "Go to a page, a job or a dataset"],
    ["?", "Show these shortcuts"],
    ...places,
  ] as const;
  return (
    <>
      <div ref={list} className={styles.list} tabIndex={0} role="group" aria-label="Keys">
        {[...listedKeys(), { heading: "On every page", rows: everywhere }].map((group) => (
          <Group key={group.heading} {...group} />
        ))}
      </div>
      <label className={styles.switch}>
        <input type="checkbox" checked={singleKeys} onChange={(event) => onSingleKeys(event.target.checked)} />
        Use keys without Ctrl. Turn this off if you dictate to the browser.
      </label>
      <Button onClick={onClose}>Close</Button>
    </>
  );
}

function Group({ heading, rows }: KeyGroup) {
  return (
    <section className={styles.group} aria-label={heading}>
      <h3>{heading}</h3>
      <dl className={styles.keys}>
        {rows.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
