const RELOADED = "proximal-reloaded";
const ENTRY = /<script[^>]+type="module"[^>]+src="([^"]+)"/;

/** The script that starts the dashboard. Its name contains a hash of the build. */
export const entryOf = (html: string): string | null => ENTRY.exec(html)?.[1] ?? null;

/** The entry of the build that the server has; null if it does not answer. */
async function served(): Promise<string | null> {
  const response = await fetch("/", { cache: "no-store", headers: { Accept: "text/html" } }).catch(() => null);
  return response?.ok ? entryOf(await response.text()) : null;
}

const current = (): string | null => document.querySelector('script[type="module"]')?.getAttribute("src") ?? null;

/** Whether the server has another build of the dashboard than this tab. */
export async function isReplaced(): Promise<boolean> {
  const entry = await served();
  return entry !== null && entry !== current();
}

/** Loads the page again, at most once for each build that is left. Returns whether it does. */
export function reloadOnce(): boolean {
  const mark = current() ?? "";
  try {
    if (sessionStorage.getItem(RELOADED) === mark) return false;
    sessionStorage.setItem(RELOADED, mark);
  } catch {
    return false; // Blocked storage: without the mark, a reload could repeat for ever.
  }
  window.location.reload();
  return true;
}
