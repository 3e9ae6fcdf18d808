import { useEffect, useEffectEvent } from "react";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import type { Command, Press } from "@/features/annotation/model/keys";
import styles from "./queue.module.css";

type Keys = readonly (readonly [key: string, meaning: string])[];

const SHARED: Keys = [
  ["s", "skip: leave it to another annotator"],
  ["u", "undo: take the last answer back, as often as you like"],
  ["?", "show these keys"],
];
const PAIR: Keys = [["1", "the first is better"], ["2", "the second is better"], ["0", "a tie"], ...SHARED];
const RANKING: Keys = [
  ["1 … 9", "give this answer the next rank; again to take it away"],
  ["0", "the next one ties with the one before"],
  ["Shift 1 … 9", "the same in one: this one ties"],
  ["Backspace", "take the last rank back"],
  ["Enter", "submit; a single unranked completion gets the last rank"],
  ...SHARED,
];

interface KeysHelpProps {
  open: boolean;
  ranking: boolean;
  onClose: () => void;
}

export function KeysHelp({ open, ranking, onClose }: KeysHelpProps) {
  return (
    <Dialog open={open} title="Keys" onClose={onClose}>
      <dl className={styles.keys}>
        {(ranking ? RANKING : PAIR).map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <Button onClick={onClose}>Close</Button>
    </Dialog>
  );
}

/** Runs what a key means, except where it is typed into a field, belongs to a dialog, or presses the focused button. */
export function useKeys(meaning: (press: Press) => Command | null, run: (command: Command) => void): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isElsewhere(event)) return;
    const command = meaning(event);
    if (!command) return;
    event.preventDefault();
    run(command);
  });
  useEffect(() => {
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

const FIELDS = "input, textarea, select, [contenteditable]";
const PRESSED_BY_ENTER = "button, a, summary";

function isElsewhere(event: KeyboardEvent): boolean {
  if (document.querySelector("[role=dialog]")) return true;
  const target = event.target;
  if (!(target instanceof Element)) return false;
  return target.closest(FIELDS) !== null || (event.key === "Enter" && target.closest(PRESSED_BY_ENTER) !== null);
}
