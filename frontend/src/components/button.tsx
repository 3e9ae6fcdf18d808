import { type ComponentProps, useState } from "react";
import styles from "./button.module.css";

type Look = "plain" | "primary" | "danger" | "quiet";

interface ButtonProps extends ComponentProps<"button"> {
  look?: Look;
  /** Whether its action goes on. It then ignores clicks, and keeps the focus, which a disabled button would lose. */
  busy?: boolean;
}

export const buttonClass = (look: Look = "plain"): string =>
  `${styles.button} ${look === "plain" ? "" : styles[look]}`.trimEnd();

export function Button({ look = "plain", className = "", type = "button", busy = false, ...rest }: ButtonProps) {
  const own = { ...rest, type, className: `${buttonClass(look)} ${className}` };
  return busy ? <button {...own} aria-disabled onClick={(event) => event.preventDefault()} /> : <button {...own} />;
}

interface CopyButtonProps {
  text: string;
  label: string;
  /** Ends the accessible name, where several buttons have the same label. */
  of?: string;
}

/** Copies a text. Browsers offer the clipboard on https and localhost only; elsewhere a selection does it. */
export function CopyButton({ text, label, of }: CopyButtonProps) {
  const [result, setResult] = useState<string | null>(null);
  const copy = async () => {
    // A browser may refuse the clipboard, to a page in the background for example.
    const done = await copyText(text);
    setResult(done ? "Copied" : "Not copied");
    setTimeout(() => setResult(null), 1800);
  };
  return (
    <Button onClick={() => void copy()} aria-live="polite">
      {result ?? label}
      {of && !result && <span className="visually-hidden"> of {of}</span>}
    </Button>
  );
}

/** Copies a text, and returns whether the browser allowed it. */
export const copyText = (text: string): Promise<boolean> => write(text).catch(() => false);

async function write(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way on plain http
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
