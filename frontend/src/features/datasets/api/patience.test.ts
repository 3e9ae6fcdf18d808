import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { patiently } from "@/features/datasets/api/patience";
import { ApiError } from "@/lib/api/client";

const page = Object.assign(new EventTarget(), { onLine: true });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", page);
  vi.stubGlobal("navigator", page);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  page.onLine = true;
});

/** Fails so often, then answers; how often it was asked, and what became of it. */
function asked(error: Error, times: number, signal = new AbortController().signal) {
  const action = vi.fn(() => (action.mock.calls.length > times ? Promise.resolve("here") : Promise.reject(error)));
  const result = patiently(action, signal).catch((reason: unknown) => reason);
  return { action, result };
}

test("what passes is waited for, longer each time", async () => {
  const { action, result } = asked(new ApiError(503, {}), 3);
  await vi.advanceTimersByTimeAsync(500 + 1000 + 1999);
  expect(action).toHaveBeenCalledTimes(3);
  await vi.advanceTimersByTimeAsync(1);
  expect(await result).toBe("here");
});

test("the server says how long", async () => {
  const { action } = asked(new ApiError(429, {}, 20), 1);
  await vi.advanceTimersByTimeAsync(19_999);
  expect(action).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(action).toHaveBeenCalledTimes(2);
});

test("eight times are enough", async () => {
  const { action, result } = asked(new ApiError(502, {}), 100);
  await vi.advanceTimersByTimeAsync(31_500);
  expect(await result).toMatchObject({ status: 502 });
  expect(action).toHaveBeenCalledTimes(8);
});

test.each([404, 409, 507])("a %i is not asked for again", async (status) => {
  const { action, result } = asked(new ApiError(status, {}), 1);
  expect(await result).toMatchObject({ status });
  expect(action).toHaveBeenCalledTimes(1);
});

test("a night without a network is outlived, and its end noticed at once", async () => {
  page.onLine = false;
  const { action, result } = asked(new ApiError(0, {}), 1000);
  await vi.advanceTimersByTimeAsync(3_600_000);
  action.mockResolvedValue("here");
  page.dispatchEvent(new Event("online"));
  expect(await result).toBe("here");
});

test("who stops it does not wait", async () => {
  const stop = new AbortController();
  const { result } = asked(new ApiError(503, {}), 100, stop.signal);
  await vi.advanceTimersByTimeAsync(100);
  stop.abort();
  expect(await result).toMatchObject({ name: "AbortError" });
});
