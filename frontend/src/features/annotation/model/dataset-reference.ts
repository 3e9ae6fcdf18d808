/** A dataset's id without its version or pin. */
export const bareDataset = (reference: string): string => reference.split("@")[0] ?? reference;

/** The number of a version in "ds_…@2"; null where there is none, or a pin by hash. */
export function versionOf(reference: string): number | null {
  const number = /@(\d+)$/.exec(reference)?.[1];
  return number === undefined ? null : Number(number);
}
