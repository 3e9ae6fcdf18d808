import { useState } from "react";
import { Card } from "@/components/card";
import { Segmented } from "@/components/segmented";
import { Measure } from "@/components/status";
import { Table } from "@/components/table";
import { summaryItems } from "@/features/datasets/model/report";
import { HistogramCard } from "@/features/datasets/ui/report/histogram-card";
import type { ReportResult } from "@/lib/api/types";
import { count, fixed, number, percent } from "@/lib/format";
import styles from "./report.module.css";

/** How the data is made up, whether or not anything is wrong with it. */
export function Figures({ result }: { result: ReportResult }) {
  const { summary, histograms, languages, length_bias: length, position, agreement, splits } = result;
  const [chosen, setChosen] = useState<string | null>(null);
  const units = [...new Set(histograms.map((one) => one.unit))];
  const unit = units.find((one) => one === chosen) ?? units[0] ?? "";
  const shown = histograms.filter((one) => one.unit === unit);
  return (
    <section aria-label="Figures">
      <dl className={styles.summary}>
        {summaryItems(summary).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{Number.isInteger(value) ? value.toLocaleString("en-US") : number(value)}</dd>
          </div>
        ))}
      </dl>
      {units.length > 1 && (
        <p className={styles.units}>
          <Segmented
            label="Lengths in"
            options={units.map((id) => ({ id, label: `in ${id}` }))}
            value={unit}
            onChange={setChosen}
          />
        </p>
      )}
      <div className={styles.grid}>
        {shown.map((one) => (
          <HistogramCard key={one.name} histogram={one} />
        ))}
        {length && <Length length={length} />}
        {position && <Position position={position} />}
        {agreement && <Agreement agreement={agreement} people={summary.annotators ?? 0} />}
        {languages.length > 0 && <Languages languages={languages} />}
        {splits && (
          <Card className={styles.card} title="Held out by prompt">
            <Measure share={splits.eval / Math.max(1, splits.train + splits.eval)} label="Held out" />
            <p>
              {count(splits.train, "row")} to train on, {count(splits.eval, "row")} held out, by a hash of the prompt.
              None is on both sides
              {splits.near_prompts > 0 && `, but ${count(splits.near_prompts, "held-out one")} nearly`}.
            </p>
          </Card>
        )}
      </div>
    </section>
  );
}

function Length({ length }: { length: NonNullable<ReportResult["length_bias"]> }) {
  const {
    pairs,
    longer_wins: wins,
    low,
    high,
    mean_difference: more,
    unit,
    length_only_accuracy: accuracy,
    rule,
  } = length;
  return (
    <Card className={styles.card} title="Does the longer one win?">
      <Measure share={wins} low={low} high={high} label="The longer answer is preferred" even />
      <p>
        The longer answer is preferred in <b>{percent(wins, 1)}</b> of {count(pairs, "pair")} (95 % interval{" "}
        {percent(low, 1)} to {percent(high, 1)}); preferred answers are {number(Math.abs(more))} {unit}{" "}
        {more < 0 ? "shorter" : "longer"} on average.
      </p>
      <p>
        A rule that uses only lengths agrees with <b>{percent(accuracy, 1)}</b> of them: {rule}.
      </p>
    </Card>
  );
}

function Position({ position }: { position: NonNullable<ReportResult["position"]> }) {
  const { a, b, tie, a_of_decided: share, low, high } = position;
  return (
    <Card className={styles.card} title="Does the side decide?">
      <Measure share={share} low={low} high={high} label="A is preferred where one is" even />
      <p>
        A is preferred in {percent(a, 1)} of the pairs, B in {percent(b, 1)}
        {tie > 0 && `, ${percent(tie, 1)} are ties`}. Where one is preferred it is A in <b>{percent(share, 1)}</b> (95 %
        interval {percent(low, 1)} to {percent(high, 1)}).
      </p>
    </Card>
  );
}

function Agreement({ agreement, people }: { agreement: NonNullable<ReportResult["agreement"]>; people: number }) {
  const { alpha, items, annotators } = agreement;
  return (
    <Card className={styles.card} title="Do the annotators agree?">
      <p>
        {alpha === null
          ? whyNoAlpha(items)
          : `Krippendorff's α ${fixed(alpha)} over ${count(items, "pair")} with two judgements or more. 1 is full agreement, 0 is chance.`}
      </p>
      <Table label="Annotators" look="plain" head={["Annotator", "Rows", "Agrees with the others"]}>
        {annotators.map((one) => (
          <tr key={one.annotator}>
            <th scope="row">{one.annotator}</th>
            <td>{one.rows.toLocaleString("en-US")}</td>
            <td>{percent(one.agreement)}</td>
          </tr>
        ))}
      </Table>
      {people > annotators.length && <p>{count(people - annotators.length, "more annotator")} with fewer rows.</p>}
    </Card>
  );
}

function whyNoAlpha(items: number): string {
  if (items === 0) return "No two annotators judged the same pair.";
  return `All verdicts on ${count(items, "pair")} with two judgements or more are the same: Krippendorff's α is not defined.`;
}

const LANGUAGES = 8;

function Languages({ languages }: { languages: ReportResult["languages"] }) {
  const shown = languages.slice(0, LANGUAGES);
  const others = languages.slice(LANGUAGES);
  const share = others.reduce((sum, one) => sum + one.share, 0);
  return (
    <Card className={styles.card} title="Languages">
      <ul className={styles.bars}>
        {shown.map((one) => (
          <li key={one.language}>
            <span>{languageName(one.language)}</span>
            <i style={{ width: `${Math.max(0.5, one.share * 100)}%` }} />
            <span>{percent(one.share, one.share < 0.1 ? 1 : 0)}</span>
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <p>
          And {count(others.length, "other")}, {percent(share, share < 0.1 ? 1 : 0)} together.
        </p>
      )}
    </Card>
  );
}

const names = new Intl.DisplayNames(["en"], { type: "language" });
const languageName = (code: string): string => (code === "und" ? "unclear" : (names.of(code) ?? code));
