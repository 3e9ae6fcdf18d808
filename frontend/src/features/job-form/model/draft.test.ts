import { afterEach, expect, test, vi } from "vitest";
import { discardDraft, type Draft, readDraft, writeDraft } from "@/features/job-form/model/draft";
import { NO_OPTIONS } from "@/features/job-form/model/sweep";

const store = new Map<string, string>();
vi.stubGlobal("localStorage", {
  getItem: (key: string) => store.get(key) ?? null,
  setItem: (key: string, text: string) => void store.set(key, text),
  removeItem: (key: string) => void store.delete(key),
});
afterEach(() => store.clear());

const DRAFT: Draft = {
  spec: { seed: 1 },
  variations: { "ppo.steps": "1, 2" },
  options: { ...NO_OPTIONS, count: "2x" },
  unreadable: { seed: { text: "1e", fault: "“1e” is no number." } },
  queueing: { priority: "high", preemptible: true },
};

test("a draft is read back with the texts that cannot be read", () => {
  writeDraft(DRAFT);
  expect(readDraft()).toEqual(DRAFT);
  discardDraft();
  expect(readDraft()).toBeNull();
});

test.each(["", "{", "[]", '{"spec": 1, "variations": {}}'])("a stored %j is no draft", (text) => {
  writeDraft(DRAFT);
  for (const key of store.keys()) store.set(key, text);
  expect(readDraft()).toBeNull();
});

test("parts of another shape are left out", () => {
  const queueing = { priority: "urgent", preemptible: 1 };
  const parts = { options: { count: 2 }, variations: { a: 1 }, unreadable: { b: "c" }, queueing };
  writeDraft({ ...DRAFT, ...parts } as unknown as Draft);
  expect(readDraft()).toEqual({
    spec: { seed: 1 },
    variations: {},
    options: NO_OPTIONS,
    unreadable: {},
    queueing: { priority: "normal", preemptible: false },
  });
});
