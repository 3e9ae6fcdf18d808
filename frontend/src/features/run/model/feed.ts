import { parseEvent } from "@/features/run/model/event";
import type { JobEvent } from "@/lib/api/types";

export type Connection = "connecting" | "live" | "reconnecting" | "ended";

/** The part of the browser's EventSource that the feed uses, so that tests can stand in for it. */
export interface Source {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

interface FeedOptions {
  /** Opens a stream of the events after `seq`. */
  open: (seq: number) => Source;
  types: readonly string[];
  onEvent: (event: JobEvent) => void;
  onConnection: (connection: Connection) => void;
  /**
   * Asked when the server refuses the stream: what came after `seq`, and whether the run has ended. Rejects while the
   * server cannot be reached.
   */
  recover: (seq: number) => Promise<Recovery>;
}

export interface Recovery {
  readonly events: readonly JobEvent[];
  readonly ended: boolean;
}

const CLOSED = 2;
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 15_000;
/** Streams end every few minutes by design; only an absence longer than this is worth showing. */
const GRACE_MS = 2500;

/**
 * One event stream that stays open. The browser reconnects a dropped connection. After a status other than 200, such as
 * a proxy's 502, the browser gives up. The feed then opens a new stream from the last sequence number.
 */
export class EventFeed {
  private source: Source | null = null;
  private retry: ReturnType<typeof setTimeout> | null = null;
  private grace: ReturnType<typeof setTimeout> | null = null;
  private delay = FIRST_DELAY_MS;
  private stopped = false;
  private resting = false;

  constructor(
    private seq: number,
    private readonly options: FeedOptions,
  ) {}

  start(): void {
    if (this.stopped) return;
    this.resting = false;
    const source = this.options.open(this.seq);
    this.source = source;
    source.onopen = () => this.opened();
    source.onerror = () => this.failed(source);
    for (const type of this.options.types) source.addEventListener(type, (message) => this.receiveText(message.data));
    source.addEventListener("done", () => this.end());
  }

  /** Drops the connection and opens it anew from the last event seen: after sleep a socket may be dead without knowing. */
  reopen(): void {
    if (this.stopped) return;
    this.disconnect();
    this.start();
  }

  /** Lets go of the connection until `reopen`. */
  rest(): void {
    this.resting = true;
    this.disconnect();
  }

  stop(): void {
    this.stopped = true;
    this.disconnect();
  }

  private opened(): void {
    this.delay = FIRST_DELAY_MS;
    this.clearGrace();
    this.options.onConnection("live");
  }

  private receiveText(text: string): void {
    const event = parseEvent(text);
    if (event) this.receive(event);
  }

  private receive(event: JobEvent): void {
    if (event.seq <= this.seq) return;
    this.seq = event.seq;
    this.options.onEvent(event);
  }

  private failed(source: Source): void {
    if (source !== this.source || this.stopped) return;
    this.grace ??= setTimeout(() => this.options.onConnection("reconnecting"), GRACE_MS);
    if (source.readyState !== CLOSED) return;
    this.source = null;
    this.tryLater();
  }

  private tryLater(): void {
    this.retry = setTimeout(() => void this.tryAgain(), this.delay);
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
  }

  private async tryAgain(): Promise<void> {
    this.retry = null;
    const recovery = await this.options.recover(this.seq).catch(() => null);
    // Meanwhile the page may have been left or hidden, or have woken up and reopened the stream.
    if (this.stopped || this.resting || this.source) return;
    recovery?.events.forEach((event) => this.receive(event));
    if (!recovery) this.tryLater();
    else if (recovery.ended) this.end();
    else this.start();
  }

  private end(): void {
    if (this.stopped) return;
    this.stop();
    this.options.onConnection("ended");
  }

  private disconnect(): void {
    this.source?.close();
    this.source = null;
    if (this.retry) clearTimeout(this.retry);
    this.retry = null;
    this.clearGrace();
  }

  private clearGrace(): void {
    if (this.grace) clearTimeout(this.grace);
    this.grace = null;
  }
}
