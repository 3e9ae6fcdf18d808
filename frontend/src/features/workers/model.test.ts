import { describe, expect, it } from "vitest";
import { changesOf, hardware, nodesText, rowsOf, stateText } from "@/features/workers/model";

const h100 = { model: "NVIDIA H100", memory_gib: 80 };

describe("hardware", () => {
  it("counts GPUs of one kind", () =>
    expect(hardware({ gpus: [h100, h100], cores: 64, cluster: null })).toBe("2 × NVIDIA H100 (80 GiB)"));
  it("lists different GPUs", () =>
    expect(hardware({ gpus: [h100, { model: "NVIDIA L4", memory_gib: 24 }], cores: 8, cluster: null })).toBe(
      "NVIDIA H100 (80 GiB), NVIDIA L4 (24 GiB)",
    ));
  it("names the cores of a machine without a GPU", () =>
    expect(hardware({ gpus: [], cores: 1, cluster: null })).toBe("CPU, 1 core"));
  it("names the namespace of a worker for Kubernetes", () =>
    expect(hardware({ gpus: [], cores: 4, cluster: { engine: "kubernetes", name: "research", partitions: [] } })).toBe(
      "Kubernetes namespace research",
    ));
  it("does not invent cores", () => expect(hardware({ gpus: [], cores: 0, cluster: null })).toBe("CPU"));
});

describe("changes of a worker", () => {
  it.each([
    ["online", false, "cordon drain"],
    ["cordoned", false, "uncordon drain"],
    ["draining", false, "uncordon"],
    ["cordoned", true, "uncordon"],
  ] as const)("from %s, offline %s: %s", (state, offline, changes) =>
    expect(changesOf({ state, offline }).map(({ change }) => change)).toEqual(changes.split(" ")),
  );
});

it("does not name the job of another key", () =>
  expect(stateText({ state: "online", busy: true, job_id: null, offline: false, problem: null })).toBe(
    "Runs a job of another key",
  ));

it("shows why an idle worker takes no job", () =>
  expect(stateText({ state: "online", busy: false, job_id: null, offline: false, problem: "Slurm is away." })).toBe(
    "Slurm is away.",
  ));

describe("the nodes of a cluster", () => {
  const idle = { state: "idle", count: 2, nodes: "n[1-2]", cores: 64, memory_mib: 1024 * 512, gpus: 8, reason: "" };
  const gpu = { name: "gpu", default: true, up: true, time_limit: "1-00:00:00", groups: [idle] };
  it("are counted with their hardware", () => expect(nodesText(idle)).toBe("2 × 64 cores, 8 GPUs, 550 GB"));
  it("have a row for each state, and a partition without nodes has one", () =>
    expect(
      rowsOf([
        { ...gpu, groups: [idle, { ...idle, state: "down", nodes: "n3" }] },
        { ...gpu, name: "old", groups: [] },
      ]).map(({ key }) => key),
    ).toEqual(["gpu idle n[1-2]", "gpu down n3", "old  "]));
});
