import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";

export type Worker = components["schemas"]["Worker"];
export type WorkerChange = "cordon" | "drain" | "uncordon";

export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: async () => (await answer(api.GET("/v1/workers"))).data,
});

export const createWorkerToken = () => answer(api.POST("/v1/workers/tokens"));

/** The command with which a machine becomes a worker of the platform at this address. */
export const joinCommand = (origin: string, token: string): string => `proximal worker join ${origin} --token ${token}`;

/** Whether a host name means the machine of the browser itself. */
export const isOfThisMachine = (host: string): boolean => /^(localhost|127\..*|\[::1\])$/.test(host);

export function changeWorker(id: string, change: WorkerChange): Promise<Worker> {
  const params = { path: { worker_id: id } };
  if (change === "cordon") return answer(api.POST("/v1/workers/{worker_id}/cordon", { params }));
  if (change === "drain") return answer(api.POST("/v1/workers/{worker_id}/drain", { params }));
  return answer(api.POST("/v1/workers/{worker_id}/uncordon", { params }));
}
