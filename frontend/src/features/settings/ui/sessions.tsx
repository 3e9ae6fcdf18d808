import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ConfirmButton } from "@/components/confirm-button";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { Time, TimeAgo } from "@/components/text";
import { type BrowserSession, endSession, sessionsQuery } from "@/features/settings/api";
import { browserName } from "@/features/settings/model";
import { absolute } from "@/lib/format";
import { visible } from "@/lib/visible";
import styles from "./settings.module.css";

/** The browsers that are signed in with the caller's keys. */
export function Sessions() {
  const query = useQuery(sessionsQuery);
  if (query.isPending) return <Skeleton rows={1} height="2.75rem" label="Loading browsers" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="load the browsers" onRetry={() => void query.refetch()} />;
  }
  return (
    <section className={styles.stack}>
      <h2>Signed-in browsers</h2>
      {query.data.length === 0 ? (
        <p className={styles.note}>No browser is signed in with your keys.</p>
      ) : (
        <Table label="Signed-in browsers" head={["Browser", "Key", "Signed in", "Ends", "State"]}>
          {query.data.map((one) => (
            <SessionRow key={one.id} item={one} />
          ))}
        </Table>
      )}
    </section>
  );
}

function SessionRow({ item }: { item: BrowserSession }) {
  const client = useQueryClient();
  const name = browserName(item.user_agent);
  return (
    <tr>
      <th scope="row" title={item.user_agent ? visible(item.user_agent) : undefined}>
        {name}
        {item.address && <small className={styles.maker}>from {visible(item.address)}</small>}
      </th>
      <td data-label="Key">{item.key.name}</td>
      <td data-label="Signed in">
        <TimeAgo time={item.created_at} />
      </td>
      <td data-label="Ends">
        <Time at={item.expires_at}>{absolute(item.expires_at)}</Time>
      </td>
      <td data-label="State">
        {item.current ? (
          "This browser"
        ) : (
          <ConfirmButton
            button="Sign out"
            label={`Sign out ${name}`}
            title={`Sign out ${name}?`}
            confirm="Sign out"
            keep="Stay signed in"
            action={async () => {
              await endSession(item.id);
              await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
            }}
            done="The browser is signed out."
          >
            <p>It can sign in again with the key {item.key.name}. Revoke the key if a stranger has it.</p>
          </ConfirmButton>
        )}
      </td>
    </tr>
  );
}
