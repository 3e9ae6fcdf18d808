import type { JobEvent } from "@/lib/api/types";

/** A cursor beyond every event: the server then sends new events only. */
export const FROM_END = 10 ** 15;
const MOST_EVENTS = 300;
const MOST_CHARACTERS = 2_000_000;

/** The newest events of one job. A page whose cursor is not below `floor` gets what it misses from here. */
export class Tail {
  floor: number;
  seq: number;
  private events: { readonly event: JobEvent; readonly size: number }[] = [];
  private size = 0;

  constructor(after: number) {
    this.floor = this.seq = after;
  }

  /** Keeps an event of `size` characters. Returns false for one that is here already. */
  add(event: JobEvent, size: number): boolean {
    if (this.seq >= FROM_END) this.floor = this.seq = event.seq - 1;
    if (event.seq <= this.seq) return false;
    this.seq = event.seq;
    this.events.push({ event, size });
    this.size += size;
    while (this.events.length > MOST_EVENTS || this.size > MOST_CHARACTERS) this.dropOldest();
    return true;
  }

  after(seq: number): JobEvent[] {
    return this.events.flatMap(({ event }) => (event.seq > seq ? [event] : []));
  }

  private dropOldest(): void {
    const oldest = this.events.shift();
    if (!oldest) return;
    this.size -= oldest.size;
    this.floor = oldest.event.seq;
  }
}
