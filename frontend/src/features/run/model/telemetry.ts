import type { Series } from "@/charts/series";
import type { Telemetry } from "@/lib/api/types";

/** One chart of measurements of the machine. */
interface MachineChart {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly { readonly key: string; readonly label: string; readonly series: Series }[];
}

interface Wanted {
  readonly title: string;
  readonly unit: string;
  /** Names of the measurements, with their labels. A GPU's number is left out. */
  readonly names: Readonly<Record<string, string>>;
  readonly scale?: number;
}

const WANTED: readonly Wanted[] = [
  { title: "CPU of the trainer", unit: "cores", names: { "cpu/percent": "" }, scale: 0.01 },
  {
    title: "Memory",
    unit: "bytes",
    names: { "memory/rss": "trainer", "memory/machine_used": "machine", "memory/machine_total": "installed" },
  },
  { title: "Disk", unit: "bytes", names: { "disk/run_folder": "run folder", "disk/free": "free" } },
  { title: "GPU utilisation", unit: "%", names: { "gpu/utilisation": "" } },
  { title: "GPU memory", unit: "bytes", names: { "gpu/memory_used": "used", "gpu/memory_total": "installed" } },
  { title: "GPU power", unit: "W", names: { "gpu/power": "" } },
  { title: "GPU temperature", unit: "°C", names: { "gpu/temperature": "" } },
];

/** The charts for which there are measurements. Positions are seconds of the epoch. */
export function machineCharts(telemetry: Pick<Telemetry, "at" | "series">): MachineChart[] {
  const at = telemetry.at.map((time) => Date.parse(time) / 1000);
  return WANTED.flatMap(({ title, unit, names, scale = 1 }) => {
    const lines = telemetry.series.flatMap(({ name, values }) => {
      const [, gpu, rest] = /^gpu\/(\d+)\/(.+)$/.exec(name) ?? [];
      const label = names[rest === undefined ? name : `gpu/${rest}`];
      if (label === undefined) return [];
      const whole = [gpu === undefined ? "" : `GPU ${gpu}`, label].filter(Boolean).join(" ");
      return [{ key: name, label: whole, series: seriesOf(at, values, scale) }];
    });
    return lines.length ? [{ title, unit, lines }] : [];
  });
}

/** Moments without a measurement are left out. */
function seriesOf(at: readonly number[], values: readonly (number | null)[], scale: number): Series {
  const present = at.flatMap((time, index) => {
    const value = values[index];
    return value === null || value === undefined ? [] : [[time, value * scale] as const];
  });
  return { steps: present.map(([time]) => time), values: present.map(([, value]) => value), min: null, max: null };
}
