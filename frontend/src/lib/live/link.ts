import type { Link } from "@/lib/live/protocol";
import type { SseMessage } from "@/lib/live/sse";
import { EventStream, type Refusal } from "@/lib/live/stream";

interface LinkOptions {
  open: (signal: AbortSignal) => Promise<Response>;
  /** Whether any page wants events. */
  isWanted: () => boolean;
  onMessages: (messages: readonly SseMessage[]) => void;
  /** The stream is open again after it was lost. */
  onBack: () => void;
  /** The server refused the request. Returns whether another request may succeed at once. */
  onRefused: (status: number, detail: string) => boolean;
  onLink: (link: Link) => void;
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 5000;
/** Streams end every few minutes by design; only an absence longer than this is worth showing. */
const GRACE_MS = 2500;
/** After a sleep, a connection that was silent for this long is not trusted. */
const TRUSTED_MS = 6000;

/** Keeps one event stream open: reconnects with growing pauses, and reports a loss that lasts. */
export class LinkKeeper {
  link: Link = { state: "idle", since: Date.now() };
  private stream: EventStream | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private grace: ReturnType<typeof setTimeout> | undefined;
  private delay = FIRST_DELAY_MS;
  private lostAt: number | null = null;

  constructor(private readonly options: LinkOptions) {}

  /** Opens a stream for the present cursors in place of the one before. */
  reopen(): void {
    this.disconnect();
    if (!this.options.isWanted()) {
      this.idle();
      return;
    }
    if (this.link.state === "idle" || this.link.state === "signed-out") this.set("connecting");
    if (this.link.state !== "live") this.watchGrace();
    this.stream = new EventStream((signal) => this.options.open(signal), {
      onOpen: () => this.opened(),
      onMessages: this.options.onMessages,
      onEnd: (refusal, lostAt) => this.ended(refusal, lostAt),
    });
  }

  /** Closes the stream; `reopen` follows. */
  hold(): void {
    this.disconnect();
  }

  /** The machine slept, or the network is back: the connection may be dead without the browser's knowledge. */
  wake(): void {
    const isTrusted =
      this.stream !== null && Date.now() - this.stream.heardAt < TRUSTED_MS && this.link.state === "live";
    if (isTrusted || !this.options.isWanted()) return;
    this.delay = FIRST_DELAY_MS;
    this.reopen();
  }

  /** Closes the connection until `wake` or `reopen`. */
  rest(): void {
    this.disconnect();
    this.idle();
  }

  private opened(): void {
    const wasLost = this.lostAt !== null;
    this.delay = FIRST_DELAY_MS;
    this.lostAt = null;
    clearTimeout(this.grace);
    this.grace = undefined;
    if (this.link.state !== "live") this.set("live");
    if (wasLost) this.options.onBack();
  }

  private ended(refusal: Refusal | null, lostAt: number): void {
    this.stream = null;
    this.lostAt ??= lostAt;
    if (refusal?.status === 401) this.signedOut();
    else if (refusal && this.options.onRefused(refusal.status, refusal.detail)) this.reopen();
    else this.tryLater(refusal);
  }

  private tryLater(refusal: Refusal | null): void {
    this.watchGrace();
    const wait = refusal?.retryAfter ? refusal.retryAfter * 1000 : this.delay * (0.75 + Math.random() / 2);
    this.retry = setTimeout(() => this.reopen(), wait);
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
  }

  private watchGrace(): void {
    const since = this.lostAt ?? Date.now();
    const wait = Math.max(0, since + GRACE_MS - Date.now());
    this.grace ??= setTimeout(() => this.set(isOffline() ? "offline" : "reconnecting", since), wait);
  }

  private idle(): void {
    this.disconnect();
    clearTimeout(this.grace);
    this.grace = undefined;
    this.lostAt = null;
    if (this.link.state !== "idle") this.set("idle");
  }

  private signedOut(): void {
    this.idle();
    this.set("signed-out");
  }

  private disconnect(): void {
    this.stream?.close();
    this.stream = null;
    clearTimeout(this.retry);
  }

  private set(state: Link["state"], since: number | null = null): void {
    this.link = { state, since: since ?? Date.now() };
    this.options.onLink(this.link);
  }
}

const isOffline = (): boolean => typeof navigator !== "undefined" && !navigator.onLine;
