import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Button, CopyButton } from "@/components/button";
import { Combobox } from "@/components/combobox";
import { ErrorNotice } from "@/components/notice";
import { jobQuery, jobsQuery } from "@/features/jobs/api";
import { specSchemaQuery } from "@/features/run/api-tabs";
import { submitCommand } from "@/features/run/model/spec";
import { defaultsOf, pruned, type SpecNode, specTree } from "@/features/run/model/spec-tree";
import { useAddress } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { count } from "@/lib/format";
import { jobOptions } from "@/lib/names";
import styles from "./spec.module.css";

const DEFAULTS = "defaults";

/** The spec with all defaults as a tree, compared with the defaults or with another run. */
export function SpecTab({ job }: { job: Job }) {
  const [params, setParams] = useAddress();
  const against = params.get("against") ?? DEFAULTS;
  const text = params.get("find") ?? "";
  const differingOnly = params.get("differing") === "1";
  const { other, error } = useOther(against);
  /** Whether all groups are open or closed; null after the first choice of one. */
  const [all, setAll] = useState<boolean | null>(null);
  const tree = useMemo(() => specTree(job.spec, other), [job.spec, other]);
  const shown = pruned(tree, { text, differingOnly });
  const set = (name: string, value: string) =>
    setParams((before) => {
      if (value) before.set(name, value);
      else before.delete(name);
      return before;
    });
  return (
    <>
      <div className={styles.filters}>
        <input
          type="search"
          placeholder="Search names and values"
          aria-label="Search the spec"
          value={text}
          onChange={(event) => set("find", event.target.value)}
        />
        <span className={styles.against}>
          Compare with
          <Other value={against} present={job.id} onChange={(id) => set("against", id === DEFAULTS ? "" : id)} />
        </span>
        <label>
          <input
            type="checkbox"
            checked={differingOnly}
            onChange={(event) => set("differing", event.target.checked ? "1" : "")}
          />
          differences only
        </label>
        <span className={styles.buttons}>
          <Button onClick={() => setAll(true)}>Open all</Button>
          <Button onClick={() => setAll(false)}>Close all</Button>
          <CopyButton text={JSON.stringify(job.spec, null, 2)} label="Copy JSON" />
          <CopyButton text={submitCommand(window.location.origin, job.spec)} label="Copy as curl" />
        </span>
      </div>
      {error && <ErrorNotice error={error} doing="load the other side of the comparison" />}
      {shown.length === 0 && <p className={styles.none}>No field matches.</p>}
      <div className={styles.tree}>
        {shown.map((node) => (
          <Node
            key={`${node.path} ${all}`}
            node={node}
            open={all ?? (text !== "" || differingOnly)}
            inputs={job.inputs}
            otherName={against === DEFAULTS ? "default" : "other run"}
          />
        ))}
      </div>
    </>
  );
}

/** The other side of the comparison; undefined until it is loaded. */
function useOther(against: string): { other: object | undefined; error: Error | null } {
  const isDefaults = against === DEFAULTS;
  const schema = useQuery({ ...specSchemaQuery, enabled: isDefaults });
  const job = useQuery({ ...jobQuery(against), enabled: !isDefaults });
  const other = useMemo(
    () => (isDefaults ? schema.data && defaultsOf(schema.data) : job.data?.spec),
    [isDefaults, schema.data, job.data?.spec],
  );
  return { other, error: isDefaults ? schema.error : job.error };
}

interface OtherProps {
  value: string;
  /** The job of the page. */
  present: string;
  onChange: (value: string) => void;
}

function Other({ value, present, onChange }: OtherProps) {
  const jobs = useInfiniteQuery(jobsQuery);
  const found = jobs.data?.pages.flatMap((page) => page.data).filter(({ id }) => id !== present) ?? [];
  const options = jobOptions(found);
  return (
    <Combobox
      label="Compare with"
      placeholder="A job by name or id"
      options={[{ value: DEFAULTS, label: "the defaults" }, ...options]}
      onMore={jobs.hasNextPage ? () => void jobs.fetchNextPage() : null}
      value={value}
      onChange={(chosen) => onChange(chosen || DEFAULTS)}
    />
  );
}

const inputText = ({ name, kind }: Job["inputs"][number]): string => name ?? `a ${kind} that was deleted`;

interface NodeProps {
  node: SpecNode;
  open: boolean;
  /** Names of the datasets and checkpoints in the fields. */
  inputs: Job["inputs"];
  /** Names the other side of the comparison. */
  otherName: string;
}

function Node({ node, open, inputs, otherName }: NodeProps) {
  const { name, text, other, differing, fields, children } = node;
  const input = inputs.find(({ field }) => field === node.path);
  if (text !== null) {
    return (
      <p className={`${styles.field} ${differing ? styles.differs : ""}`}>
        <span className={styles.name}>{name}</span> {input && <span>{inputText(input)}</span>}
        {input && " "}
        {input ? (
          <small>
            <code>{text}</code>
          </small>
        ) : (
          <code>{text}</code>
        )}{" "}
        {other !== null && (
          <small>
            {otherName} <code>{other}</code>
          </small>
        )}
      </p>
    );
  }
  return (
    <details className={styles.group} open={open}>
      <summary>
        <span className={styles.name}>{name}</span>{" "}
        <small>
          {count(fields, "field")}
          {differing > 0 && <b>, {differing} different</b>}
        </small>
      </summary>
      {children.map((child) => (
        <Node key={child.path} node={child} open={open || fields <= 12} inputs={inputs} otherName={otherName} />
      ))}
    </details>
  );
}
