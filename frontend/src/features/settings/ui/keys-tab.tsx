import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { type CreatedKey, keysQuery } from "@/features/settings/api";
import { KeyRow } from "@/features/settings/ui/key-row";
import { MadeKey, NewKey } from "@/features/settings/ui/new-key";
import { Sessions } from "@/features/settings/ui/sessions";
import styles from "./settings.module.css";

/** The caller's API keys and browsers: make, replace and revoke keys, and sign browsers out. */
export function KeysTab() {
  const [made, setMade] = useState<CreatedKey | null>(null);
  const query = useQuery(keysQuery);
  if (query.isPending) return <Skeleton rows={3} height="2.75rem" label="Loading keys" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="load the keys" onRetry={() => void query.refetch()} />;
  }
  return (
    <div className={styles.stack}>
      <p className={styles.note}>
        A key allows what the role of its member allows, or less if it has scopes. Give each machine or script a key of
        its own, so that you can revoke one without the others.
      </p>
      <NewKey onMade={setMade} />
      {made && <MadeKey item={made} onCopied={() => setMade(null)} />}
      <Table label="API keys" head={["Name", "Begins with", "Created", "Last used", "State"]}>
        {query.data.map((key) => (
          <KeyRow key={key.id} item={key} keys={query.data} now={query.dataUpdatedAt} onMade={setMade} />
        ))}
      </Table>
      <Sessions />
    </div>
  );
}
