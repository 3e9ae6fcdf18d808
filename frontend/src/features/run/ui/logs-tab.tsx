import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Button, buttonClass } from "@/components/button";
import { Segmented } from "@/components/segmented";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Time } from "@/components/text";
import { jobsKey } from "@/features/jobs/api";
import { fetchLog, type LogFilter, type LogPage, MOST_LOG_LINES } from "@/features/run/api-tabs";
import { useAddress } from "@/lib/address";
import type { Job, LogLine } from "@/lib/api/types";
import { bytes, clock, count, day } from "@/lib/format";
import { visible } from "@/lib/visible";
import styles from "./logs.module.css";

const FIRST_LINES = 500;
const POLL_MS = 2000;
const SOURCES = [
  { id: "", label: "All" },
  { id: "trainer", label: "Trainer" },
  { id: "worker", label: "Worker" },
] as const;

/** The console output of the trainer and the lines of the worker, live while the job runs. */
export function LogsTab({ job }: { job: Job }) {
  const [params, setParams] = useAddress();
  const source = SOURCES.find(({ id }) => id === params.get("source"))?.id ?? "";
  const search = params.get("find") ?? "";
  const [tail, setTail] = useState(FIRST_LINES);
  const set = (name: string, value: string) =>
    setParams((before) => {
      if (value) before.set(name, value);
      else before.delete(name);
      return before;
    });
  const query = useLog(job.id, { search, source, tail });
  const download = new URLSearchParams({ format: "text", tail: String(MOST_LOG_LINES), ...(source && { source }) });
  return (
    <>
      <div className={styles.filters}>
        <input
          type="search"
          placeholder="Search the output"
          aria-label="Search the output"
          maxLength={200}
          value={search}
          onChange={(event) => set("find", event.target.value)}
        />
        <Segmented label="Source" options={SOURCES} value={source} onChange={(id) => set("source", id)} />
        {query.data && query.data.lines.length >= tail && tail < MOST_LOG_LINES && (
          <Button onClick={() => setTail(MOST_LOG_LINES)}>Load earlier lines</Button>
        )}
        <span className={styles.count} role="status" aria-live={search ? "polite" : "off"}>
          {query.data && count(query.data.lines.length, "line")}
        </span>
        <a className={buttonClass()} href={`/v1/jobs/${job.id}/logs?${download}`} download={`${job.id}.log`}>
          Download
        </a>
      </div>
      {query.isPending && <Skeleton rows={8} height="1.1rem" label="Loading the output" />}
      {query.isLoadingError && (
        <ErrorNotice error={query.error} doing="load the output" onRetry={() => void query.refetch()} />
      )}
      {query.data && <Output page={query.data} searched={search !== ""} />}
    </>
  );
}

function useLog(id: string, filter: LogFilter) {
  const client = useQueryClient();
  const queryKey = [...jobsKey, id, "logs", filter];
  return useQuery({
    queryKey,
    queryFn: () => fetchLog(id, filter, client.getQueryData<LogPage>(queryKey)),
    refetchInterval: ({ state }) => (state.data?.complete ? false : POLL_MS),
    staleTime: 0,
  });
}

/** The lines, scrolled to the newest one while the reader is there. */
function Output({ page, searched }: { page: LogPage; searched: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const last = page.lines.at(-1)?.number;
  useEffect(() => {
    if (following) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [last, following]);
  const scrolled = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
    setFollowing(scrollHeight - scrollTop - clientHeight < 24);
  };
  if (!page.lines.length) {
    const nothing = page.complete ? "The job wrote no output." : "There is no output yet.";
    return <p className={styles.none}>{searched ? "No line matches the search." : nothing}</p>;
  }
  return (
    <div className={styles.frame}>
      <div
        ref={box}
        className={styles.output}
        onScroll={scrolled}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Console output"
      >
        {page.lines.map((line, index) => (
          <Line key={line.number} line={line} before={page.lines[index - 1]} />
        ))}
      </div>
      {!following && (
        <div className={styles.jump}>
          <Button onClick={() => setFollowing(true)}>Follow the newest line</Button>
        </div>
      )}
    </div>
  );
}

function Line({ line, before }: { line: LogLine; before: LogLine | undefined }) {
  const isNew = before?.attempt !== line.attempt || day(before.at) !== day(line.at);
  return (
    <>
      {isNew && (
        <p className={styles.heading}>
          Attempt {line.attempt}, {day(line.at)}
        </p>
      )}
      {line.dropped_bytes > 0 && <p className={styles.heading}>{bytes(line.dropped_bytes)} of output are not stored</p>}
      <p className={`${styles.row} ${line.source === "worker" ? styles.worker : ""}`}>
        <Time at={line.at}>{clock(line.at)}</Time>
        <span>{line.source === "worker" ? "worker" : line.rank ? `rank ${line.rank}` : ""}</span>
        <code>{visible(line.text)}</code>
      </p>
    </>
  );
}
