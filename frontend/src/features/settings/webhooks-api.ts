import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { accepted, allPages, answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

export type Webhook = components["schemas"]["Webhook"];
type WithSecret = components["schemas"]["WebhookWithSecret"];
export type Delivery = components["schemas"]["WebhookDelivery"];
export type EventType = components["schemas"]["EventType"];
export type NewWebhook = Pick<Webhook, "url" | "description" | "event_types" | "format">;

/** The events, with their meaning for people. */
export const EVENTS: Readonly<Record<EventType, string>> = {
  "job.queued": "A job waits for a worker",
  "job.running": "A job runs",
  "job.paused": "A job is paused",
  "job.succeeded": "A job has succeeded",
  "job.failed": "A job has failed",
  "job.cancelled": "A job is cancelled",
  "job.finding": "A health rule fired, or a run warned",
  "dataset.ready": "A dataset is ready",
  "dataset.failed": "An import has failed",
};

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: () => allPages((after) => answer(api.GET("/v1/webhooks", { params: { query: { after, limit: 100 } } }))),
  refetchInterval: 15_000,
});

export const deliveriesQuery = (id: string, status: Delivery["status"] | null) =>
  infiniteQueryOptions({
    queryKey: ["webhook-deliveries", id, status],
    queryFn: ({ pageParam }) =>
      answer(
        api.GET("/v1/webhooks/{webhook_id}/deliveries", {
          params: { path: { webhook_id: id }, query: { after: pageParam, status } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
    refetchInterval: 5_000,
  });

const at = (id: string) => ({ path: { webhook_id: id } });

export const createWebhook = (body: NewWebhook): Promise<WithSecret> =>
  answer(api.POST("/v1/webhooks", { body: { ...body, enabled: true } }));

export const enableWebhook = (id: string, enabled: boolean): Promise<Webhook> =>
  answer(api.PATCH("/v1/webhooks/{webhook_id}", { params: at(id), body: { enabled } }));

export const rotateSecret = (id: string): Promise<WithSecret> =>
  answer(api.POST("/v1/webhooks/{webhook_id}/rotate", { params: at(id) }));

export const testWebhook = (id: string): Promise<Delivery> =>
  answer(api.POST("/v1/webhooks/{webhook_id}/test", { params: at(id) }));

export const deleteWebhook = (id: string): Promise<void> =>
  accepted(api.DELETE("/v1/webhooks/{webhook_id}", { params: at(id) }));

export const replayDelivery = (id: string, delivery: string): Promise<Delivery> =>
  answer(
    api.POST("/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", {
      params: { path: { webhook_id: id, delivery_id: delivery } },
    }),
  );
