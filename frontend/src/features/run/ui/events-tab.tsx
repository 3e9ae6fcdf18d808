import { type ReactNode, useState } from "react";
import { Button } from "@/components/button";
import { Prose, Time } from "@/components/text";
import { describe, levelOf, programNames } from "@/features/run/model/describe";
import {
  type EventFilter,
  filterEvents,
  readEventFilter,
  typesOf,
  writeEventFilter,
} from "@/features/run/model/event-filter";
import { useAddress } from "@/lib/address";
import type { JobEvent } from "@/lib/api/types";
import { clock, count, day } from "@/lib/format";
import { type LabelOf, useLabels } from "@/lib/labels";
import { type Stage, stageLabel } from "@/lib/states";
import styles from "./events.module.css";

const AT_ONCE = 200;

interface EventsTabProps {
  log: readonly JobEvent[];
  stages: readonly Stage[];
}

/** Events of the job, newest first. Metrics and completions have tabs of their own. */
export function EventsTab({ log, stages }: EventsTabProps) {
  const [params, setParams] = useAddress();
  const filter = readEventFilter(params);
  const labelOf = useLabels();
  const [shown, setShown] = useState(AT_ONCE);
  const found = filterEvents(log, filter, labelOf);
  const change = (part: Partial<EventFilter>) =>
    setParams((before) => writeEventFilter(before, { ...readEventFilter(before), ...part }));
  return (
    <>
      <div className={styles.filters}>
        <input
          type="search"
          placeholder="Search the events"
          aria-label="Search the events"
          value={filter.text}
          onChange={(event) => change({ text: event.target.value })}
        />
        <Select label="Type" value={filter.type} onChange={(type) => change({ type })}>
          {typesOf(log).map((name) => (
            <option key={name} value={name}>
              {name.replaceAll("_", " ")}
            </option>
          ))}
        </Select>
        <Select label="Stage" value={filter.stage} onChange={(stage) => change({ stage })}>
          {stages.map((stage) => (
            <option key={stage} value={stage}>
              {stageLabel(stage)}
            </option>
          ))}
        </Select>
        <label>
          <input
            type="checkbox"
            checked={filter.trouble}
            onChange={(event) => change({ trouble: event.target.checked })}
          />
          warnings and errors only
        </label>
        <span className={styles.count} role="status" aria-live={found.length < log.length ? "polite" : "off"}>
          {found.length < log.length ? `${found.length} of ${count(log.length, "event")}` : count(log.length, "event")}
        </span>
      </div>
      {found.length === 0 && (
        <p className={styles.none}>{log.length ? "No event matches the filters." : "There are no events yet."}</p>
      )}
      <ol className={styles.log}>
        {found.slice(0, shown).map((event) => (
          <Line key={event.seq} event={event} labelOf={labelOf} />
        ))}
      </ol>
      {shown < found.length && <Button onClick={() => setShown(shown + AT_ONCE)}>Show older events</Button>}
    </>
  );
}

interface SelectProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}

function Select({ label, value, onChange, children }: SelectProps) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">all</option>
        {children}
      </select>
    </label>
  );
}

function Line({ event, labelOf }: { event: JobEvent; labelOf: LabelOf }) {
  return (
    <li className={styles[levelOf(event)]}>
      <Time at={event.created_at}>
        {day(event.created_at)} {clock(event.created_at)}
      </Time>
      <span className={styles.type}>{event.type.replaceAll("_", " ")}</span>
      <span className={styles.text} title={programNames(event) || undefined}>
        <Prose text={describe(event, labelOf)} />
      </span>
      <span className={styles.attempt} title={`Event ${event.seq} of attempt ${event.attempt}`}>
        #{event.seq}
      </span>
    </li>
  );
}
