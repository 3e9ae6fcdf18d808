import { expect, test } from "vitest";
import { nearestStep, placeOf, withPlace } from "@/features/completions/model/place";

test("the address keeps what is chosen, beside other parameters", () => {
  const params = withPlace(new URLSearchParams("tab=completions&stage=ppo"), {
    step: 120,
    by: "kl",
    order: "highest",
    min: -0.5,
    source: "held_out",
    of: "ppo.120.3",
  });
  expect(params.toString()).toBe(
    "tab=completions&stage=ppo&step=120&by=kl&order=highest&min=-0.5&prompts=held_out&of=ppo.120.3",
  );
  expect(placeOf(params)).toMatchObject({ view: "step", step: 120, by: "kl", min: -0.5, max: null, of: "ppo.120.3" });
  expect(withPlace(params, { step: null, by: "score", order: "newest", min: null, source: "any", of: null }).size).toBe(
    2,
  );
});

test("nonsense in the address is ignored", () => {
  const place = placeOf(new URLSearchParams("step=-3&by=evil&min=abc&max=&of=ppo.1&row=1e9&show=x"));
  expect(place).toEqual(placeOf(new URLSearchParams()));
});

test("a step without completions leads to the one before it", () => {
  const steps = [10, 20, 30];
  expect([null, 20, 25, 5, 99].map((wanted) => nearestStep(steps, wanted))).toEqual([30, 20, 20, 10, 30]);
  expect(nearestStep([], 4)).toBeUndefined();
});
