import type { JobEvent } from "@/lib/api/types";

/** A message of a server-sent event stream. */
export interface SseMessage {
  readonly type: string;
  readonly data: string;
}

/** Splits the text of an event stream into messages. Comments, ids and retry times are left out. */
export class SseParser {
  private rest = "";

  /** The messages that `text` completes. */
  push(text: string): SseMessage[] {
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap(messageOf);
  }
}

function messageOf(block: string): SseMessage[] {
  let type = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) type = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? [{ type, data: data.join("\n") }] : [];
}

/** The events of jobs among the messages, with their sizes in characters. */
export function eventsOf(messages: readonly SseMessage[]): { event: JobEvent; size: number }[] {
  return messages.flatMap(({ type, data }) => {
    const event = type === "done" ? null : parsed(data);
    return event ? [{ event: event as JobEvent, size: data.length }] : [];
  });
}

/** The jobs whose last event was sent. */
export function endedJobs(messages: readonly SseMessage[]): string[] {
  return messages.flatMap(({ type, data }) => {
    const done = type === "done" ? parsed(data) : null;
    return done && "job_id" in done && typeof done.job_id === "string" ? [done.job_id] : [];
  });
}

/** The object of a message; null for text that is none. The server's schema defines its fields. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
