import { Notice } from "@/components/notice";
import type { Dataset, DatasetVersion } from "@/api/types";
import type { Place } from "@/features/datasets/page/place";
import type { Go } from "@/features/datasets/page/use-place";
import { FindingItem } from "@/features/datasets/report/finding-item";
import { FixButton } from "@/features/datasets/report/fix-button";
import { tally, type Found } from "@/features/datasets/report/order";
import styles from "@/features/datasets/report/report.module.css";
import { count } from "@/lib/format";

interface Props {
  dataset: Dataset;
  version: DatasetVersion;
  found: readonly Found[];
  /** Whether a report has looked at the rows; else only the import has. */
  checked: boolean;
  place: Place;
  go: Go;
}

export function FindingList({ dataset, version, found, checked, place, go }: Props) {
  if (!found.length) {
    if (!checked) return null;
    return (
      <Notice title="Nothing wrong was found">
        <p>All {count(version.rows ?? 0, "row")} passed every check of this report.</p>
      </Notice>
    );
  }
  // What is merely worth knowing is mended one by one, by somebody who has looked at it.
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
