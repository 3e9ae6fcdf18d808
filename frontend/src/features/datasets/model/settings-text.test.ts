import { expect, test } from "vitest";
import { settingsText } from "@/features/datasets/model/settings-text";

test.each([
  [{ model: null, eval_fraction: 0.1 }, "without a model"],
  [
    { model: "ckpt_1", chat_template: "auto", max_prompt_tokens: 512, max_completion_tokens: 256 },
    "for ckpt_1, 512 + 256 tokens",
  ],
  [{ model: "models/tiny", chat_template: "none" }, "for models/tiny, no chat template"],
])("%o", (settings, text) => expect(settingsText(settings)).toBe(text));
