const TICK_MS = 5000;
const ASLEEP_MS = 20_000;
const REST_MS = 60_000;

interface Watch {
  /**
   * The page has been away: the machine slept (the clock jumped), the tab was hidden for a while, or the network came
   * back. A connection may be dead by then without the browser knowing.
   */
  onWake: () => void;
  /** The tab has been hidden for a minute. Browsers share six connections among all tabs: a hidden one should hold none. */
  onRest: () => void;
}

/** Watches over a page that holds a connection open. */
export function watchPage({ onWake, onRest }: Watch): () => void {
  let last = Date.now();
  let hiddenAt: number | null = null;
  let rest: ReturnType<typeof setTimeout> | undefined;
  const tick = () => {
    // A hidden tab's timers are slowed down, which is no sleep.
    if (Date.now() - last > ASLEEP_MS && !document.hidden) onWake();
    last = Date.now();
  };
  const visibility = () => {
    clearTimeout(rest);
    if (document.hidden) {
      hiddenAt = Date.now();
      rest = setTimeout(onRest, REST_MS);
    } else if (hiddenAt !== null && Date.now() - hiddenAt > ASLEEP_MS) {
      last = Date.now();
      onWake();
    }
  };
  const timer = setInterval(tick, TICK_MS);
  document.addEventListener("visibilitychange", visibility);
  window.addEventListener("online", onWake);
  return () => {
    clearInterval(timer);
    clearTimeout(rest);
    document.removeEventListener("visibilitychange", visibility);
    window.removeEventListener("online", onWake);
  };
}
