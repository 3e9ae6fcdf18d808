import { type SseMessage, SseParser } from "@/lib/live/sse";

interface StreamHandlers {
  /** The server has accepted the request. */
  onOpen: () => void;
  /** The messages of one piece of the response. */
  onMessages: (messages: readonly SseMessage[]) => void;
  /**
   * The stream has ended, whatever the reason. `response` is null if there was none, or if it had begun. `lostAt`: when the
   * last byte arrived, after a silence, or now.
   */
  onEnd: (response: Refusal | null, lostAt: number) => void;
}

export interface Refusal {
  readonly status: number;
  /** Seconds after which the server wants to be asked again. */
  readonly retryAfter: number | null;
  readonly detail: string;
}

/** The server sends a comment every 5 s, so a longer silence means that the connection, or the server, is dead. */
const SILENCE_MS = 12_000;

/** One HTTP response with server-sent events. It ends once, by `close` without a report, or with `onEnd`. */
export class EventStream {
  private readonly abort = new AbortController();
  private silence: ReturnType<typeof setTimeout> | undefined;
  private closed = false;
  /** When the last byte arrived, in ms of the epoch. */
  heardAt = Date.now();

  constructor(
    open: (signal: AbortSignal) => Promise<Response>,
    private readonly handlers: StreamHandlers,
  ) {
    void this.read(open).then(
      (refusal) => this.end(refusal),
      () => this.end(null),
    );
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.silence);
    this.abort.abort();
  }

  private end(refusal: Refusal | null, lostAt = Date.now()): void {
    clearTimeout(this.silence);
    if (this.closed) return;
    this.closed = true;
    this.handlers.onEnd(refusal, lostAt);
  }

  private async read(open: (signal: AbortSignal) => Promise<Response>): Promise<Refusal | null> {
    this.listen();
    const response = await open(this.abort.signal);
    if (response.status !== 200 || !response.body) return await refusalOf(response);
    if (this.closed) return null;
    this.handlers.onOpen();
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      this.listen();
      const messages = parser.push(decoder.decode(part.value, { stream: true }));
      if (messages.length) this.handlers.onMessages(messages);
    }
    return null;
  }

  private listen(): void {
    this.heardAt = Date.now();
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.abort.abort();
      this.end(null, this.heardAt);
    }, SILENCE_MS);
  }
}

async function refusalOf(response: Response): Promise<Refusal> {
  const wait = response.headers.get("Retry-After");
  const body: unknown = await response.json().catch(() => null);
  const detail = typeof body === "object" && body !== null && "detail" in body ? String(body.detail) : "";
  return { status: response.status, retryAfter: wait && /^\d{1,4}$/.test(wait) ? Number(wait) : null, detail };
}
