import type { JobEvent } from "@/lib/api/types";
import type { Link, ToHub, ToPage } from "@/lib/live/protocol";
import { watchPage } from "@/lib/live/wake";

export interface Follower {
  onEvents: (events: readonly JobEvent[]) => void;
  /** The job has ended and no event follows. */
  onDone: () => void;
}

type Subscription =
  | { readonly kind: "follow"; readonly jobId: string; after: number; readonly follower: Follower }
  | { readonly kind: "watch"; readonly jobIds: readonly string[]; readonly onNews: (types: readonly string[]) => void };

interface Port {
  readonly post: (message: ToHub) => void;
  readonly close: () => void;
}

const PING_MS = 20_000;
const LOST_MS = 70_000;

/** The events of jobs as they happen. All pages of the browser share one connection, if it has shared workers. */
class LiveClient {
  link: Link = { state: "idle", since: Date.now() };
  private readonly subs = new Map<number, Subscription>();
  private readonly linkListeners = new Set<() => void>();
  private port: Port | null = null;
  private isShared = true;
  private isKept = false;
  private next = 1;
  private pongAt = 0;

  /** Calls back with each event after number `after`. Returns a function that ends this. */
  follow(jobId: string, after: number, follower: Follower): () => void {
    return this.add({ kind: "follow", jobId, after, follower });
  }

  /** Calls back when something happens in one of the jobs. */
  watch(jobIds: readonly string[], onNews: (types: readonly string[]) => void): () => void {
    return this.add({ kind: "watch", jobIds, onNews });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.linkListeners.add(listener);
    return () => this.linkListeners.delete(listener);
  };

  getLink = (): Link => this.link;

  private add(subscription: Subscription): () => void {
    const id = this.next++;
    this.subs.set(id, subscription);
    if (this.port) this.announce(id, subscription);
    else this.open();
    return () => {
      if (this.subs.delete(id)) this.port?.post({ type: "drop", id: id });
    };
  }

  private announce(id: number, one: Subscription): void {
    if (one.kind === "follow") this.port?.post({ type: "follow", id, jobId: one.jobId, after: one.after });
    else this.port?.post({ type: "watch", id, jobIds: one.jobIds });
  }

  private open(): void {
    const take = (message: ToPage) => this.take(message);
    this.port?.close();
    this.pongAt = Date.now();
    this.port = (this.isShared ? sharedPort(take, () => this.fallBack()) : null) ?? ownPort(take);
    this.subs.forEach((one, id) => this.announce(id, one));
    this.keepAlive();
  }

  /** The worker's script could not be loaded, as after an upgrade: this page connects by itself. */
  private fallBack(): void {
    this.isShared = false;
    this.open();
  }

  private keepAlive(): void {
    if (this.isKept) return;
    this.isKept = true;
    setInterval(() => this.ping(), PING_MS);
    watchPage({
      onWake: () => {
        this.ping();
        this.port?.post({ type: "wake" });
      },
      // A page without a shared worker has a connection of its own, and browsers allow six.
      onRest: () => !this.isShared && this.port?.post({ type: "rest" }),
    });
    window.addEventListener("pagehide", () => this.port?.post({ type: "bye" }));
    window.addEventListener("pageshow", (event) => event.persisted && this.ping());
  }

  private ping(): void {
    if (this.isShared && !document.hidden && Date.now() - this.pongAt > LOST_MS) this.open();
    this.port?.post({ type: "ping" });
  }

  private take(message: ToPage): void {
    const one = "id" in message ? this.subs.get(message.id) : undefined;
    switch (message.type) {
      case "events":
        if (one?.kind === "follow") pass(one, message.events);
        break;
      case "done":
        this.subs.delete(message.id);
        if (one?.kind === "follow") one.follower.onDone();
        break;
      case "news":
        if (one?.kind === "watch") one.onNews(message.types);
        break;
      case "link":
        this.link = message.link;
        this.linkListeners.forEach((listener) => listener());
        break;
      case "pong":
        this.pongAt = Date.now();
        // The hub has forgotten this page, as after a long sleep.
        if (message.subs !== this.subs.size) this.subs.forEach((each, id) => this.announce(id, each));
    }
  }
}

function pass(one: Subscription & { kind: "follow" }, events: readonly JobEvent[]): void {
  const { after } = one;
  const fresh = events.filter((event) => event.seq > after);
  one.after = fresh.at(-1)?.seq ?? after;
  if (fresh.length) one.follower.onEvents(fresh);
}

function sharedPort(take: (message: ToPage) => void, onBroken: () => void): Port | null {
  if (typeof SharedWorker === "undefined") return null;
  try {
    const worker = new SharedWorker(new URL("./shared-worker.ts", import.meta.url), { type: "module", name: "live" });
    worker.onerror = onBroken;
    worker.port.onmessage = (message: MessageEvent<ToPage>) => take(message.data);
    return { post: (message) => worker.port.postMessage(message), close: () => worker.port.close() };
  } catch {
    return null;
  }
}

/** A hub in this page. Its code is loaded for this, as most browsers have shared workers. */
function ownPort(take: (message: ToPage) => void): Port {
  const begun = Promise.all([import("@/lib/live/hub"), import("@/lib/live/request")]).then(
    ([{ Hub }, { openStream }]) => {
      const hub = new Hub(openStream);
      const client = hub.connect(take);
      return (message: ToHub) => hub.take(client, message);
    },
  );
  // Without the code no answer comes, and the page opens another port later.
  const post = (message: ToHub) => void begun.then((send) => send(message)).catch(() => undefined);
  return { post, close: () => post({ type: "bye" }) };
}

export const live = new LiveClient();
