import { describe, expect, it } from "vitest";
import { changesOf, hardware, stateText } from "@/features/workers/model";

const h100 = { model: "NVIDIA H100", memory_gib: 80 };

describe("hardware", () => {
  it("counts GPUs of one kind", () =>
    expect(hardware({ gpus: [h100, h100], cores: 64 })).toBe("2 × NVIDIA H100 (80 GiB)"));
  it("lists different GPUs", () =>
    expect(hardware({ gpus: [h100, { model: "NVIDIA L4", memory_gib: 24 }], cores: 8 })).toBe(
      "NVIDIA H100 (80 GiB), NVIDIA L4 (24 GiB)",
    ));
  it("names the cores of a machine without a GPU", () => expect(hardware({ gpus: [], cores: 1 })).toBe("CPU, 1 core"));
  it("does not invent cores", () => expect(hardware({ gpus: [], cores: 0 })).toBe("CPU"));
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
  expect(stateText({ state: "online", busy: true, job_id: null, offline: false })).toBe("Runs a job of another key"));
