import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { type Column, columnsOf, DataTable } from "@/components/data-table";
import { ConfirmDialog } from "@/components/dialog";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { toast } from "@/components/toast";
import { sessionQuery } from "@/features/auth/api";
import { JobLink } from "@/components/job-link";
import { AddWorker } from "@/features/workers/add-worker";
import { Clusters } from "@/features/workers/clusters";
import { changeWorker, type Worker, type WorkerChange, workersQuery } from "@/features/workers/api";
import { changesOf, hardware, memory, stateText, withChange } from "@/features/workers/model";
import { useParameter } from "@/lib/address";
import styles from "./workers.module.css";

export function WorkersPage() {
  const query = useQuery({ ...workersQuery, refetchInterval: 5000 });
  const session = useQuery(sessionQuery);
  const workers = query.data;
  const isOperator = session.data?.key.operator ?? false;
  return (
    <>
      <PageHeader title="Workers" wide actions={isOperator && <AddWorker />}>
        <p>Processes that run jobs. A worker takes one job at a time.</p>
      </PageHeader>
      {query.isError && workers && <StaleBanner since={query.dataUpdatedAt} />}
      {query.isPending && <Skeleton rows={3} height="2.75rem" label="Loading workers" />}
      {query.isError && !workers && (
        <ErrorNotice error={query.error} doing="load the workers" onRetry={() => void query.refetch()} />
      )}
      {workers?.every((one) => one.offline) && (
        <div className={styles.above}>
          <NoWorker />
        </div>
      )}
      {workers && workers.length > 0 && <WorkerTable workers={workers} isOperator={isOperator} />}
      {workers && <Clusters workers={workers} />}
    </>
  );
}

function NoWorker() {
  return (
    <Notice title="No worker is online" tone="warn">
      <p>
        Submitted jobs wait until a worker starts. On one machine, <code>proximal up</code> starts a worker. Another
        machine joins with <code>proximal worker join</code> and a token, which an operator creates on this page.
      </p>
    </Notice>
  );
}

const of = columnsOf<Worker>();
const COLUMNS = of.columns([
  of.accessor("hostname", {
    header: "Machine",
    cell: ({ row }) => (
      <>
        {row.original.hostname || "Worker"}
        <small className={styles.id}>{row.original.id}</small>
      </>
    ),
    meta: { isRowHead: true },
  }),
  of.accessor(stateText, {
    id: "state",
    header: "State",
    cell: ({ row: { original: worker } }) =>
      worker.job_id ? (
        <>
          {stateText(worker)}: <JobLink id={worker.job_id} />
        </>
      ) : (
        stateText(worker)
      ),
    meta: { label: "State" },
  }),
  of.accessor(hardware, { id: "hardware", header: "Hardware", meta: { label: "Hardware" } }),
  of.accessor(({ memory_bytes: size }) => size || undefined, {
    id: "memory",
    header: "Memory",
    cell: ({ row }) => memory(row.original) ?? "unknown",
    meta: { label: "Memory" },
  }),
  of.accessor(({ labels }) => labels.join(", "), {
    id: "labels",
    header: "Labels",
    cell: ({ getValue }) => getValue() || "none",
    meta: { label: "Labels" },
  }),
  of.accessor("version", {
    header: "Version",
    cell: ({ getValue }) => getValue() || "unknown",
    meta: { label: "Version" },
  }),
  of.accessor("last_seen_at", {
    id: "heartbeat",
    header: "Last heartbeat",
    sortDescFirst: true,
    cell: ({ getValue }) => <TimeAgo time={getValue()} />,
    meta: { label: "Last heartbeat" },
  }),
]);
const OPERATOR_COLUMNS: readonly Column<Worker>[] = [
  ...COLUMNS,
  { id: "change", header: "Change", cell: ({ row }) => <Changes worker={row.original} /> },
];

function WorkerTable({ workers, isOperator }: { workers: readonly Worker[]; isOperator: boolean }) {
  const [sort, setSort] = useParameter("sort");
  return (
    <>
      <DataTable
        label="Workers"
        rows={workers}
        rowId={(worker) => worker.id}
        rowProps={(worker) => ({ "data-worker": worker.id, "data-state": worker.state })}
        columns={isOperator ? OPERATOR_COLUMNS : COLUMNS}
        sort={sort}
        onSort={setSort}
      />
      {!isOperator && (
        <p className={styles.note}>An operator&apos;s key can add, cordon and drain workers. Yours cannot.</p>
      )}
    </>
  );
}

const DONE: Record<WorkerChange, string> = {
  cordon: "takes no new job",
  uncordon: "takes jobs again",
  drain: "gives its job back to the queue, and takes no new one",
};

function Changes({ worker }: { worker: Worker }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);
  const change = useMutation({
    mutationFn: (wanted: WorkerChange) => changeWorker(worker.id, wanted),
    onSuccess: (changed, wanted) => {
      client.setQueryData(workersQuery.queryKey, (before) => withChange(before, changed));
      const undo = wanted === "uncordon" ? {} : { undo: () => change.mutate("uncordon") };
      toast(`${worker.hostname} ${DONE[wanted]}.`, undo);
    },
  });
  const start = (wanted: WorkerChange) => {
    if (wanted === "drain" && worker.busy) setAsked(true);
    else change.mutate(wanted);
  };
  return (
    <div className={styles.changes}>
      {changesOf(worker).map(({ change: wanted, label }, index) => (
        // "Uncordon" takes the place and the focus of "Cordon".
        <Button
          key={index}
          busy={change.isPending}
          onClick={() => start(wanted)}
          aria-label={`${label} ${worker.hostname}`}
        >
          {label}
        </Button>
      ))}
      {change.isError && (
        <small role="alert" className={styles.problem}>
          {change.error.message}
        </small>
      )}
      <ConfirmDialog
        open={asked}
        title={`Drain ${worker.hostname}?`}
        confirm="Drain"
        keep="Keep running"
        look="primary"
        onClose={() => setAsked(false)}
        onConfirm={() => {
          setAsked(false);
          change.mutate("drain");
        }}
      >
        <p>
          The worker saves the job that it runs and gives it back to the queue. Another worker continues it from there.
        </p>
      </ConfirmDialog>
    </div>
  );
}
