import { type Connection, EventFeed, type Recovery, type Source } from "@/features/run/model/feed";
import {
  emptyRun,
  fromSnapshot,
  needsFreshSeries,
  reduce,
  type RunState,
  type Snapshot,
} from "@/features/run/model/state";
import type { JobEvent } from "@/lib/api/types";

export interface RunView {
  readonly run: RunState;
  readonly connection: Connection;
  readonly loaded: boolean;
  readonly error: Error | null;
}

export interface RunServer {
  snapshot: () => Promise<Snapshot>;
  open: (seq: number) => Source;
  recover: (seq: number) => Promise<Recovery>;
  /** Called with each batch, so that what is derived elsewhere (status, checkpoints) can be fetched again. */
  onEvents: (events: readonly JobEvent[]) => void;
  types: readonly string[];
}

/** Events are applied, and charts redrawn, at most this often. */
const FLUSH_MS = 250;
const RETRY_MS = 3000;

/** Holds a run's state: first a snapshot, then the stream from exactly there on. */
export class RunStore {
  private view: RunView = { run: emptyRun, connection: "connecting", loaded: false, error: null };
  private readonly listeners = new Set<() => void>();
  private feed: EventFeed | null = null;
  private buffer: JobEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  /** Counts loads, so that an answer to an older one is dropped. */
  private load = 0;

  constructor(private readonly server: RunServer) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getView = (): RunView => this.view;

  start = (): void => {
    const load = ++this.load;
    this.feed?.stop();
    void this.server.snapshot().then(
      (snapshot) => load === this.load && this.loaded(snapshot),
      (error: unknown) => load === this.load && this.failed(error),
    );
  };

  stop = (): void => {
    this.load++;
    this.feed?.stop();
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.buffer = [];
  };

  reopen = (): void => {
    if (this.view.loaded && this.view.connection !== "ended") this.feed?.reopen();
  };

  /** Lets go of the connection until `reopen`. */
  rest = (): void => this.feed?.rest();

  private loaded(snapshot: Snapshot): void {
    this.buffer = [];
    const run = fromSnapshot(snapshot);
    this.set({ run, loaded: true, error: null });
    this.feed = new EventFeed(run.lastSeq, {
      ...this.server,
      onEvent: (event) => this.receive(event),
      onConnection: (connection) => this.connected(connection),
    });
    this.feed.start();
  }

  private failed(error: unknown): void {
    this.set({ error: error instanceof Error ? error : new Error(String(error)), connection: "reconnecting" });
    this.timer = setTimeout(this.start, RETRY_MS);
  }

  private connected(connection: Connection): void {
    if (connection === "ended") this.flush();
    this.set({ connection });
  }

  private receive(event: JobEvent): void {
    this.buffer.push(event);
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  private flush(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    const events = this.buffer;
    if (!events.length) return;
    this.buffer = [];
    const before = this.view.run;
    const run = reduce(before, events);
    this.set({ run });
    this.server.onEvents(events);
    if (needsFreshSeries(before, run)) this.start();
  }

  private set(change: Partial<RunView>): void {
    this.view = { ...this.view, ...change };
    this.listeners.forEach((listener) => listener());
  }
}
