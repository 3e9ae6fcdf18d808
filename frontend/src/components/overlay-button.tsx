import { type ReactNode, type RefObject, Suspense, useRef, useState } from "react";

/** The state of a box beside a button. */
interface OverlayState {
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
}

interface OverlayButtonProps {
  /** Content of the button. */
  button: ReactNode;
  /** Accessible name of the button, where its content is none. */
  label: string | undefined;
  popup: "menu" | "dialog";
  className: string;
  /** Whether the box is open at first. */
  isOpen?: boolean | undefined;
  /** Called when the box opens or closes. */
  onOpen?: ((open: boolean) => void) | undefined;
  /** The box. It is called once the button was pressed, so that its code is loaded then. */
  children: (state: OverlayState) => ReactNode;
}

/** A button that opens a box beside it. The down arrow opens a menu, too. */
export function OverlayButton({ button, label, popup, className, isOpen, onOpen, children }: OverlayButtonProps) {
  /** Null until the box is opened for the first time. */
  const [open, setOpen] = useState<boolean | null>(isOpen ? true : null);
  const change = (next: boolean) => {
    setOpen(next);
    onOpen?.(next);
  };
  const anchor = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button
        ref={anchor}
        type="button"
        className={className}
        aria-label={label}
        aria-haspopup={popup}
        aria-expanded={open === true}
        onClick={() => change(!open)}
        onKeyDown={(event) => {
          if (popup !== "menu" || event.key !== "ArrowDown") return;
          event.preventDefault();
          change(true);
        }}
      >
        {button}
      </button>
      {open !== null && <Suspense fallback={null}>{children({ button: anchor, open, setOpen: change })}</Suspense>}
    </>
  );
}
