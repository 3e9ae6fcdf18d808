import { expect, it } from "vitest";
import { usageLines } from "@/features/settings/model";

const used = {
  open_jobs: 3,
  running_jobs: 1,
  gpus: 2,
  gpu_hours: 1.25,
  stored_bytes: 2_000_000,
  recent_gpu_hours: 0.5,
};
const limits = { running_jobs: null, gpus: 8, gpu_hours: 10, stored_bytes: 8_000_000, when_exceeded: "queue" as const };

it("shows use beside its limit, and alone without one", () => {
  expect(usageLines({ used, limits: { ...limits, open_jobs: 4 } })).toEqual([
    { name: "Unfinished jobs", text: "3 of 4", fraction: 0.75 },
    { name: "Running jobs", text: "1", fraction: null },
    { name: "GPUs in use", text: "2 of 8", fraction: 0.25 },
    { name: "GPU-hours this month", text: "1.25 of 10", fraction: 0.125 },
    { name: "Stored data", text: "2.0 MB of 8.0 MB", fraction: 0.25 },
  ]);
});

it("shows a limit of zero as reached", () =>
  expect(usageLines({ used, limits: { ...limits, open_jobs: 0 } })[0]?.fraction).toBe(1));
