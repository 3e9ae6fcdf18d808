import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "@/components/button";
import styles from "./confirm-dialog.module.css";

interface Props {
  open: boolean;
  title: string;
  confirm: string;
  keep: string;
  /** What confirming is: by default something that cannot be taken back. */
  look?: "danger" | "primary";
  /** Nothing to confirm yet. */
  disabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

export function ConfirmDialog(props: Props) {
  const { open, title, confirm, keep, look = "danger", disabled = false, onConfirm, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} className={styles.dialog} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
      <div className={styles.actions}>
        <Button onClick={onClose} autoFocus>
          {keep}
        </Button>
        <Button look={look} onClick={onConfirm} disabled={disabled}>
          {confirm}
        </Button>
      </div>
    </dialog>
  );
}
