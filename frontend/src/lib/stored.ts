/** A number kept in this browser; `fallback` where there is none, or where storage is blocked. */
export function readNumber(key: string, fallback: number): number {
  try {
    const value = Number.parseFloat(localStorage.getItem(key) ?? "");
    return Number.isFinite(value) ? value : fallback;
  } catch {
    return fallback;
  }
}

export const writeNumber = (key: string, value: number): void => writeText(key, String(value));

/** A text kept in this browser; null where there is none, or where storage is blocked. */
export function readText(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeText(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Blocked: the choice then lasts until the page is left.
  }
}

export function removeText(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Blocked: nothing was kept.
  }
}
