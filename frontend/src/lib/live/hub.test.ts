import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Stage } from "@/lib/live/fake-server";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("several pages", () => {
  test("share one request, and a second page gets what the first has seen since its snapshot", async () => {
    const stage = new Stage();
    const [first, second] = [stage.page(), stage.page()];
    first.follow("job_a", 7);
    const request = await stage.settle();
    await request.event("job_a", 8);
    await request.event("job_a", 9);
    second.follow("job_a", 8);
    await request.event("job_a", 10);
    await vi.advanceTimersByTimeAsync(1000);
    expect([first.seqs, second.seqs, stage.requests.map(({ jobs }) => jobs)]).toEqual([
      [8, 9, 10],
      [9, 10],
      ["job_a:7"],
    ]);
  });

  test("of several jobs share a request with the cursor of each", async () => {
    const stage = new Stage();
    const [first, second] = [stage.page(), stage.page()];
    first.follow("job_a", 7);
    const before = await stage.settle();
    await before.event("job_a", 8);
    second.follow("job_b", 3);
    const request = await stage.settle();
    await request.event("job_b", 4);
    await request.event("job_a", 9);
    expect([before.isOpen, request.jobs]).toEqual([false, "job_a:8,job_b:3"]);
    expect([first.seqs, second.seqs]).toEqual([[8, 9], [4]]);
  });

  test("with an older snapshot rewind the stream, and the first page gets no repeats", async () => {
    const stage = new Stage();
    const [first, second] = [stage.page(), stage.page()];
    first.follow("job_a", 7);
    const before = await stage.settle();
    await before.event("job_a", 8);
    second.follow("job_a", 5);
    const request = await stage.settle();
    for (const seq of [6, 7, 8]) await request.event("job_a", seq);
    expect([request.jobs, first.seqs, second.seqs]).toEqual(["job_a:5", [8], [6, 7, 8]]);
  });

  test("that all have left close the stream after a while", async () => {
    const stage = new Stage();
    const page = stage.page();
    page.follow("job_a", 7);
    const request = await stage.settle();
    page.say("bye");
    await vi.advanceTimersByTimeAsync(31_000);
    expect([request.isOpen, stage.requests.length]).toEqual([false, 1]);
  });
});

describe("a lost connection", () => {
  test("continues at the cursor, and shows only an absence that lasts", async () => {
    const stage = new Stage();
    const page = stage.page();
    page.follow("job_a", 7);
    const request = await stage.settle();
    await request.event("job_a", 8);
    await request.drop();
    await vi.advanceTimersByTimeAsync(1000);
    await stage.latest.accept();
    await vi.advanceTimersByTimeAsync(5000);
    expect([stage.latest.jobs, page.links]).toEqual(["job_a:8", ["idle", "connecting", "live"]]);
  });

  test("is reported with the time since when, while the server refuses", async () => {
    const stage = new Stage();
    const page = stage.page();
    page.follow("job_a", 7);
    await (await stage.settle()).drop();
    const lostAt = Date.now();
    for (let time = 0; time < 10_000; time += 500) {
      await vi.advanceTimersByTimeAsync(500);
      await stage.latest.refuse(502);
    }
    expect(page.of("link").at(-1)?.link).toEqual({ state: "reconnecting", since: lostAt });
    page.say("wake");
    await stage.latest.accept();
    expect([page.links.at(-1), stage.latest.jobs]).toEqual(["live", "job_a:7"]);
  });

  test("is noticed by its silence, and shown at once", async () => {
    const stage = new Stage();
    const page = stage.page();
    page.follow("job_a", 7);
    const request = await stage.settle();
    const heard = async () => {
      await vi.advanceTimersByTimeAsync(11_000);
      await request.write(": keep-alive\n\n");
      return Date.now();
    };
    await heard();
    const heardAt = await heard();
    expect([request.isOpen, stage.requests.length]).toEqual([true, 1]);
    await vi.advanceTimersByTimeAsync(12_001);
    expect(page.of("link").at(-1)?.link).toEqual({ state: "reconnecting", since: heardAt });
    await vi.advanceTimersByTimeAsync(1000);
    expect([request.isOpen, stage.requests.length]).toEqual([false, 2]);
  });
});

describe("the end", () => {
  test("of a job is told to its pages, and no further request has it", async () => {
    const stage = new Stage();
    const [first, second] = [stage.page(), stage.page()];
    first.follow("job_a", 7);
    second.follow("job_b", 1);
    const request = await stage.settle();
    await request.done("job_a");
    await request.drop();
    await vi.advanceTimersByTimeAsync(1000);
    expect([first.of("done"), second.of("done"), stage.latest.jobs]).toEqual([
      [{ type: "done", id: 1 }],
      [],
      "job_b:1",
    ]);
  });

  test("of all jobs, 204, leaves no connection", async () => {
    const stage = new Stage();
    const page = stage.page();
    page.follow("job_a", 7);
    await vi.advanceTimersByTimeAsync(30);
    await stage.latest.refuse(204);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([page.of("done").length, page.links.at(-1), stage.requests.length]).toEqual([1, "idle", 1]);
  });

  test("a deleted job ends, and the others continue", async () => {
    const stage = new Stage();
    const [first, second] = [stage.page(), stage.page()];
    first.follow("job_a", 7);
    second.follow("job_b", 1);
    await vi.advanceTimersByTimeAsync(30);
    await stage.latest.refuse(404, "There is no job 'job_a'.");
    expect([first.of("done").length, second.of("done").length, stage.latest.jobs]).toEqual([1, 0, "job_b:1"]);
  });
});

test("a list gets the types of events, not the events, and asks for new ones only", async () => {
  const stage = new Stage();
  const list = stage.page();
  list.watch("job_a", "job_b");
  const request = await stage.settle();
  await request.event("job_b", 41, "status_changed");
  expect([request.jobs, list.seqs]).toEqual(["job_a:1000000000000000,job_b:1000000000000000", []]);
  expect(list.of("news")).toEqual([{ type: "news", id: 9, types: ["status_changed"] }]);
});

test("a page that was forgotten is told so", async () => {
  const stage = new Stage();
  const [frozen, awake] = [stage.page(), stage.page()];
  frozen.follow("job_a", 7);
  await stage.settle();
  await vi.advanceTimersByTimeAsync(250_000);
  awake.say("ping");
  frozen.say("ping");
  expect(frozen.of("pong")).toEqual([{ type: "pong", subs: 0 }]);
});

test("a session that ended stops the requests until a page follows a job again", async () => {
  const stage = new Stage();
  const page = stage.page();
  page.follow("job_a", 7);
  await vi.advanceTimersByTimeAsync(30);
  await stage.latest.refuse(401);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([page.links.at(-1), stage.requests.length]).toEqual(["signed-out", 1]);
  page.follow("job_a", 7);
  await stage.settle();
  expect(page.links.at(-1)).toBe("live");
});
