import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchPage } from "@/lib/live/wake";

const page = Object.assign(new EventTarget(), { hidden: false });
const callback = vi.fn();
const rest = vi.fn();
let stop: () => void;

function show(visible: boolean): void {
  page.hidden = !visible;
  page.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", page);
  vi.stubGlobal("window", new EventTarget());
  callback.mockClear();
  rest.mockClear();
  page.hidden = false;
  stop = watchPage({ onWake: callback, onRest: rest });
});
afterEach(() => {
  stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("time that passes while the page is awake is no sleep", () => {
  vi.advanceTimersByTime(120_000);
  expect(callback).not.toHaveBeenCalled();
});

test("a clock that jumped means the machine slept", () => {
  vi.setSystemTime(Date.now() + 3_600_000);
  vi.advanceTimersByTime(5000);
  expect(callback).toHaveBeenCalledOnce();
});

test("a tab that was hidden for long wakes once when it is shown; a glance elsewhere is nothing", () => {
  show(false);
  vi.setSystemTime(Date.now() + 5000);
  show(true);
  expect(callback).not.toHaveBeenCalled();
  show(false);
  vi.setSystemTime(Date.now() + 60_000);
  show(true);
  vi.advanceTimersByTime(5000);
  expect(callback).toHaveBeenCalledOnce();
});

test("a network that comes back wakes", () => {
  window.dispatchEvent(new Event("online"));
  expect(callback).toHaveBeenCalledOnce();
});

test("a tab that stays hidden rests; one that is shown again in time does not", () => {
  show(false);
  vi.advanceTimersByTime(30_000);
  show(true);
  vi.advanceTimersByTime(60_000);
  expect(rest).not.toHaveBeenCalled();
  show(false);
  vi.advanceTimersByTime(60_000);
  expect(rest).toHaveBeenCalledOnce();
});
