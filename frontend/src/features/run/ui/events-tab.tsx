import { useState } from "react";
import { Button } from "@/components/button";
import { Prose } from "@/components/text";
import { describe, levelOf } from "@/features/run/model/describe";
import { LOG_TYPES } from "@/features/run/model/event";
import type { JobEvent } from "@/lib/api/types";
import { absolute, clock } from "@/lib/format";
import styles from "./events.module.css";

const AT_ONCE = 200;

/** Events of the job, newest first. Metrics and completions have tabs of their own. */
export function EventsTab({ log }: { log: readonly JobEvent[] }) {
  const [type, setType] = useState("");
  const [troubleOnly, setTroubleOnly] = useState(false);
  const [shown, setShown] = useState(AT_ONCE);
  const wanted = log.filter((event) => (!type || event.type === type) && (!troubleOnly || levelOf(event) !== "info"));
  const newest = wanted.toReversed();
  return (
    <>
      <div className={styles.filters}>
        <label>
          Type{" "}
          <select value={type} onChange={(event) => setType(event.target.value)}>
            <option value="">all</option>
            {LOG_TYPES.map((name) => (
              <option key={name} value={name}>
                {name.replaceAll("_", " ")}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={troubleOnly} onChange={(event) => setTroubleOnly(event.target.checked)} />
          warnings and errors only
        </label>
      </div>
      {newest.length === 0 && (
        <p className={styles.none}>{log.length ? "No event matches the filters." : "There are no events yet."}</p>
      )}
      <ol className={styles.log}>
        {newest.slice(0, shown).map((event) => (
          <Line key={event.seq} event={event} />
        ))}
      </ol>
      {shown < newest.length && <Button onClick={() => setShown(shown + AT_ONCE)}>Show older events</Button>}
    </>
  );
}

function Line({ event }: { event: JobEvent }) {
  return (
    <li className={styles[levelOf(event)]}>
      <time dateTime={event.created_at} title={absolute(event.created_at)}>
        {clock(event.created_at)}
      </time>
      <span className={styles.type}>{event.type.replaceAll("_", " ")}</span>
      <span className={styles.text}>
        <Prose text={describe(event)} />
      </span>
      <span className={styles.attempt} title={`Event ${event.seq} of attempt ${event.attempt}`}>
        #{event.seq}
      </span>
    </li>
  );
}
