import { Suspense, useEffect, useEffectEvent, useState } from "react";
import { useNavigate } from "react-router";
import { tinykeys } from "tinykeys";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { SearchIcon } from "@/components/icons";
import { isTaken, PLACES, spoken } from "@/features/palette/model";
import { paths } from "@/lib/address";
import { readText, writeText } from "@/lib/stored";
import styles from "./palette.module.css";
import { loadable } from "@/components/loadable";

const Search = loadable(async () => (await import("@/features/palette/ui/search")).Search);

const SINGLE_KEYS = "proximal-single-keys";

/** The search of Ctrl-K with its button, the list of keys of "?", and the keys that open pages. */
export function Palette() {
  const [shown, setShown] = useState<"search" | "keys" | null>(null);
  const [text, setText] = useState("");
  const [singleKeys, setSingleKeys] = useState(() => readText(SINGLE_KEYS) !== "off");
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
  useEarlyText(shown === "search", (typed) => setText((before) => before + typed));
  useKeys(singleKeys, { search, help: () => setShown("keys"), go });
  const switchSingleKeys = (on: boolean) => {
    writeText(SINGLE_KEYS, on ? "on" : "off");
    setSingleKeys(on);
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
      <Dialog open={shown === "keys"} title="Keyboard shortcuts" onClose={close}>
        <Keys singleKeys={singleKeys} onSingleKeys={switchSingleKeys} onClose={close} />
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

interface Actions {
  search: () => void;
  help: () => void;
  go: (to: string) => void;
}

function useKeys(singleKeys: boolean, actions: Actions): void {
  const search = useEffectEvent((event: KeyboardEvent) => {
    event.preventDefault();
    actions.search();
  });
  const single = useEffectEvent((event: KeyboardEvent, run: (actions: Actions) => void) => {
    if (!singleKeys || event.defaultPrevented || isTaken(event.target, window.location.pathname)) return;
    event.preventDefault();
    run(actions);
  });
  useEffect(() => {
    const places = PLACES.flatMap(({ keys, to }) =>
      keys ? [[keys, (event: KeyboardEvent) => single(event, ({ go }) => go(to))] as const] : [],
    );
    return tinykeys(window, {
      "$mod+KeyK": (event) => search(event),
      // Some keyboards need Shift for the question mark.
      "?": (event) => single(event, ({ help }) => help()),
      "Shift+?": (event) => single(event, ({ help }) => help()),
      ...Object.fromEntries(places),
    });
  }, []);
}

interface KeysProps {
  singleKeys: boolean;
  onSingleKeys: (on: boolean) => void;
  onClose: () => void;
}

function Keys({ singleKeys, onSingleKeys, onClose }: KeysProps) {
  const places = PLACES.flatMap(({ keys, label }) => (keys ? [[spoken(keys), label] as const] : []));
  const rows = [
    ["Ctrl K or ⌘ K", "Go to a page, a job or a dataset"],
    ["?", "Show these shortcuts"],
    ...places,
  ] as const;
  return (
    <>
      <dl className={styles.keys}>
        {rows.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className={styles.switch}>
        <input type="checkbox" checked={singleKeys} onChange={(event) => onSingleKeys(event.target.checked)} />
        Use keys without Ctrl. Turn this off if you dictate to the browser.
      </label>
      <Button onClick={onClose}>Close</Button>
    </>
  );
}
