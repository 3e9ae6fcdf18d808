import { Popover as Primitive, PopoverDisclosure, PopoverProvider } from "@ariakit/react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/button";
import styles from "./overlay.module.css";

interface PopoverProps {
  /** Content of the button that opens the popover. */
  button: ReactNode;
  /** Accessible name of the popover. */
  label: string;
  buttonLabel?: string;
  className?: string | undefined;
  children: ReactNode;
}

/** A button that opens a box beside it. Escape and a click elsewhere close the box. */
export function Popover({ button, label, buttonLabel, className = buttonClass(), children }: PopoverProps) {
  return (
    <PopoverProvider placement="bottom-start">
      <PopoverDisclosure className={className} aria-label={buttonLabel}>
        {button}
      </PopoverDisclosure>
      <Primitive portal unmountOnHide gutter={6} overflowPadding={16} aria-label={label} className={styles.popover}>
        {children}
      </Primitive>
    </PopoverProvider>
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
