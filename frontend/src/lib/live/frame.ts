const HIDDEN_MS = 1000;

/** Runs `act` before the next frame is drawn; in a hidden tab, which draws none, within a second or so. */
export function onFrame(act: () => void): () => void {
  const cancel = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const run = () => {
    cancel();
    act();
  };
  const frame = requestAnimationFrame(run);
  const timer = setTimeout(run, HIDDEN_MS);
  return cancel;
}
