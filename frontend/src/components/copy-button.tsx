import { useState } from "react";
import { Button } from "@/components/button";

/** Copies a text. Browsers offer the clipboard on https and localhost only; elsewhere a selection does it. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void write(text).then((done) => {
      setCopied(done);
      setTimeout(() => setCopied(false), 1800);
    });
  };
  return (
    <Button onClick={copy} aria-live="polite">
      {copied ? "Copied" : label}
    </Button>
  );
}

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
