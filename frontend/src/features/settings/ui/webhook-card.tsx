import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { ConfirmButton } from "@/components/confirm-button";
import { Notice } from "@/components/notice";
import { CodeBlock, TimeAgo } from "@/components/text";
import { toast } from "@/components/toast";
import { DeliveryLog } from "@/features/settings/ui/delivery-log";
import {
  deleteWebhook,
  enableWebhook,
  EVENTS,
  rotateSecret,
  testWebhook,
  type Webhook,
  webhooksQuery,
} from "@/features/settings/webhooks-api";
import styles from "./settings.module.css";

/** One webhook: its state, its events, its actions and the log of its deliveries. */
export function WebhookCard({ item, isAdmin }: { item: Webhook; isAdmin: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Card title={item.description || new URL(item.url).host} beside={<State item={item} />} data-webhook={item.id}>
      <p className={styles.address}>
        <code>{item.url}</code>
        {item.format === "slack" && <small className={styles.tag}>text for chats</small>}
      </p>
      {item.disabled_reason && (
        <Notice title="The platform has disabled this webhook" tone="bad">
          {item.disabled_reason}
        </Notice>
      )}
      <p className={styles.note}>{item.event_types.map((type) => EVENTS[type]).join(" · ")}</p>
      {isAdmin && <Actions item={item} onTest={() => setOpen(true)} />}
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Deliveries</summary>
        {isOpen && <DeliveryLog item={item} isAdmin={isAdmin} />}
      </details>
    </Card>
  );
}

function State({ item }: { item: Webhook }) {
  if (!item.enabled) return <span className={styles.problem}>Disabled</span>;
  if (!item.failing_since) return <span>Enabled</span>;
  return (
    <span className={styles.problem}>
      Failing since <TimeAgo time={item.failing_since} />
    </span>
  );
}

function Actions({ item, onTest }: { item: Webhook; onTest: () => void }) {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
  const complain = (error: Error) => toast(error.message, { tone: "bad" });
  const test = useMutation({
    mutationFn: () => testWebhook(item.id),
    onSuccess: () => {
      onTest();
      void client.invalidateQueries({ queryKey: ["webhook-deliveries", item.id] });
    },
    onError: complain,
  });
  const enable = useMutation({
    mutationFn: () => enableWebhook(item.id, !item.enabled),
    onSuccess: refresh,
    onError: complain,
  });
  const [secret, setSecret] = useState<string | null>(null);
  const name = item.description || item.url;
  return (
    <>
      <div className={styles.actions}>
        <Button onClick={() => test.mutate()} busy={test.isPending}>
          Send a test
        </Button>
        <Button onClick={() => enable.mutate()} busy={enable.isPending}>
          {item.enabled ? "Disable" : "Enable"}
        </Button>
        <ConfirmButton
          button="Rotate secret"
          label={`Rotate secret of ${name}`}
          title="Give the webhook a new secret?"
          confirm="Rotate secret"
          keep="Keep the secret"
          action={async () => {
            setSecret((await rotateSecret(item.id)).secret);
            await refresh();
          }}
        >
          <p>For 24 hours, both secrets sign. Give receivers the new one in this time.</p>
        </ConfirmButton>
        <ConfirmButton
          button="Delete"
          label={`Delete ${name}`}
          title={`Delete ${name}?`}
          confirm="Delete"
          keep="Keep it"
          action={async () => {
            await deleteWebhook(item.id);
            await refresh();
          }}
          done="The webhook is deleted."
        >
          <p>Its log of deliveries is deleted too. Deliveries that wait are not sent.</p>
        </ConfirmButton>
      </div>
      {secret && (
        <div role="status" className={styles.created}>
          <p>
            <b>Copy the new secret now.</b> It is not shown again.
          </p>
          <CodeBlock label={item.url} code={secret} />
          <Button onClick={() => setSecret(null)}>I have copied it</Button>
        </div>
      )}
    </>
  );
}
