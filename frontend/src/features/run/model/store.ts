import { emptyRun, fromSnapshot, reduce, type RunState, type Snapshot } from "@/features/run/model/state";
import type { JobEvent } from "@/lib/api/types";
import type { Follower } from "@/lib/live/client";

export interface RunView {
  readonly run: RunState;
  readonly loaded: boolean;
  /** The job has ended and every event is here. */
  readonly ended: boolean;
  /** When the run last reported anything, in ms of the epoch; null while unknown. */
  readonly heardAt: number | null;
  readonly error: Error | null;
}

export interface RunServer {
  snapshot: () => Promise<Snapshot>;
  /** Calls back with the events after `seq`. Returns a function that ends this. */
  follow: (seq: number, follower: Follower) => () => void;
  /** Called with each batch, so that what is derived elsewhere (status, checkpoints) can be fetched again. */
  onEvents: (events: readonly JobEvent[]) => void;
  /** Runs `act` before the next frame is drawn. Returns a function that cancels this. */
  schedule: (act: () => void) => () => void;
}

const RETRY_MS = 3000;

/** Holds a run's state: first a snapshot, then the events from exactly there on, applied once for each frame. */
export class RunStore {
  private view: RunView = { run: emptyRun, loaded: false, ended: false, heardAt: null, error: null };
  private readonly listeners = new Set<() => void>();
  private unfollow: (() => void) | null = null;
  private buffer: JobEvent[] = [];
  private unschedule: (() => void) | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  /** Counts loads, so that the result of an older one is dropped. */
  private load = 0;

  constructor(private readonly server: RunServer) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getView = (): RunView => this.view;

  start = (): void => {
    this.stop();
    const { load } = this;
    void this.server.snapshot().then(
      (snapshot) => load === this.load && this.loaded(snapshot),
      (error: unknown) => load === this.load && this.failed(error),
    );
  };

  stop = (): void => {
    this.load++;
    clearTimeout(this.retry);
    this.unfollow?.();
    this.unschedule?.();
    this.unfollow = this.unschedule = null;
    this.buffer = [];
  };

  /** Follows a job again that had ended and was started again. */
  reopen = (): void => {
    if (!this.view.loaded || !this.view.ended) return;
    this.set({ ended: false });
    this.follow();
  };

  private loaded(snapshot: Snapshot): void {
    const heardAt = snapshot.lastEventAt === null ? null : Date.parse(snapshot.lastEventAt);
    this.set({ run: fromSnapshot(snapshot), loaded: true, ended: false, heardAt, error: null });
    this.follow();
  }

  private follow(): void {
    this.unfollow = this.server.follow(this.view.run.lastSeq, {
      onEvents: (events) => this.receive(events),
      onDone: () => {
        this.flush();
        this.set({ ended: true });
      },
    });
  }

  private failed(error: unknown): void {
    this.set({ error: error instanceof Error ? error : new Error(String(error)) });
    this.retry = setTimeout(this.start, RETRY_MS);
  }

  private receive(events: readonly JobEvent[]): void {
    this.buffer.push(...events);
    this.unschedule ??= this.server.schedule(() => this.flush());
  }

  private flush(): void {
    this.unschedule?.();
    this.unschedule = null;
    const events = this.buffer;
    if (!events.length) return;
    this.buffer = [];
    this.set({ run: reduce(this.view.run, events), heardAt: Date.now() });
    this.server.onEvents(events);
    if (this.view.run.isStale) this.start();
  }

  private set(change: Partial<RunView>): void {
    this.view = { ...this.view, ...change };
    this.listeners.forEach((listener) => listener());
  }
}
