import { useState } from "react";
import { Button, CopyButton } from "@/components/button";
import { Table } from "@/components/table";
import { Time } from "@/components/text";
import { type AuditChange, type AuditRow, columnsOf, summaryOf } from "@/features/settings/audit-api";
import { absolute, count, NO_VALUE } from "@/lib/format";
import styles from "./audit.module.css";

export const AUDIT_HEAD = ["Time", "Actor", "Action", "Object", "Changed", "Details"];

/** A row of the audit log, which opens to show the values before and after. */
export function AuditRowBody({ row }: { row: AuditRow }) {
  const [open, setOpen] = useState(false);
  return (
    <tbody>
      <tr>
        <th scope="row" className={styles.time}>
          <Time at={row.at}>{absolute(row.at)}</Time>
        </th>
        <td data-label="Actor">{row.actor.name}</td>
        <td data-label="Action">
          <code>{row.action}</code>
        </td>
        <td data-label="Object" className={styles.id}>
          {row.target.id ?? row.target.kind}
        </td>
        <td data-label="Changed" className={row.status === 403 ? styles.bad : ""}>
          {summaryOf(row)}
        </td>
        <td>
          <Button
            look="quiet"
            aria-expanded={open}
            aria-label={`Details of row ${row.number}`}
            onClick={() => setOpen(!open)}
          >
            {open ? "Hide" : "Details"}
          </Button>
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={AUDIT_HEAD.length} className={styles.details}>
            <Details row={row} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Details({ row }: { row: AuditRow }) {
  const facts = [
    ["Row", String(row.number)],
    ["Role", row.actor.role],
    ["Key", row.actor.key_id],
    ["Address", row.actor.address],
    ["Request", row.request_id],
    ["Status", row.status?.toString()],
  ].filter((fact): fact is [string, string] => Boolean(fact[1]));
  return (
    <>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {row.changes.map((change, index) => (
        <Change key={index} change={change} />
      ))}
      <p className={styles.hash}>
        <span>
          Hash <code>{row.hash}</code>
        </span>
        <CopyButton text={row.hash} label="Copy" of="the hash" />
      </p>
    </>
  );
}

function Change({ change }: { change: AuditChange }) {
  if (change.kind === "more") return <p>{count(Number(change.id), "more change")}</p>;
  return (
    <Table
      label={`${change.kind} ${change.id}`}
      look="plain"
      className={styles.change}
      head={[`${change.kind} ${change.id}`, "Before", "After"]}
    >
      {columnsOf(change).map((column) => (
        <tr key={column}>
          <th scope="row">{column}</th>
          <td data-label="Before">{shown(change.before?.[column])}</td>
          <td data-label="After">{shown(change.after?.[column])}</td>
        </tr>
      ))}
    </Table>
  );
}

const shown = (value: unknown): string =>
  value === undefined || value === null ? NO_VALUE : typeof value === "string" ? value : JSON.stringify(value);
