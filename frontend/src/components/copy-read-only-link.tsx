import { useLocation } from "react-router";
import { Button, copyText } from "@/components/button";
import { LinkIcon } from "@/components/icons";
import { toast } from "@/components/toast";
import { useReadOnly, withReadOnly } from "@/lib/read-only";

const LABEL = "Copy a read-only link";

/** Copies the address of the page in the read-only view, with the choices that the address holds. */
export function CopyReadOnlyLink() {
  const { pathname, search } = useLocation();
  // The address of the view is the link.
  if (useReadOnly()) return null;
  const copy = async () => {
    const link = window.location.origin + pathname + withReadOnly(search, true);
    if (await copyText(link)) toast("The read-only link is copied. It opens with every API key of the same owner.");
    else toast(`The browser did not copy the link: ${link}`, { tone: "bad" });
  };
  return (
    <Button onClick={() => void copy()} aria-label={LABEL} title={LABEL}>
      <LinkIcon />
    </Button>
  );
}
