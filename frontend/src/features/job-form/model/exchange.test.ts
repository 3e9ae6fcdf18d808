import { expect, test } from "vitest";
import { commandFor, readSpec, tomlOf } from "@/features/job-form/model/exchange";
import { holds, rolesOf, stagesIn } from "@/features/job-form/model/layout";
import { derivedName, withChanges } from "@/features/job-form/model/origin";
import { pathOf } from "@/features/job-form/model/problems";
import type { Field } from "@/features/job-form/model/schema";
import type { JsonObject } from "@/features/job-form/model/spec";
import { submissionOf } from "@/features/job-form/model/submission";
// eslint-disable-next-line no-restricted-imports -- a file outside of src
import TEXTS from "../../../../../tests/frontend/spec_texts.json";

const SPEC = { model: { path: "it's" }, ppo: { steps: 5, critic: { value_clip_range: null } } };

test("TOML and JSON are read, with null", async () => {
  expect(await readSpec('name = "Tiny"\n[ppo]\nsteps = 6\n')).toEqual({ name: "Tiny", ppo: { steps: 6 } });
  expect(await readSpec('{"seed": 1}')).toEqual({ seed: 1 });
  expect(await readSpec(await tomlOf(SPEC))).toEqual(SPEC);
  await expect(readSpec("[a]\nb = 2026-11-24\n")).rejects.toThrow("a.b holds a date. Write it as a text, in quotes.");
  for (const text of ["[a]\nb = [inf]", "[a]\nb = [-inf]", "[a]\nb = [nan]"])
    await expect(readSpec(text)).rejects.toThrow(/^a\.b\.0 is (inf|nan)\. Write a finite number, or \{ null = true \}/);
  await expect(readSpec('{"seed": 9007199254740993}')).rejects.toThrow("Line 1: 9007199254740993 is too large");
});

test("the TOML is that which Python's tests read", async () => {
  for (const { spec, toml } of TEXTS) expect(await tomlOf(spec as JsonObject)).toBe(toml);
});

test("a fault in a file names its line", async () => {
  await expect(readSpec("[ppo]\nsteps = \n")).rejects.toThrow("Line 2, column");
  await expect(readSpec('{"a": 1,\n "b" 2}')).rejects.toThrow(/line 2|Line 2/);
});

test("the commands hold the spec and no key", () => {
  const submission = { path: "/v1/jobs", body: SPEC };
  expect(commandFor("curl", "http://h", submission, "")).toContain(`"path": "it'\\''s"`);
  expect(commandFor("python", "http://h", submission, "")).toContain('httpx.post("http://h/v1/jobs"');
  expect(commandFor("cli", "http://h", submission, "seed = 1\n")).toBe(
    "cat > spec.toml <<'END'\nseed = 1\nEND\nproximal jobs submit spec.toml",
  );
  const branch = { path: "/v1/jobs/job_1/branch", body: { checkpoint: "ckpt_1", patch: { seed: null } } };
  expect(commandFor("cli", "http://h", branch, "")).toBe(
    "cat > patch.json <<'END'\n{\n  \"seed\": null\n}\nEND\nproximal jobs branch job_1 --from ckpt_1 --patch patch.json",
  );
  const urgent = { path: "/v1/jobs?priority=high&preemptible=true", body: SPEC };
  expect(commandFor("cli", "http://h", urgent, "")).toContain("submit spec.toml --priority high --preemptible");
});

test("stages decide the datasets of a job", () => {
  expect(stagesIn({ stages: ["evaluation", "sft"] })).toEqual(["sft", "evaluation"]);
  expect(rolesOf({}, ["kto"])).toEqual(["thumbs"]);
  expect(rolesOf({ ppo: { ptx: {} } }, ["dpo"])).toEqual(["preferences", "pretraining"]);
});

test("a problem opens the section that holds its field, and no other", () => {
  const leaf = (path: string) => ({ type: "leaf", path }) as unknown as Field;
  const group = { type: "group", path: "ppo.kl", fields: [leaf("ppo.kl.target")] } as unknown as Field;
  const fields = [group, leaf("model.config")];
  expect(["ppo.kl", "ppo.kl.target", "model.config.a"].map((path) => holds(fields, path))).toEqual([true, true, true]);
  expect(holds(fields, "ppo.kl.coef")).toBe(false);
});

test("pointers and changes of the address become paths", () => {
  expect([pathOf("#/ppo/kl/coef"), pathOf("#"), pathOf("")]).toEqual(["ppo.kl.coef", "", ""]);
  expect(withChanges({ seed: 1 }, '{"ppo.kl.coef": 0.1}')).toEqual({ seed: 1, ppo: { kl: { coef: 0.1 } } });
  expect(withChanges({ seed: 1 }, '{"ppo.critic.value_clip_range": null}')).toEqual({
    seed: 1,
    ppo: { critic: { value_clip_range: null } },
  });
  expect(() => withChanges({ seed: 1 }, "not JSON")).toThrow(
    "The changes in the address (set=not JSON) cannot be read.",
  );
  expect(() => withChanges({ seed: 1 }, "[1]")).toThrow("cannot be read");
});

test("a copy has a name of its own", () => {
  expect(derivedName("Demo", "copy")).toBe("Demo (copy)");
  expect(derivedName("Demo (copy)", "copy")).toBe("Demo (copy 2)");
  expect(derivedName("Demo (copy 2)", "copy")).toBe("Demo (copy 3)");
  expect(derivedName("Demo (copy 2)", "branch")).toBe("Demo (branch)");
  expect(derivedName("", "copy")).toBeUndefined();
});

test("the address of a submission names what differs from the usual queueing", () => {
  const start = { job: null, checkpoint: null, group: null };
  expect(submissionOf(start, {}, {}, null, { priority: "high", preemptible: true, group: "grp_1" }).path).toBe(
    "/v1/jobs?priority=high&preemptible=true&group=grp_1",
  );
  expect(submissionOf(start, {}, {}, null).path).toBe("/v1/jobs");
});
