import {
  Dialog,
  DialogHeading,
  Menu,
  MenuItem,
  MenuSeparator,
  Popover,
  useMenuStore,
  usePopoverStore,
  useStoreState,
} from "@ariakit/react";
import { type ReactNode, type RefObject, useEffect } from "react";
import { Link } from "react-router";
import type { MenuEntry } from "@/components/menu";
import styles from "./overlay.module.css";

interface ModalProps {
  open: boolean;
  title: string;
  onClose: () => void;
  initialFocus?: RefObject<HTMLElement | null>;
  /** Whether it fills the window. */
  full?: boolean;
  describedBy?: string;
  children: ReactNode;
}

/** The content of a dialog. It is loaded when the first dialog opens. */
export function Modal({ title, full = false, describedBy, children, ...options }: ModalProps) {
  return (
    <Dialog
      {...options}
      aria-describedby={describedBy}
      unmountOnHide
      className={full ? `${styles.dialog} ${styles.full}` : styles.dialog}
      backdrop={<div className={styles.backdrop} />}
    >
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

interface MenuBoxProps {
  button: RefObject<HTMLButtonElement | null>;
  label: string;
  entries: readonly MenuEntry[];
  open: boolean;
  setOpen: (open: boolean) => void;
}

/** The list of a menu. It is loaded when the first menu opens. */
export function MenuBox({ button, label, entries, open, setOpen }: MenuBoxProps) {
  const store = useMenuStore({ placement: "bottom-end", open, setOpen });
  const first = useStoreState(store, ({ items }) => items[0]?.id);
  // The library's own button would move the focus into the menu.
  useEffect(() => {
    if (open && first) store.move(first);
  }, [store, open, first]);
  useEffect(() => {
    store.setAnchorElement(button.current);
    store.setDisclosureElement(button.current);
  }, [store, button]);
  return (
    <Menu
      store={store}
      portal
      unmountOnHide
      gutter={4}
      overflowPadding={8}
      aria-label={label}
      className={styles.options}
      // A click in a row of a table would otherwise open the page of the row.
      onClick={(event) => event.stopPropagation()}
    >
      {entries.map((entry, index) => (
        <Entry key={entry.label} entry={entry} first={index === 0} button={button} />
      ))}
    </Menu>
  );
}

interface EntryProps {
  entry: MenuEntry;
  first: boolean;
  button: MenuBoxProps["button"];
}

function Entry({ entry, first, button }: EntryProps) {
  const select = () => {
    // A dialog that the action opens returns the focus to what has it now, and the entry is about to go.
    button.current?.focus();
    entry.onSelect?.();
  };
  const className = `${styles.option} ${entry.danger ? styles.danger : ""}`;
  return (
    <>
      {entry.group && !first && <MenuSeparator className={styles.separator} />}
      {entry.to === undefined ? (
        <MenuItem className={className} onClick={select}>
          {entry.label}
        </MenuItem>
      ) : (
        <MenuItem className={className} render={<Link to={entry.to} />}>
          {entry.label}
        </MenuItem>
      )}
    </>
  );
}
