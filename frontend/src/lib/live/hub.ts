import type { JobEvent } from "@/lib/api/types";
import { LinkKeeper } from "@/lib/live/link";
import type { ToHub, ToPage } from "@/lib/live/protocol";
import { endedJobs, eventsOf, type SseMessage } from "@/lib/live/sse";
import { FROM_END, Tail } from "@/lib/live/tail";

interface Sub {
  /** The jobs that have not ended. */
  readonly jobIds: Set<string>;
  /** The last event that the page got; null for a page that only wants to know of news. */
  seq: number | null;
}

/** One page. The hub forgets it after a `bye`, or after minutes without a message. */
export interface Client {
  readonly post: (message: ToPage) => void;
  readonly subs: Map<number, Sub>;
  heardAt: number;
}

/** The server's default limit on the jobs of a stream. */
const MOST_JOBS = 50;
const SILENT_MS = 240_000;
/** Pages that open or close together cause one new request. */
const SETTLE_MS = 25;
/** A job that no page follows any more stays in the stream for a while: a reload comes back to it. */
const LINGER_MS = 30_000;

/** Fetches `/v1/stream?jobs=…`. */
export type OpenStream = (jobs: string, signal: AbortSignal) => Promise<Response>;

/** Shares one event stream among all pages of a browser. It holds a cursor for each job, so that no event is lost. */
export class Hub {
  private readonly clients = new Set<Client>();
  private readonly tails = new Map<string, Tail>();
  private readonly link: LinkKeeper;
  private settle: ReturnType<typeof setTimeout> | undefined;
  private linger: ReturnType<typeof setTimeout> | undefined;
  private mostJobs = MOST_JOBS;

  constructor(open: OpenStream) {
    this.link = new LinkKeeper({
      open: (signal) => open(this.cursors(), signal),
      isWanted: () => this.wanted().length > 0,
      onMessages: (messages) => this.receive(messages),
      onBack: () => this.news(this.subsFor(null), []),
      onRefused: (status, detail) => this.refused(status, detail),
      onLink: (link) => this.clients.forEach((client) => client.post({ type: "link", link })),
    });
  }

  connect(post: Client["post"]): Client {
    const client = { post, subs: new Map<number, Sub>(), heardAt: Date.now() };
    this.clients.add(client);
    post({ type: "link", link: this.link.link });
    return client;
  }

  take(client: Client, message: ToHub): void {
    client.heardAt = Date.now();
    this.clients.add(client);
    switch (message.type) {
      case "follow":
        this.follow(client, message.id, message.jobId, message.after);
        break;
      case "watch":
        this.watch(client, message.id, message.jobIds);
        break;
      case "drop":
        client.subs.delete(message.id);
        this.prune();
        break;
      case "ping":
        for (const one of this.clients) if (Date.now() - one.heardAt > SILENT_MS) this.take(one, { type: "bye" });
        client.post({ type: "pong", subs: client.subs.size });
        break;
      case "wake":
        this.link.wake();
        break;
      case "rest":
        this.link.rest();
        break;
      case "bye":
        client.subs.clear();
        this.clients.delete(client);
        this.prune();
    }
  }

  private follow(client: Client, id: number, jobId: string, after: number): void {
    const sub: Sub = { jobIds: new Set([jobId]), seq: after };
    client.subs.set(id, sub);
    const tail = this.tails.get(jobId);
    if (tail && tail.floor <= after && tail.seq < FROM_END) {
      this.send(client, id, sub, tail.after(after));
      this.ensure();
    } else {
      this.tails.set(jobId, new Tail(Math.min(after, tail?.floor ?? FROM_END)));
      this.reconnect();
    }
  }

  private watch(client: Client, id: number, jobIds: readonly string[]): void {
    client.subs.set(id, { jobIds: new Set(jobIds), seq: null });
    const fresh = jobIds.filter((jobId) => !this.tails.has(jobId));
    for (const jobId of fresh) this.tails.set(jobId, new Tail(FROM_END));
    if (fresh.length) this.reconnect();
    else this.ensure();
  }

