import { type ReactNode, type RefObject, Suspense, useId, useRef, useState } from "react";
import { Button } from "@/components/button";
import { loadable } from "@/components/loadable";
import styles from "./overlay.module.css";

const Modal = loadable(async () => (await import("@/components/overlay")).Modal);

interface DialogProps {
  open: boolean;
  title: string;
  onClose: () => void;
  /** Gets the focus when the dialog opens; by default its first control. */
  initialFocus?: RefObject<HTMLElement | null>;
  /** Whether it fills the window. */
  full?: boolean;
  /** Id of the element that a screen reader reads after the title. */
  describedBy?: string;
  children: ReactNode;
}

/** A modal dialog. Its content exists only while it is open. Escape and a click outside close it. */
export function Dialog(props: DialogProps) {
  const [used, setUsed] = useState(props.open);
  if (props.open && !used) setUsed(true);
  if (!used) return null;
  return (
    <Suspense fallback={null}>
      <Modal {...props} />
    </Suspense>
  );
}

interface ConfirmDialogProps extends DialogProps {
  /** Labels of the two buttons. */
  confirm: string;
  keep: string;
  /** `danger` marks an action that cannot be undone. */
  look?: "danger" | "primary";
  /** Whether the input is not complete yet. */
  disabled?: boolean;
  onConfirm: () => void;
}

/** A question with two buttons. The focus starts on the one that changes nothing, unless `initialFocus` names an input. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { confirm, keep, look = "danger", disabled = false, onConfirm, children, ...dialog } = props;
  const safe = useRef<HTMLButtonElement>(null);
  const question = useId();
  return (
    <Dialog initialFocus={safe} {...dialog} describedBy={question}>
      <div id={question} className={styles.question}>
        {children}
      </div>
      <div className={styles.actions}>
        <Button ref={safe} onClick={dialog.onClose}>
          {keep}
        </Button>
        <Button look={look} onClick={onConfirm} disabled={disabled}>
          {confirm}
        </Button>
      </div>
    </Dialog>
  );
}
