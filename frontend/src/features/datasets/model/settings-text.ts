/** What a report was made for, in words. */
export function settingsText(settings: Readonly<Record<string, unknown>>): string {
  const { model, max_prompt_tokens: prompt, max_completion_tokens: completion, chat_template: template } = settings;
  if (typeof model !== "string") return "without a model";
  const parts = [`for ${model}`];
  if (typeof prompt === "number" && typeof completion === "number") parts.push(`${prompt} + ${completion} tokens`);
  if (template === "none") parts.push("no chat template");
  return parts.join(", ");
}
