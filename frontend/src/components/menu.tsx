import type { ReactNode } from "react";
import { buttonClass } from "@/components/button";
import { loadable } from "@/components/loadable";
import { OverlayButton } from "@/components/overlay-button";

const MenuBox = loadable(async () => (await import("@/components/overlay")).MenuBox);

export interface MenuEntry {
  readonly label: string;
  /** Called when the entry is chosen. */
  readonly onSelect?: () => void;
  /** The address that the entry leads to, in place of `onSelect`. */
  readonly to?: string;
  /** Marks an action that cannot be undone. */
  readonly danger?: boolean;
  /** Whether a line separates the entry from the one before it. */
  readonly group?: boolean;
}

interface MenuProps {
  /** Content of the button. */
  button: ReactNode;
  /** Accessible name of the button and of the menu. */
  label: string;
  entries: readonly MenuEntry[];
  className?: string | undefined;
}

/** A button that opens a list of actions. The arrow keys and the first letters choose one; Escape closes the list. */
export function MenuButton({ button, label, entries, className = buttonClass() }: MenuProps) {
  return (
    <OverlayButton button={button} label={label} popup="menu" className={className}>
      {(state) => <MenuBox {...state} label={label} entries={entries} />}
    </OverlayButton>
  );
}
