import { type ReactNode, Suspense, useRef, useState } from "react";
import { buttonClass } from "@/components/button";
import { loadable } from "@/components/loadable";
import styles from "./overlay.module.css";

const PopoverBox = loadable(async () => (await import("@/components/overlay")).PopoverBox);

interface PopoverProps {
  /** Content of the button that opens the popover. */
  button: ReactNode;
  /** Accessible name of the popover. */
  label: string;
  buttonLabel?: string;
  className?: string | undefined;
  /** For lists and longer texts. */
  wide?: boolean;
  children: ReactNode;
}

/** A button that opens a box beside it. Escape and a click elsewhere close the box. */
export function Popover({
  button,
  label,
  buttonLabel,
  className = buttonClass(),
  wide = false,
  children,
}: PopoverProps) {
  /** Null until the box is opened for the first time. */
  const [open, setOpen] = useState<boolean | null>(null);
  const anchor = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={anchor}
        type="button"
        className={className}
        aria-label={buttonLabel}
        aria-haspopup="dialog"
        aria-expanded={open === true}
        onClick={() => setOpen(!open)}
      >
        {button}
      </button>
      {open !== null && (
        <Suspense fallback={null}>
          <PopoverBox button={anchor} label={label} wide={wide} open={open} setOpen={setOpen}>
            {children}
          </PopoverBox>
        </Suspense>
      )}
    </>
  );
}

/** A small round button that explains the thing beside it. */
export function InfoTip({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Popover button="i" label={label} buttonLabel={label} className={styles.info}>
      {children}
    </Popover>
  );
}
