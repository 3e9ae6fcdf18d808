const TICK_MS = 5000;
const ASLEEP_MS = 20_000;

/**
 * Calls back when the page has been away: the machine slept (the clock jumped), the tab was hidden for a while, or the
 * network came back. A connection may be dead by then without the browser knowing.
 */
export function onWake(callback: () => void): () => void {
  let last = Date.now();
  let hiddenAt: number | null = null;
  const tick = () => {
    // A hidden tab's timers are slowed down, which is no sleep.
    if (Date.now() - last > ASLEEP_MS && !document.hidden) callback();
    last = Date.now();
  };
  const visibility = () => {
    if (document.hidden) hiddenAt = Date.now();
    else if (hiddenAt !== null && Date.now() - hiddenAt > ASLEEP_MS) {
      last = Date.now();
      callback();
    }
  };
  const timer = setInterval(tick, TICK_MS);
  document.addEventListener("visibilitychange", visibility);
  window.addEventListener("online", callback);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", visibility);
    window.removeEventListener("online", callback);
  };
}
