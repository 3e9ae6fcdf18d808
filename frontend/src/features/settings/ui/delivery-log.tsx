import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { Time, TimeAgo } from "@/components/text";
import { toast } from "@/components/toast";
import { deliveriesQuery, type Delivery, replayDelivery, type Webhook } from "@/features/settings/webhooks-api";
import { absolute } from "@/lib/format";
import styles from "./settings.module.css";

/** The deliveries of a webhook, newest first, with the last try of each. */
export function DeliveryLog({ item, isAdmin }: { item: Webhook; isAdmin: boolean }) {
  const [status, setStatus] = useState<Delivery["status"] | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(item.id, status));
  const found = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <div className={styles.log}>
      <label className={styles.filter}>
        <span>Show</span>
        <select
          value={status ?? ""}
          onChange={(event) => setStatus((event.target.value || null) as Delivery["status"] | null)}
        >
          <option value="">all deliveries</option>
          <option value="pending">pending</option>
          <option value="delivered">delivered</option>
          <option value="failed">failed</option>
        </select>
      </label>
      {query.isPending && <Skeleton rows={2} height="2.75rem" label="Loading deliveries" />}
      {query.isError && (
        <ErrorNotice error={query.error} doing="load the deliveries" onRetry={() => void query.refetch()} />
      )}
      {query.isSuccess && found.length === 0 && <p className={styles.note}>There is no such delivery.</p>}
      {found.length > 0 && (
        <Table label="Deliveries" head={["Event", "Status", "Last try", "When", isAdmin ? "Action" : "Id"]}>
          {found.map((delivery) => (
            <Row key={delivery.id} item={delivery} isAdmin={isAdmin} />
          ))}
        </Table>
      )}
      {query.hasNextPage && (
        <div>
          <Button onClick={() => void query.fetchNextPage()}>Show more</Button>
        </div>
      )}
    </div>
  );
}

function Row({ item, isAdmin }: { item: Delivery; isAdmin: boolean }) {
  const client = useQueryClient();
  const replay = useMutation({
    mutationFn: () => replayDelivery(item.webhook_id, item.id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["webhook-deliveries", item.webhook_id] }),
    onError: (error) => toast(error.message, { tone: "bad" }),
  });
  const action = item.status === "pending" ? "Send now" : "Send again";
  return (
    <tr data-delivery={item.id}>
      <th scope="row">
        {item.event_type}
        {item.event_type !== "webhook.test" && <small className={styles.maker}>{item.subject}</small>}
      </th>
      <td data-label="Status">
        {item.status}
        {item.next_try_at && item.tries.length > 0 && (
          <small className={styles.maker}>
            next try at <Time at={item.next_try_at}>{absolute(item.next_try_at)}</Time>
          </small>
        )}
      </td>
      <td data-label="Last try">
        <LastTry item={item} />
      </td>
      <td data-label="When">
        <TimeAgo time={item.created_at} />
      </td>
      <td data-label={isAdmin ? "Action" : "Id"}>
        {isAdmin ? (
          <Button onClick={() => replay.mutate()} busy={replay.isPending} aria-label={`${action} ${item.id}`}>
            {action}
          </Button>
        ) : (
          <code>{item.id}</code>
        )}
      </td>
    </tr>
  );
}

function LastTry({ item }: { item: Delivery }) {
  const last = item.tries.at(-1);
  if (!last) return "none yet";
  const result = last.error ?? (last.duration_ms === null ? "no result" : `${last.response_status}`);
  return (
    <>
      {result}
      <small className={styles.maker}>
        try {last.number}
        {last.duration_ms !== null && `, ${last.duration_ms} ms`}
      </small>
    </>
  );
}
