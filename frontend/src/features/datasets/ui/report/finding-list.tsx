import { Link } from "react-router";
import { Notice } from "@/components/notice";
import { StatusBadge } from "@/components/status";
import { Prose } from "@/components/text";
import { type Go, type Place, rowsOf, writePlace } from "@/features/datasets/model/place";
import { type Found, linesText, tally } from "@/features/datasets/model/report";
import { FixButton } from "@/features/datasets/ui/report/fix-button";
import type { Dataset, DatasetVersion, FindingSample } from "@/lib/api/types";
import { count, percent } from "@/lib/format";
import styles from "./report.module.css";

interface FindingListProps {
  dataset: Dataset;
  version: DatasetVersion;
  found: readonly Found[];
  /** Whether a report has looked at the rows; else only the import has. */
  checked: boolean;
  place: Place;
  go: Go;
}

export function FindingList({ dataset, version, found, checked, place, go }: FindingListProps) {
  if (!found.length) {
    if (!checked) return null;
    return (
      <Notice title="No findings">
        <p>All {count(version.rows ?? 0, "row")} passed every check of this report.</p>
      </Notice>
    );
  }
  // Findings of level info are fixed one by one, after a look at them.
  const fixable = found.filter((one) => one.finding.fix && one.report !== null && one.finding.severity !== "info");
  return (
    <section className={styles.findings} aria-label="Findings">
      <header>
        <h2>{tally(found.map((one) => one.finding))}</h2>
        {fixable.length > 1 && (
          <FixButton {...{ dataset, version, go }} found={fixable} label={`Apply all ${fixable.length} fixes`} />
        )}
      </header>
      <ul>
        {found.map((one) => (
          <FindingItem key={`${one.report}/${one.finding.code}`} {...{ dataset, version, place, go }} found={one} />
        ))}
      </ul>
    </section>
  );
}

interface FindingItemProps {
  dataset: Dataset;
  version: DatasetVersion;
  found: Found;
  place: Place;
  go: Go;
}

/** One thing wrong: how bad, how often, where, what it looks like, and the fix. Findings of the import are fixed together. */
function FindingItem({ dataset, version, found, place, go }: FindingItemProps) {
  const { finding, report } = found;
  const { title, detail, severity, count, share, samples, fix, code } = finding;
  // A sample shows its own line.
  const lines = finding.lines.length > samples.length ? linesText(finding) : "";
  const rowsAt = (row: number | null) => `?${writePlace(rowsOf(place, code, report, row)).toString()}`;
  return (
    <li data-finding={code}>
      <div className={styles.what}>
        <p className={styles.title}>
          <StatusBadge status={severity} />
          <b>
            <Prose text={title} />
          </b>
          {share !== null && (
            <span>
              {count.toLocaleString("en-US")} ({shareText(share)})
            </span>
          )}
        </p>
        <p className={styles.detail}>
          <Prose text={detail} />
        </p>
        {lines && <p className={styles.lines}>{lines}</p>}
        {samples.length > 0 && (
          <ul className={styles.samples}>
            {samples.map((sample, index) => (
              <SampleLine key={index} sample={sample} to={sample.row === null ? null : rowsAt(sample.row)} />
            ))}
          </ul>
        )}
      </div>
      <div className={styles.actions}>
        {fix && report !== null && <FixButton {...{ dataset, version, go }} found={[found]} label={fix.label} />}
        {report !== null && share !== null && count > 0 && <Link to={rowsAt(null)}>Show the rows</Link>}
      </div>
    </li>
  );
}

function SampleLine({ sample, to }: { sample: FindingSample; to: string | null }) {
  const place = `line ${sample.line.toLocaleString("en-US")}`;
  return (
    <li>
      <span>{to ? <Link to={to}>{place}</Link> : place}</span>
      <code>{sample.text}</code>
    </li>
  );
}

const shareText = (share: number): string => (share > 0 && share < 0.001 ? "< 0.1 %" : percent(share, 1));
