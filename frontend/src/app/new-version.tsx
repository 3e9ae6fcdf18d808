import { useEffect, useState } from "react";
import { Button } from "@/components/button";
import { useLink } from "@/lib/live/use-live";
import { isReplaced } from "@/lib/version";
import styles from "./shell.module.css";

const AWAY_MS = 3_600_000;

/** Offers a reload where the server has a newer build. An upgrade restarts the server, so the connection was lost. */
export function NewVersion() {
  const { state } = useLink();
  const [isNew, setIsNew] = useState(false);
  const [wasLost, setWasLost] = useState(false);
  if (state === "reconnecting" && !wasLost) setWasLost(true);
  useEffect(() => {
    const check = () => void isReplaced().then(setIsNew);
    if (wasLost && state === "live") check();
    let hiddenAt = Infinity;
    const shown = () => {
      if (!document.hidden && Date.now() - hiddenAt > AWAY_MS) check();
      hiddenAt = document.hidden ? Date.now() : Infinity;
    };
    document.addEventListener("visibilitychange", shown);
    return () => document.removeEventListener("visibilitychange", shown);
  }, [wasLost, state]);
  if (!isNew) return null;
  return (
    <p className={styles.version} role="status">
      The server has a newer version of the dashboard.{" "}
      <Button onClick={() => window.location.reload()}>Reload the page</Button>
    </p>
  );
}
