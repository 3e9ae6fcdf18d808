/// <reference lib="webworker" />
import { type Client, Hub } from "@/lib/live/hub";
import type { ToHub } from "@/lib/live/protocol";
import { openStream } from "@/lib/live/request";

/** The shared worker: one hub for all pages of the browser. */
const scope = self as unknown as SharedWorkerGlobalScope;
const hub = new Hub(openStream);

scope.onconnect = ({ ports: [port] }) => {
  if (!port) return;
  const client: Client = hub.connect((message) => port.postMessage(message));
  port.onmessage = (message: MessageEvent<ToHub>) => hub.take(client, message.data);
};
