import { vi } from "vitest";
import { type Client, Hub } from "@/lib/live/hub";
import type { ToPage } from "@/lib/live/protocol";

/** One request for the stream, for tests: the server's side of it. */
class Request {
  private readonly encoder = new TextEncoder();
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  answer: (response: Response) => void = () => undefined;

  constructor(
    readonly jobs: string,
    readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => this.controller?.error(signal.reason));
  }

  get isOpen(): boolean {
    return !this.signal.aborted;
  }

  async accept(): Promise<void> {
    this.answer(new Response(new ReadableStream({ start: (controller) => void (this.controller = controller) })));
    await vi.advanceTimersByTimeAsync(0);
  }

  async refuse(status: number, detail = ""): Promise<void> {
    this.answer(new Response(status === 204 ? null : JSON.stringify({ detail }), { status }));
    await vi.advanceTimersByTimeAsync(0);
  }

  async write(text: string): Promise<void> {
    this.controller?.enqueue(this.encoder.encode(text));
    await vi.advanceTimersByTimeAsync(0);
  }

  event(jobId: string, seq: number, type = "metrics"): Promise<void> {
    return this.write(`id: x\nevent: ${type}\ndata: ${JSON.stringify({ job_id: jobId, seq, type })}\n\n`);
  }

  done(jobId: string): Promise<void> {
    return this.write(`event: done\ndata: {"job_id":"${jobId}"}\n\n`);
  }

  async drop(): Promise<void> {
    this.controller?.close();
    await vi.advanceTimersByTimeAsync(0);
  }
}

/** A hub whose server and pages are played by a test. */
export class Stage {
  readonly requests: Request[] = [];
  readonly hub = new Hub((jobs, signal) => {
    const request = new Request(jobs, signal);
    this.requests.push(request);
    return new Promise((resolve, reject) => {
      request.answer = resolve;
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  });

  page(): Page {
    return new Page(this.hub);
  }

  get latest(): Request {
    const request = this.requests.at(-1);
    if (!request) throw new Error("There was no request.");
    return request;
  }

  /** Waits until the hub has asked, and lets it in. */
  async settle(): Promise<Request> {
    await vi.advanceTimersByTimeAsync(30);
    await this.latest.accept();
    return this.latest;
  }
}

class Page {
  readonly got: ToPage[] = [];
  readonly client: Client;

  constructor(private readonly hub: Hub) {
    this.client = hub.connect((message) => void this.got.push(message));
  }

  follow(jobId: string, after: number, id = 1): void {
    this.hub.take(this.client, { type: "follow", id, jobId, after });
  }

  watch(...jobIds: string[]): void {
    this.hub.take(this.client, { type: "watch", id: 9, jobIds });
  }

  say(type: "bye" | "wake" | "ping"): void {
    this.hub.take(this.client, { type });
  }

  get seqs(): number[] {
    return this.got.flatMap((message) => (message.type === "events" ? message.events.map(({ seq }) => seq) : []));
  }

  get links(): string[] {
    return this.got.flatMap((message) => (message.type === "link" ? [message.link.state] : []));
  }

  of<Type extends ToPage["type"]>(type: Type): Extract<ToPage, { type: Type }>[] {
    return this.got.filter((message): message is Extract<ToPage, { type: Type }> => message.type === type);
  }
}
