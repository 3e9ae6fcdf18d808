import { afterEach, expect, test, vi } from "vitest";
import { api, ApiError } from "@/lib/api/client";
import { keepViewSettings, onRefusedSetting, openViewSettings, takeSettings, viewSetting } from "@/lib/view-settings";

const asText = (stored: unknown): string => (typeof stored === "string" ? stored : "usual");
const NOW = Number.MAX_SAFE_INTEGER;

/** Lets the requests be answered with these statuses in their order; the bodies that were sent. */
function server(...statuses: number[]): unknown[] {
  const sent: unknown[] = [];
  const answer = async (_: unknown, { body }: { body: unknown }) => {
    sent.push(body);
    await Promise.resolve();
    const status = statuses.shift() ?? 200;
    if (status === 0) throw new TypeError("offline");
    return { data: {}, error: { detail: "Too large." }, response: new Response(null, { status }) };
  };
  vi.spyOn(api, "PUT").mockImplementation(answer as never);
  return sent;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

afterEach(() => {
  keepViewSettings(true);
  takeSettings([], NOW);
  vi.restoreAllMocks();
});

test("a change is seen at once and sent", async () => {
  const sent = server();
  const setting = viewSetting("a", asText);
  expect(setting.get()).toBe("usual");
  setting.change((before) => `${before}, pinned`);
  expect(setting.get()).toBe("usual, pinned");
  await settled();
  expect(sent).toEqual([{ value: "usual, pinned" }]);
});

test("changes during a request are sent after it, the newest one only", async () => {
  const sent = server();
  const setting = viewSetting("a", asText);
  for (const value of ["1", "2", "3"]) setting.change(() => value);
  await settled();
  expect(sent).toEqual([{ value: "1" }, { value: "3" }]);
});

test("a change in the read-only view is shown and not sent", async () => {
  const sent = server();
  const setting = viewSetting("a", asText);
  keepViewSettings(false);
  setting.change(() => "mine");
  expect(setting.get()).toBe("mine");
  await settled();
  takeSettings([{ name: "a", value: "theirs" }], NOW);
  expect([setting.get(), sent]).toEqual(["theirs", []]);
});

test("another browser's value arrives, and a deleted one is the usual one", () => {
  const setting = viewSetting("a", asText);
  takeSettings([{ name: "a", value: "theirs" }], NOW);
  expect(setting.get()).toBe("theirs");
  takeSettings([], NOW);
  expect(setting.get()).toBe("usual");
});

test("an answer that was asked for before a change does not undo it", async () => {
  server();
  const setting = viewSetting("a", asText);
  setting.change(() => "mine");
  await settled();
  takeSettings([{ name: "a", value: "theirs" }], 0);
  expect(setting.get()).toBe("mine");
  takeSettings([{ name: "a", value: "theirs" }], NOW);
  expect(setting.get()).toBe("theirs");
});

test("a change without a server is sent with the next load", async () => {
  const sent = server(0);
  const setting = viewSetting("a", asText);
  setting.change(() => "mine");
  await settled();
  takeSettings([{ name: "a", value: "theirs" }], NOW);
  expect(setting.get()).toBe("mine");
  await settled();
  expect(sent).toEqual([{ value: "mine" }, { value: "mine" }]);
});

test("a refused change is reported and stays in this browser", async () => {
  server(413);
  const refused: Error[] = [];
  onRefusedSetting((error) => refused.push(error));
  const setting = viewSetting("a", asText);
  setting.change(() => "long");
  await settled();
  expect(refused).toEqual([new ApiError(413, { detail: "Too large." })]);
  expect(setting.get()).toBe("long");
  takeSettings([], NOW);
  await settled();
  expect(setting.get()).toBe("long");
});

test("each owner has settings of its own", async () => {
  server();
  openViewSettings("one");
  const setting = viewSetting("a", asText);
  setting.change(() => "mine");
  await settled();
  openViewSettings("two");
  expect(setting.get()).toBe("usual");
});
