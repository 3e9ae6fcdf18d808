import type { Connection } from "@/features/run/model/feed";
import styles from "./run-header.module.css";

const TEXTS: Record<Connection, { label: string; title: string }> = {
  connecting: { label: "connecting", title: "Opening the event stream" },
  live: { label: "live", title: "Events arrive as they happen" },
  reconnecting: {
    label: "reconnecting",
    title: "The server does not answer. The page goes on from the last event it saw; nothing is lost.",
  },
  ended: { label: "ended", title: "The run has ended and every event is here" },
};

export function ConnectionState({ connection }: { connection: Connection }) {
  const { label, title } = TEXTS[connection];
  return (
    <span
      className={`${styles.connection} ${styles[connection]}`}
      role="status"
      title={title}
      data-connection={connection}
    >
      {label}
    </span>
  );
}
