import { Dialog, DialogHeading, Popover, usePopoverStore } from "@ariakit/react";
import { type ReactNode, type RefObject, useEffect } from "react";
import styles from "./overlay.module.css";

interface ModalProps {
  open: boolean;
  title: string;
  onClose: () => void;
  initialFocus?: RefObject<HTMLElement | null>;
  children: ReactNode;
}

/** The content of a dialog. It is loaded when the first dialog opens. */
export function Modal({ title, children, ...options }: ModalProps) {
  return (
    <Dialog {...options} unmountOnHide className={styles.dialog} backdrop={<div className={styles.backdrop} />}>
      <DialogHeading>{title}</DialogHeading>
      {children}
    </Dialog>
  );
}

interface PopoverBoxProps {
  /** The button beside which the box opens, and which gets the focus when the box closes. */
  button: RefObject<HTMLButtonElement | null>;
  label: string;
  wide: boolean;
  open: boolean;
  setOpen: (open: boolean) => void;
  children: ReactNode;
}

/** The box of a popover. It is loaded when the first popover opens. */
export function PopoverBox({ button, label, wide, open, setOpen, children }: PopoverBoxProps) {
  const store = usePopoverStore({ placement: "bottom-start", open, setOpen });
  useEffect(() => {
    store.setAnchorElement(button.current);
    store.setDisclosureElement(button.current);
  }, [store, button]);
  return (
    <Popover
      store={store}
      portal
      unmountOnHide
      gutter={6}
      overflowPadding={16}
      aria-label={label}
      className={`${styles.popover} ${wide ? styles.wide : ""}`}
    >
      {children}
    </Popover>
  );
}
