import { Notice } from "@/components/notice";
import { type Found, tally } from "@/features/datasets/model/order";
import type { Place } from "@/features/datasets/model/place";
import type { Go } from "@/features/datasets/ui/page/use-place";
import { FindingItem } from "@/features/datasets/ui/report/finding-item";
import { FixButton } from "@/features/datasets/ui/report/fix-button";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./report.module.css";

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
