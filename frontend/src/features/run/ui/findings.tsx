import { Suspense } from "react";
import { loadable } from "@/components/loadable";
import { Popover } from "@/components/popover";
import { Announce, Skeleton } from "@/components/status";
import { announcement, type Finding, findings, type Remark, remarks } from "@/features/run/model/findings";
import type { JobEvent, JobSummary } from "@/lib/api/types";
import { useParameter } from "@/lib/address";
import { count } from "@/lib/format";
import { visible } from "@/lib/visible";
import styles from "./findings.module.css";

const FindingList = loadable(async () => (await import("@/features/run/ui/finding-list")).FindingList);

interface FindingsProps {
  job: JobSummary;
  log: readonly JobEvent[];
  /** Whether the log is complete; before, no health is known. */
  loaded: boolean;
}

/** The run's health in one line. It opens the findings of the health rules and the run's warnings. */
export function Findings({ job, log, loaded }: FindingsProps) {
  const found = findings(log);
  const messages = remarks(log);
  return (
    <>
      <Announce text={announcement(found, messages)} />
      <Health job={job} found={found} messages={messages} loaded={loaded} />
    </>
  );
}

interface HealthProps {
  job: JobSummary;
  found: readonly Finding[];
  messages: readonly Remark[];
  loaded: boolean;
}

function Health({ job, found, messages, loaded }: HealthProps) {
  const [wanted, setWanted] = useParameter("health");
  if (!found.length && !messages.length) return <p className={styles.none}>{loaded && "No health findings"}</p>;
  const worst = found.some(({ action }) => action !== "warn") || messages.some(({ level }) => level === "error");
  const newest = found[0];
  return (
    <Popover
      wide
      className={`${styles.line} ${worst ? styles.isError : ""}`}
      label="Health of the run"
      isOpen={wanted === "open"}
      onOpen={(open) => !open && wanted !== null && setWanted(null)}
      button={
        <>
          <b>{title(found.length, messages.length)}</b>
          <span>
            {newest
              ? `${newest.title} at step ${newest.step}${newest.seed === null ? "" : ` of seed ${newest.seed}`}`
              : visible(messages[0]?.text ?? "")}
          </span>
        </>
      }
    >
      <Suspense fallback={<Skeleton />}>
        <FindingList job={job} found={found} messages={messages} />
      </Suspense>
    </Popover>
  );
}

function title(rules: number, warnings: number): string {
  const parts = [rules ? count(rules, "health finding") : "", warnings ? count(warnings, "warning") : ""];
  return parts.filter(Boolean).join(", ");
}
