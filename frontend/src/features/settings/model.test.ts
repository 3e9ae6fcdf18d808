import { expect, it } from "vitest";
import { browserName, usageLines } from "@/features/settings/model";

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

it.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36 Edg/142.0",
    "Edge on Windows",
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.5 Safari/604.1",
    "Safari on iOS",
  ],
  ["curl/8.9.1", "curl/8.9.1"],
  ["x".repeat(50), `${"x".repeat(40)}…`],
  [null, "Unknown browser"],
])("names the browser of %s", (agent, name) => expect(browserName(agent)).toBe(name));