  private reconnect(): void {
    // Until then no event may move a cursor past those that the new stream has to repeat.
    this.link.hold();
    this.settle ??= setTimeout(() => {
      this.settle = undefined;
      this.link.reopen();
    }, SETTLE_MS);
  }

  private ensure(): void {
    if (this.link.link.state === "idle" || this.link.link.state === "signed-out") this.reconnect();
  }

  /** Later, drops the jobs that no page wants, and the connection with the last one. */
  private prune(): void {
    this.linger ??= setTimeout(() => {
      this.linger = undefined;
      const wanted = new Set(this.wanted(Infinity));
      const unwanted = [...this.tails.keys()].filter((jobId) => !wanted.has(jobId));
      for (const jobId of unwanted) this.tails.delete(jobId);
      if (unwanted.length) this.reconnect();
    }, LINGER_MS);
  }

  /** The jobs of all pages, those whose events are shown first. */
  private wanted(most = this.mostJobs): string[] {
    const subs = this.subsFor(null).map(({ sub }) => sub);
    const followed = subs.flatMap((sub) => (sub.seq === null ? [] : [...sub.jobIds]));
    const watched = subs.flatMap((sub) => (sub.seq === null ? [...sub.jobIds] : []));
    return [...new Set([...followed, ...watched])].slice(0, most);
  }

  private cursors(): string {
    return this.wanted()
      .map((jobId) => `${jobId}:${this.tails.get(jobId)?.seq ?? FROM_END}`)
      .join(",");
  }

  private subsFor(jobId: string | null): { client: Client; id: number; sub: Sub }[] {
    return [...this.clients].flatMap((client) =>
      [...client.subs].flatMap(([id, sub]) => (jobId === null || sub.jobIds.has(jobId) ? [{ client, id, sub }] : [])),
    );
  }

  private receive(messages: readonly SseMessage[]): void {
    const byJob = new Map<string, JobEvent[]>();
    for (const { event, size } of eventsOf(messages)) {
      if (!this.tails.get(event.job_id)?.add(event, size)) continue;
      byJob.set(event.job_id, [...(byJob.get(event.job_id) ?? []), event]);
    }
    for (const [jobId, fresh] of byJob) {
      const subs = this.subsFor(jobId);
      for (const { client, id, sub } of subs) this.send(client, id, sub, fresh);
      this.news(subs, [...new Set(fresh.map((event) => event.type))]);
    }
    for (const jobId of endedJobs(messages)) this.done(jobId);
  }

  private send(client: Client, id: number, sub: Sub, events: readonly JobEvent[]): void {
    if (sub.seq === null) return;
    const after = sub.seq;
    const fresh = events.filter((event) => event.seq > after);
    if (!fresh.length) return;
    sub.seq = fresh.at(-1)?.seq ?? after;
    client.post({ type: "events", id: id, events: fresh });
  }

  private news(subs: ReturnType<typeof this.subsFor>, types: readonly string[]): void {
    for (const { client, id, sub } of subs) if (sub.seq === null) client.post({ type: "news", id: id, types });
  }

  private done(jobId: string): void {
    this.tails.delete(jobId);
    for (const { client, id, sub } of this.subsFor(jobId)) {
      sub.jobIds.delete(jobId);
      if (sub.seq !== null) client.subs.delete(id);
      client.post(sub.seq === null ? { type: "news", id: id, types: ["done"] } : { type: "done", id: id });
    }
  }

  /** Removes the jobs that caused the refusal. Returns whether another request may succeed at once. */
  private refused(status: number, detail: string): boolean {
    const jobs = this.wanted();
    const gone = status === 204 ? jobs : status === 404 ? jobs.filter((jobId) => detail.includes(jobId)) : [];
    gone.forEach((jobId) => this.done(jobId));
    const isTooMany = status === 400 && this.mostJobs > 1;
    if (isTooMany) this.mostJobs = Math.max(1, Math.floor(Math.min(jobs.length, this.mostJobs) / 2));
    return gone.length > 0 || isTooMany;
  }
}
