import { type ReactNode, Suspense, useRef, useState } from "react";
import { buttonClass } from "@/components/button";
import { loadable } from "@/components/loadable";

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
  /** Null until the menu is opened for the first time. */
  const [open, setOpen] = useState<boolean | null>(null);
  const anchor = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={anchor}
        type="button"
        className={className}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={open === true}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        {button}
      </button>
      {open !== null && (
        <Suspense fallback={null}>
          <MenuBox button={anchor} label={label} entries={entries} open={open} setOpen={setOpen} />
        </Suspense>
      )}
    </>
  );
}
