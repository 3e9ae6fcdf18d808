/** How long an item was looked at: time in a hidden tab does not count. `now` is in milliseconds. */
export class Stopwatch {
  private before = 0;
  private since: number | null;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.since = now();
  }

  /** Begins anew, running unless it was stopped. */
  restart(): void {
    this.before = 0;
    if (this.since !== null) this.since = this.now();
  }

  stop(): void {
    this.before = this.milliseconds();
    this.since = null;
  }

  go(): void {
    this.since ??= this.now();
  }

  get seconds(): number {
    return this.milliseconds() / 1000;
  }

  private milliseconds(): number {
    return this.before + (this.since === null ? 0 : this.now() - this.since);
  }
}
