import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import type { SubmitEvent } from "react";
import { Button, buttonClass } from "@/components/button";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { membersQuery } from "@/features/settings/api";
import { auditQuery, exportAddress, filterOf, FILTERS, verifyLog } from "@/features/settings/audit-api";
import { AUDIT_HEAD, AuditRowBody } from "@/features/settings/ui/audit-row";
import { useAddress } from "@/lib/address";
import { count } from "@/lib/format";
import styles from "./audit.module.css";

/** The audit log of the project, for admins: who changed or read what. */
export function AuditTab() {
  const [params] = useAddress();
  const filter = filterOf(params);
  const query = useInfiniteQuery(auditQuery(filter));
  const rows = query.data?.pages.flatMap((page) => page.data);
  return (
    <div className={styles.stack}>
      <p className={styles.note}>
        Each change has a row, and so has each read of a model, of a dataset’s rows, of keys and of this log. Rows
        cannot be changed: each one carries a hash of itself and of the row before.
      </p>
      <Verification />
      <Filters key={params.toString()} />
      <p className={styles.line}>
        <a className={buttonClass()} href={exportAddress(filter, "csv")} download="audit.csv">
          Export as CSV
        </a>
        <a className={buttonClass()} href={exportAddress(filter, "jsonl")} download="audit.jsonl">
          Export as JSON Lines
        </a>
        <Button onClick={() => void query.refetch()} busy={query.isFetching}>
          Refresh
        </Button>
      </p>
      {query.isPending && <Skeleton rows={6} height="2.75rem" label="Loading the audit log" />}
      {query.isError && !rows && (
        <ErrorNotice error={query.error} doing="load the audit log" onRetry={() => void query.refetch()} />
      )}
      {rows?.length === 0 && <p className={styles.note}>No row matches these filters.</p>}
      {rows && rows.length > 0 && (
        <Table label="Audit log" head={AUDIT_HEAD} className={styles.table} bodies>
          {rows.map((row) => (
            <AuditRowBody key={row.id} row={row} />
          ))}
        </Table>
      )}
      {query.hasNextPage && (
        <p>
          <Button onClick={() => void query.fetchNextPage()} busy={query.isFetchingNextPage}>
            Show older rows
          </Button>
        </p>
      )}
    </div>
  );
}

/** The check of the chain, and its result. */
function Verification() {
  const verify = useMutation({ mutationFn: verifyLog });
  const found = verify.data;
  return (
    <div className={styles.line}>
      <Button onClick={() => verify.mutate()} busy={verify.isPending}>
        Verify the log
      </Button>
      <p role="status" className={`${styles.state} ${found && !found.valid ? styles.bad : ""}`}>
        {verify.isPending && "Verifying…"}
        {verify.isError && `The log could not be verified: ${verify.error.message}`}
        {found?.valid && `${count(found.rows, "row")} as written. None is missing.`}
        {found?.fault && `The log is not whole. ${found.fault.reason}`}
      </p>
    </div>
  );
}

function Filters() {
  const [params, setParams] = useAddress();
  const members = useQuery(membersQuery);
  const apply = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    setParams((before) => {
      for (const name of FILTERS) {
        const value = given.get(name);
        if (typeof value === "string" && value.trim()) before.set(name, value.trim());
        else before.delete(name);
      }
      return before;
    });
  };
  const kept = (name: string) => params.get(name) ?? "";
  return (
    <form className={styles.filters} onSubmit={apply}>
      <label>
        <span>Actor</span>
        <select name="actor" defaultValue={kept("actor")} key={members.data?.length ?? 0}>
          <option value="">everybody</option>
          {members.data?.map((member) => (
            <option key={member.id} value={member.id}>
              {member.name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Action</span>
        <input name="action" type="text" defaultValue={kept("action")} placeholder="delete_dataset" maxLength={200} />
      </label>
      <label>
        <span>Id of the object</span>
        <input name="object" type="text" defaultValue={kept("object")} placeholder="job_…" maxLength={200} />
      </label>
      <label>
        <span>From</span>
        <input name="since" type="date" defaultValue={kept("since")} />
      </label>
      <label>
        <span>To</span>
        <input name="until" type="date" defaultValue={kept("until")} />
      </label>
      <Button type="submit">Filter</Button>
    </form>
  );
}
