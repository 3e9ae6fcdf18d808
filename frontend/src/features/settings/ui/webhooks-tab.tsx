import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { CodeBlock } from "@/components/text";
import { WebhookCard } from "@/features/settings/ui/webhook-card";
import {
  createWebhook,
  EVENTS,
  type EventType,
  type NewWebhook,
  webhooksQuery,
} from "@/features/settings/webhooks-api";
import { usePermissions } from "@/lib/permissions";
import styles from "./settings.module.css";

/** Where events of the project are sent, and for an admin how that is changed. */
export function WebhooksTab() {
  const query = useQuery(webhooksQuery);
  const isAdmin = usePermissions().may("manage");
  if (query.isPending) return <Skeleton rows={3} height="2.75rem" label="Loading webhooks" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="load the webhooks" onRetry={() => void query.refetch()} />;
  }
  return (
    <div className={styles.stack}>
      <p className={styles.note}>
        A webhook sends events of this project to an address, signed with a secret. Events of one job arrive in their
        order, and failed tries are repeated for about 3 days.
        {!isAdmin && " An admin of the project adds and changes webhooks."}
      </p>
      {isAdmin && <NewWebhookForm />}
      {query.data.map((webhook) => (
        <WebhookCard key={webhook.id} item={webhook} isAdmin={isAdmin} />
      ))}
      {query.data.length === 0 && <p className={styles.note}>There is no webhook yet.</p>}
    </div>
  );
}

const EMPTY: NewWebhook = {
  url: "",
  description: "",
  event_types: ["job.paused", "job.succeeded", "job.failed"],
  format: "standard",
};

function NewWebhookForm() {
  const client = useQueryClient();
  const [wanted, setWanted] = useState(EMPTY);
  const create = useMutation({
    mutationFn: createWebhook,
    onSuccess: () => {
      setWanted(EMPTY);
      void client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate({ ...wanted, url: wanted.url.trim() });
  };
  const change = (more: Partial<NewWebhook>) => setWanted({ ...wanted, ...more });
  return (
    <Card title="Add a webhook">
      <form className={styles.stack} onSubmit={submit}>
        <div className={styles.line}>
          <label>
            <span>Address</span>
            <input
              type="url"
              value={wanted.url}
              onChange={(event) => change({ url: event.target.value })}
              placeholder="https://hooks.example.org/proximal"
            />
          </label>
          <label>
            <span>Description</span>
            <input
              type="text"
              value={wanted.description}
              maxLength={200}
              onChange={(event) => change({ description: event.target.value })}
              placeholder="the team's chat"
            />
          </label>
          <label>
            <span>Format</span>
            <select
              value={wanted.format}
              onChange={(event) => change({ format: event.target.value as NewWebhook["format"] })}
            >
              <option value="standard">JSON (Standard Webhooks)</option>
              <option value="slack">Text (Slack and other chats)</option>
            </select>
          </label>
        </div>
        <EventChoice value={wanted.event_types} onChange={(event_types) => change({ event_types })} />
        <div>
          <Button
            type="submit"
            look="primary"
            disabled={!wanted.url.trim() || !wanted.event_types.length || create.isPending}
          >
            Add webhook
          </Button>
        </div>
      </form>
      {create.isError && (
        <p role="alert" className={styles.problem}>
          {create.error.message}
        </p>
      )}
      {create.data && (
        <div role="status" className={styles.created}>
          <p>
            <b>Copy the secret now.</b> Receivers check the signatures with it. It is not shown again.
          </p>
          <CodeBlock label={create.data.url} code={create.data.secret} />
          <Button onClick={() => create.reset()}>I have copied it</Button>
        </div>
      )}
    </Card>
  );
}

interface EventChoiceProps {
  value: readonly EventType[];
  onChange: (types: EventType[]) => void;
}

function EventChoice({ value, onChange }: EventChoiceProps) {
  const all = Object.keys(EVENTS) as EventType[];
  return (
    <fieldset className={styles.events}>
      <legend>Events</legend>
      {all.map((type) => (
        <label key={type} className={styles.switch}>
          <input
            type="checkbox"
            checked={value.includes(type)}
            onChange={(event) =>
              onChange(all.filter((one) => (one === type ? event.target.checked : value.includes(one))))
            }
          />
          {EVENTS[type]}
        </label>
      ))}
    </fieldset>
  );
}
