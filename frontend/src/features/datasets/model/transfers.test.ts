import { expect, test, vi } from "vitest";
import { type Carrier, Transfers } from "@/features/datasets/model/transfers";

type Options = Parameters<Carrier["send"]>[1];

/** A carrier whose transfers end at the test's command. */
function platform() {
  const sends: { options: Options; finish: () => void; fail: (error: Error) => void }[] = [];
  const discard = vi.fn(() => Promise.resolve());
  let now = 0;
  const carrier: Carrier = {
    send: (_, options) =>
      new Promise((resolve, reject) => {
        options.onOpen({ id: "up_1" });
        options.signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
        sends.push({ options, finish: () => resolve({ id: "up_1" }), fail: reject });
      }),
    discard,
    now: () => now,
  };
  const transfers = new Transfers(carrier);
  const only = () => transfers.get()[0];
  return { transfers, sends, discard, only, wait: (ms: number) => (now += ms) };
}

const file = new File(["0123456789"], "pairs.jsonl");
const settled = () => new Promise((resolve) => setTimeout(resolve));

test("a file that arrives is done, and has the id that the server gave it", async () => {
  const { transfers, sends, only } = platform();
  transfers.add(file);
  expect(transfers.busy).toBe(true);
  sends[0]?.finish();
  await settled();
  expect(only()).toMatchObject({ state: "done", sent: 10, uploadId: "up_1" });
  expect(transfers.busy).toBe(false);
});

test("a paused one goes on with the same upload", async () => {
  const { transfers, sends, only } = platform();
  transfers.add(file);
  sends[0]?.options.onProgress({ sent: 4, checking: false });
  transfers.pause(1);
  await settled();
  expect(only()).toMatchObject({ state: "paused", sent: 4, error: null });
  expect(sends[0]?.options.signal.aborted).toBe(true);
  transfers.resume(1);
  expect(sends[1]?.options.resume).toBe("up_1");
  expect(only()?.state).toBe("sending");
});

test("a failed one says why and can be tried again", async () => {
  const { transfers, sends, only } = platform();
  transfers.add(file);
  sends[0]?.fail(new Error("disk full"));
  await settled();
  expect(only()).toMatchObject({ state: "failed", error: new Error("disk full") });
  transfers.resume(1);
  expect(only()).toMatchObject({ state: "sending", error: null });
});

test("cancelling has the server forget it", async () => {
  const { transfers, discard } = platform();
  transfers.add(file);
  await transfers.cancel(1);
  expect(transfers.get()).toEqual([]);
  expect(discard).toHaveBeenCalledWith("up_1", file);
});

test("what the server could not forget stays on the list, and says why", async () => {
  const { transfers, discard, only, sends } = platform();
  discard.mockRejectedValueOnce(new Error("unreachable"));
  transfers.add(file);
  await transfers.cancel(1);
  expect(sends[0]?.options.signal.aborted).toBe(true);
  expect(only()).toMatchObject({ state: "failed", error: new Error("unreachable") });
});

test("the same file once more is the upload that is there", async () => {
  const { transfers, sends, only } = platform();
  transfers.add(file);
  transfers.add(new File(["0123456789"], "pairs.jsonl", { lastModified: file.lastModified }));
  expect(sends).toHaveLength(1);
  transfers.pause(1);
  transfers.add(file);
  expect(sends[1]?.options.resume).toBe("up_1");
  sends[1]?.finish();
  await settled();
  transfers.add(file);
  expect([sends.length, only()?.state]).toEqual([2, "done"]);
});

test("another file of that name is another upload", () => {
  const { transfers, sends } = platform();
  transfers.add(file);
  transfers.add(new File(["0123456789"], "pairs.jsonl", { lastModified: file.lastModified + 1 }));
  expect(sends).toHaveLength(2);
});

test("the rate leaves out what had arrived before, and the time in which that was checked", () => {
  const { transfers, sends, only, wait } = platform();
  transfers.add(file);
  sends[0]?.options.onProgress({ sent: 3, checking: true });
  wait(5000);
  sends[0]?.options.onProgress({ sent: 5, checking: true });
  expect(only()).toMatchObject({ sent: 5, checking: true, rate: null });
  sends[0]?.options.onProgress({ sent: 5, checking: false });
  wait(2000);
  sends[0]?.options.onProgress({ sent: 9, checking: false });
  expect(only()?.rate).toBe(2);
});
