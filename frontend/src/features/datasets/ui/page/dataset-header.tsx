import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Link } from "react-router";
import { Button, buttonClass, CopyButton } from "@/components/button";
import { PenIcon } from "@/components/icons";
import { Facts, PageHeader } from "@/components/page-header";
import { StatusBadge } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { datasetQuery, datasetsKey, renameDataset } from "@/features/datasets/api/datasets";
import { kindLabel } from "@/features/datasets/model/kinds";
import type { Go } from "@/features/datasets/model/place";
import { ArchiveButton, DeleteButton, ExportLinks } from "@/features/datasets/ui/page/dataset-actions";
import { paths } from "@/lib/address";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { bytes, count } from "@/lib/format";
import { visible } from "@/lib/visible";
import styles from "@/features/datasets/ui/datasets.module.css";

interface DatasetHeaderProps {
  dataset: Dataset;
  version: DatasetVersion | null;
  versions: readonly DatasetVersion[];
  go: Go;
}

export function DatasetHeader({ dataset, version, versions, go }: DatasetHeaderProps) {
  const canAnnotate = dataset.kind === "preferences" || dataset.kind === "prompts";
  const isStored = version !== null && version.rows !== null;
  return (
    <PageHeader
      title={dataset.name}
      wide
      parent={{ to: paths.datasets, label: "Datasets" }}
      heading={<Name dataset={dataset} />}
      actions={
        <>
          {isStored && (
            <Link className={buttonClass()} to={paths.newJob({ dataset: `${dataset.id}@${version.number}` })}>
              Train on this dataset
            </Link>
          )}
          {isStored && canAnnotate && (
            <Link className={buttonClass()} to={paths.newRound({ dataset: `${dataset.id}@${version.number}` })}>
              Annotate
            </Link>
          )}
          {isStored && <ExportLinks datasetId={dataset.id} version={version.number} />}
          <CopyButton text={dataset.id} label="Copy id" />
          <ArchiveButton dataset={dataset} />
          <DeleteButton dataset={dataset} versions={versions} />
        </>
      }
    >
      <Facts>
        <span>{kindLabel(dataset.kind)}</span>
        {versions.length > 1 ? (
          <label className={styles.version}>
            <span className="visually-hidden">Version</span>
            <select
              value={version?.number ?? ""}
              onChange={(event) => go({ version: asVersion(Number(event.target.value), dataset) }, true)}
            >
              {!version && <option value="">no such version</option>}
              {versions.map((one) => (
                <option key={one.id} value={one.number}>
                  version {one.number}
                  {one.number === dataset.version && ", the newest"}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <span>version {dataset.version}</span>
        )}
        {version && <StatusBadge status={version.damage === null ? version.status : "damaged"} />}
        {dataset.archived_at && <StatusBadge status="archived" />}
        {version?.rows != null && <span>{count(version.rows, "row")}</span>}
        {version?.bytes != null && <span>{bytes(version.bytes)}</span>}
        <span>
          added <TimeAgo time={version?.created_at ?? dataset.created_at} />
        </span>
        <code>{dataset.id}</code>
      </Facts>
    </PageHeader>
  );
}

/** The newest needs no number in the address: the page then follows the dataset. */
const asVersion = (number: number, dataset: Dataset): number | null => (number === dataset.version ? null : number);

/** The name, which can be changed: it is for people, jobs go by the id. */
function Name({ dataset }: { dataset: Dataset }) {
  const [draft, setDraft] = useState<string | null>(null);
  const [wasEdited, setEdited] = useState(false);
  const client = useQueryClient();
  const rename = useMutation({
    mutationFn: (name: string) => renameDataset(dataset.id, name),
    onSuccess: (renamed) => {
      client.setQueryData(datasetQuery(dataset.id).queryKey, renamed);
      void client.invalidateQueries({ queryKey: [...datasetsKey, "list"] });
      setDraft(null);
    },
  });
  const edit = () => {
    setDraft(dataset.name);
    // The focus comes back to where it was.
    setEdited(true);
  };
  if (draft === null) {
    return (
      <>
        <h1>{visible(dataset.name)}</h1>
        <Button look="quiet" aria-label="Rename" title="Rename" onClick={edit} autoFocus={wasEdited}>
          <PenIcon />
        </Button>
      </>
    );
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const name = draft.trim();
    if (name === dataset.name) setDraft(null);
    else if (name) rename.mutate(name);
  };
  return (
    <form className={styles.rename} onSubmit={submit}>
      <h1 className="visually-hidden">{dataset.name}</h1>
      <input
        type="text"
        aria-label="Name"
        value={draft}
        maxLength={200}
        autoFocus
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && setDraft(null)}
      />
      <Button type="submit" disabled={!draft.trim() || rename.isPending}>
        Rename
      </Button>
      {rename.error && (
        <span className={styles.error} role="alert">
          {rename.error.message}
        </span>
      )}
    </form>
  );
}
