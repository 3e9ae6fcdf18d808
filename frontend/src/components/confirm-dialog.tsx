import { useEffect, useRef, type ReactNode } from "react";
import { Button } from "@/components/button";
import styles from "./confirm-dialog.module.css";

interface Props {
  open: boolean;
  title: string;
  confirm: string;
  keep: string;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

export function ConfirmDialog({ open, title, confirm, keep, onConfirm, onClose, children }: Props) {
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
        <Button look="danger" onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </dialog>
  );
}
