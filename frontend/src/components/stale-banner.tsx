import { clock } from "@/lib/format";
import styles from "./stale-banner.module.css";

/** What is shown has aged: the server has not answered since. */
export function StaleBanner({ since }: { since: number }) {
  return (
    <p className={styles.banner} role="status">
      The server does not answer. This is how things stood at {clock(new Date(since).toISOString())}; trying again…
    </p>
  );
}
