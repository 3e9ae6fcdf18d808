/** The step under the pointer, shared by the charts of a group; null when it is over none. */
export class Cursor {
  private step: number | null = null;
  private readonly listeners = new Set<() => void>();

  set = (step: number | null): void => {
    if (step === this.step) return;
    this.step = step;
    this.listeners.forEach((listener) => listener());
  };

  get = (): number | null => this.step;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}
