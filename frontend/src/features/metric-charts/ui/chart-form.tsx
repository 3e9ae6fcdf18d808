import { type SyntheticEvent, useId, useState } from "react";
import { dashedNumber, lineSample } from "@/charts/palette";
import { Button } from "@/components/button";
import { PickList } from "@/components/pick-list";
import { axesText, metricFilter, usualTitle } from "@/features/metric-charts/model/choose-metrics";
import { LONGEST_TITLE, type Metric, MOST_METRICS, type OwnChart } from "@/features/metric-charts/model/own-charts";
import { count } from "@/lib/format";
import styles from "./chart-form.module.css";

interface ChartFormProps {
  /** The chart to change; null for a new one. */
  chart: OwnChart | null;
  /** The metrics to choose from. */
  metrics: readonly Metric[];
  /** Titles of the other charts. */
  taken: readonly string[];
  onSave: (chart: OwnChart) => void;
  onClose: () => void;
}

/** Metrics, title and scale of a chart that a user makes. */
export function ChartForm({ chart, metrics, taken, onSave, onClose }: ChartFormProps) {
  const [names, setNames] = useState<readonly string[]>(chart?.metrics ?? []);
  const [title, setTitle] = useState(chart?.title ?? "");
  const [log, setLog] = useState(chart?.log ?? false);
  const hint = useId();
  const known = new Map(metrics.map((metric) => [metric.name, metric]));
  const chosen = names.map((name) => known.get(name) ?? { name, label: name, unit: "" });
  const called = title.trim() || usualTitle(chosen);
  const isTaken = taken.includes(called);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (names.length && !isTaken) onSave({ title: called, metrics: names, log });
  };
  const axes = axesText(chosen);
  return (
    <form className={styles.form} onSubmit={submit}>
      <Metrics metrics={metrics} names={names} onNames={setNames} />
      {chosen.length > 0 && (
        <ul className={styles.chosen} aria-label="Lines of the chart">
          {chosen.map(({ name, label }, index) => (
            <li key={name}>
              <i style={{ background: lineSample(dashedNumber(index)) }} />
              <span>{label}</span>
              <button
                type="button"
                aria-label={`Remove ${label}`}
                onClick={() => setNames(names.filter((one) => one !== name))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {axes && <p className={styles.note}>{axes}</p>}
      <label className={styles.field}>
        <span>Title</span>
        <input
          type="text"
          maxLength={LONGEST_TITLE}
          placeholder={usualTitle(chosen)}
          value={title}
          aria-invalid={isTaken}
          aria-describedby={hint}
          onChange={(event) => setTitle(event.target.value)}
        />
        <small id={hint} role={isTaken ? "alert" : undefined} className={isTaken ? styles.problem : ""}>
          {isTaken
            ? "Another chart of this stage has this title. Choose another one."
            : "Without a title, the chart has the names of its metrics."}
        </small>
      </label>
      <label className={styles.check}>
        <input type="checkbox" checked={log} onChange={(event) => setLog(event.target.checked)} />
        Logarithmic vertical axis
      </label>
      <div className={styles.buttons}>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" disabled={!names.length}>
          {chart ? "Save" : "Add the chart"}
        </Button>
      </div>
    </form>
  );
}

interface MetricsProps {
  metrics: readonly Metric[];
  names: readonly string[];
  onNames: (names: readonly string[]) => void;
}

function Metrics({ metrics, names, onNames }: MetricsProps) {
  const [text, setText] = useState("");
  const found = metrics.filter(metricFilter(text));
  const more = found.filter(({ name }) => !names.includes(name)).slice(0, MOST_METRICS - names.length);
  return (
    <div>
      <PickList
        label="Metrics"
        placeholder="Name or regular expression"
        text={text}
        onText={setText}
        options={found.map(({ name, label, unit }) => ({
          value: name,
          label,
          hint: unit ? `${name} · ${unit}` : name,
        }))}
        chosen={names}
        onChosen={onNames}
        most={MOST_METRICS}
        none="No metric of this stage matches."
      />
      <p className={styles.found}>
        <span role="status">
          {names.length} of at most {MOST_METRICS} chosen
        </span>
        {text.trim() !== "" && more.length > 1 && (
          <Button onClick={() => onNames([...names, ...more.map(({ name }) => name)])}>
            Add {more.length < found.length - names.length ? "the first " : ""}
            {count(more.length, "match", "matches")}
          </Button>
        )}
      </p>
    </div>
  );
}
