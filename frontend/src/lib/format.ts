/** Stands for a missing value. */
export const NO_VALUE = "\u2013";

const MINUS = "−";

/** A formatter that is made when it is first used: making one takes far longer than using it. */
function kept<Format>(make: () => Format): () => Format {
  let made: Format | undefined;
  return () => (made ??= make());
}

const SIX_DIGITS = kept(() => new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6, useGrouping: "min2" }));
const DATE_AND_TIME = kept(() => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }));
const CLOCK = kept(() => new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hour12: false }));

/** A number with about `digits` significant digits, never wider than a table cell. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  const rounded = Math.abs(value) >= 10 ** (digits - 1) ? Math.round(value) : Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  const text =
    size !== 0 && (size >= 1e6 || size < 1e-3)
      ? value.toExponential(Math.max(0, digits - 2)).replace("e+", "e")
      : SIX_DIGITS().format(rounded);
  return text.replaceAll("-", MINUS);
}

/** A measured value: three significant digits, zeros included, so that 1.10 does not look rougher than 1.05. */
export function measured(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isInteger(value)) return number(value);
  const size = Math.abs(value);
  return size >= 100 || size < 1e-3 ? number(value) : value.toPrecision(3).replace("-", MINUS);
}

/** Fixed decimals, so that a column lines up. */
export function fixed(value: number | null | undefined, decimals = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  return value.toFixed(decimals).replace("-", MINUS);
}

export function percent(fraction: number | null | undefined, decimals = 0): string {
  if (fraction === null || fraction === undefined || !Number.isFinite(fraction)) return NO_VALUE;
  return `${(fraction * 100).toFixed(decimals).replace("-", MINUS)} %`;
}

export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = size;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ""}`;
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NO_VALUE;
  if (seconds > 0 && seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Hours with two decimals, such as "0.04 h"; below a hundredth "< 0.01 h". */
export function hours(value: number): string {
  return value > 0 && value < 0.01 ? "< 0.01 h" : `${value >= 100 ? number(value) : value.toFixed(2)} h`;
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString("en-US")} ${value === 1 ? one : many}`;
}

export function ago(then: string, now: number): string {
  const seconds = (now - Date.parse(then)) / 1000;
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days < 30 ? `${days} d ago` : new Date(then).toISOString().slice(0, 10);
}

export function absolute(time: string): string {
  return DATE_AND_TIME().format(new Date(time));
}

export function clock(time: string): string {
  return CLOCK().format(new Date(time));
}

/** The date without the year, such as "23 Nov". */
export function day(time: string): string {
  return new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

export const secondsBetween = (from: string, to: number): number => (to - Date.parse(from)) / 1000;
