import { Suspense, useEffect, useEffectEvent, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { tinykeys } from "tinykeys";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { SearchIcon } from "@/components/icons";
import { PLACES } from "@/features/palette/model";
import { paths } from "@/lib/address";
import { hasSingleKeys, setSingleKeys, useSingleKeys } from "@/lib/shortcuts";
import { loadable } from "@/components/loadable";

const Search = loadable(async () => (await import("@/features/palette/ui/search")).Search);
const Keys = loadable(async () => (await import("@/features/palette/ui/keys")).Keys);

/** Keys and the page that they open; null for the list of keys. */
const SINGLE_KEYS: Readonly<Record<string, string | null>> = {
  "?": null,
  // Some keyboards need Shift for the question mark.
  "Shift+?": null,
  ...Object.fromEntries(PLACES.flatMap(({ keys, to }) => (keys ? [[keys, to]] : []))),
};

/** The search of Ctrl-K with its button, the list of keys of "?", and the keys that open pages. */
export function Palette() {
  const [shown, setShown] = useState<"search" | "keys" | null>(null);
  const [text, setText] = useState("");
  const [singleKeys, switchKeys] = useState(hasSingleKeys);
  const keys = useRef<HTMLDivElement>(null);
  const close = () => setShown(null);
  const navigate = useNavigate();
  const go = (to: string) => {
    close();
    // The API reference is not a page of the dashboard's router.
    if (to === paths.docs) window.location.assign(to);
    else void navigate(to);
  };
  const search = () => {
    setText("");
    setShown("search");
  };
  // With its code there, the dialog moves the focus to the list.
  const showKeys = () => void Keys.preload().then(() => setShown("keys"));
  useEarlyText(shown === "search", (typed) => setText((before) => before + typed));
  useSearchKey(search);
  useSingleKeys(SINGLE_KEYS, (to) => (to === null ? showKeys() : go(to)));
  const switchSingleKeys = (on: boolean) => {
    setSingleKeys(on);
    switchKeys(on);
  };
  return (
    <>
      <Button look="quiet" onClick={search} aria-label="Go to (Ctrl K)" title="Go to… (Ctrl K)">
        <SearchIcon />
      </Button>
      <Dialog open={shown === "search"} title="Go to" onClose={close}>
        <Suspense fallback={null}>
          <Search text={text} onText={setText} onGo={go} />
        </Suspense>
      </Dialog>
      <Dialog open={shown === "keys"} title="Keyboard shortcuts" onClose={close} initialFocus={keys}>
        <Suspense fallback={null}>
          <Keys list={keys} singleKeys={singleKeys} onSingleKeys={switchSingleKeys} onClose={close} />
        </Suspense>
      </Dialog>
    </>
  );
}

/** Keeps what is typed before the field is there: its code may still be loading. */
function useEarlyText(isOpen: boolean, onText: (typed: string) => void): void {
  const take = useEffectEvent((event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.length !== 1) return;
    event.preventDefault();
    onText(event.key);
  });
  useEffect(() => {
    if (!isOpen) return;
    const listen = (event: KeyboardEvent) => take(event);
    window.addEventListener("keydown", listen, true);
    return () => window.removeEventListener("keydown", listen, true);
  }, [isOpen]);
}

function useSearchKey(search: () => void): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    event.preventDefault();
    search();
  });
  useEffect(() => tinykeys(window, { "$mod+KeyK": (event) => press(event) }), []);
}
