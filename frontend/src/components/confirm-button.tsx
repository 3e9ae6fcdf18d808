import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { toast } from "@/components/toast";

interface ConfirmButtonProps {
  button: string;
  /** Accessible name of the button, where several have the same text. */
  label?: string;
  /** The question and the labels of its two buttons. */
  title: string;
  confirm: string;
  keep: string;
  action: () => Promise<unknown>;
  /** The message after the action. */
  done?: string;
  /** It names the losses. */
  children: ReactNode;
}

/**
 * A button whose action cannot be undone. It asks before the action, and reports the outcome. If the button goes away with
 * its row, the focus moves to the same button of the next row, or to the heading of the page.
 */
export function ConfirmButton({ button, label, title, confirm, keep, action, done, children }: ConfirmButtonProps) {
  const own = useRef<HTMLButtonElement>(null);
  const hasActed = useRef(false);
  const [asked, setAsked] = useState(false);
  const run = useMutation({
    mutationFn: action,
    onSuccess: () => done && toast(done),
    onError: (error) => toast(error.message, { tone: "bad" }),
  });
  useLayoutEffect(() => {
    const element = own.current;
    return () => {
      if (element && hasActed.current) handOver(element);
    };
  }, []);
  return (
    <>
      <Button ref={own} look="danger" onClick={() => setAsked(true)} busy={run.isPending} aria-label={label} data-asks>
        {button}
      </Button>
      <ConfirmDialog
        open={asked}
        title={title}
        confirm={confirm}
        keep={keep}
        onClose={() => setAsked(false)}
        onConfirm={() => {
          setAsked(false);
          hasActed.current = true;
          run.mutate();
        }}
      >
        {children}
      </ConfirmDialog>
    </>
  );
}

/** Moves the focus from a button that is about to be removed, unless it is elsewhere by then. */
function handOver(button: HTMLElement): void {
  const row = button.closest("tr");
  const rows = row?.parentElement ? [...row.parentElement.children] : [];
  const index = row ? rows.indexOf(row) : 0;
  const near = [...rows.slice(index + 1), ...rows.slice(0, index).reverse()];
  const heading = document.querySelector<HTMLElement>("main h1");
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const other = near.map((one) => one.querySelector<HTMLElement>("[data-asks]")).find((one) => one?.isConnected);
    if (!other && heading) heading.tabIndex = -1;
    (other ?? heading)?.focus();
  });
}
