import type { Along } from "@/charts/placement";
import type { Series } from "@/charts/series";

const PLACED = new WeakMap<Series, { readonly along: Along; readonly placed: Series }>();

/**
 * The series with positions on the axis in place of its steps, ascending. Points without a position are left out. Points
 * that share a position become one, with the mean of their values. It is the same object while series and `along` are.
 */
export function placed(series: Series, along: Along): Series {
  const known = PLACED.get(series);
  if (known?.along === along) return known.placed;
  const made = inOrder(series, along);
  PLACED.set(series, { along, placed: made });
  return made;
}

function inOrder(series: Series, along: Along): Series {
  const drawn = series.mean ?? series.values;
  const rows = series.steps.map((step, index) => {
    const value = drawn[index] ?? NaN;
    return { at: along(step), value, low: series.min?.[index] ?? value, high: series.max?.[index] ?? value };
  });
  const found = rows.filter(({ at }) => Number.isFinite(at));
  if (along.scattered) found.sort((a, b) => a.at - b.at);
  const to = { steps: [] as number[], values: [] as number[], min: [] as number[], max: [] as number[] };
  let shared = 0;
  for (const { at, value, low, high } of found) {
    const last = to.steps.length - 1;
    shared = to.steps[last] === at ? shared + 1 : 1;
    if (shared === 1) {
      to.steps.push(at);
      to.values.push(value);
      to.min.push(low);
      to.max.push(high);
      continue;
    }
    to.values[last] = (to.values[last] ?? 0) + (value - (to.values[last] ?? 0)) / shared;
    to.min[last] = Math.min(to.min[last] ?? low, low);
    to.max[last] = Math.max(to.max[last] ?? high, high);
  }
  return series.min ? to : { ...to, min: null, max: null };
}
