import type { ReactNode } from "react";
import { buttonClass } from "@/components/button";
import { loadable } from "@/components/loadable";
import { OverlayButton } from "@/components/overlay-button";
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
  /** Whether the box is open at first. */
  isOpen?: boolean;
  /** Called when the box opens or closes. */
  onOpen?: (open: boolean) => void;
  /** The content, which may close the box. */
  children: ReactNode | ((close: () => void) => ReactNode);
}

/** A button that opens a box beside it. Escape and a click elsewhere close the box. */
export function Popover({
  button,
  label,
  buttonLabel,
  className = buttonClass(),
  wide = false,
  isOpen,
  onOpen,
  children,
}: PopoverProps) {
  return (
    <OverlayButton
      button={button}
      label={buttonLabel}
      popup="dialog"
      className={className}
      isOpen={isOpen}
      onOpen={onOpen}
    >
      {(state) => (
        <PopoverBox {...state} label={label} wide={wide}>
          {typeof children === "function" ? children(() => state.setOpen(false)) : children}
        </PopoverBox>
      )}
    </OverlayButton>
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
