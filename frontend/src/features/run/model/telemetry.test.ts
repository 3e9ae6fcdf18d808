import { expect, test } from "vitest";
import { machineCharts } from "@/features/run/model/telemetry";

test("measurements become charts over time, those of several GPUs in one; a missing one leaves no point", () => {
  const at = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"];
  const charts = machineCharts({
    at,
    series: [
      { name: "cpu/percent", values: [100, 250] },
      { name: "gpu/0/power", values: [300, null] },
      { name: "gpu/1/power", values: [310, 320] },
      { name: "fan/speed", values: [1, 2] },
    ],
  });
  const start = Date.parse(at[0] ?? "") / 1000;
  expect(charts.map(({ title, unit }) => [title, unit])).toEqual([
    ["CPU of the trainer", "cores"],
    ["GPU power", "W"],
  ]);
  expect(charts[0]?.lines[0]?.series).toMatchObject({ steps: [start, start + 10], values: [1, 2.5] });
  expect(charts[1]?.lines.map(({ label, series }) => [label, series.values])).toEqual([
    ["GPU 0", [300]],
    ["GPU 1", [310, 320]],
  ]);
});
