import type { Prompt } from "@/features/annotation/model/wish";

/** What is said in a prompt; `role` is null for a prompt of plain text. */
export interface Turn {
  readonly role: string | null;
  readonly text: string;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export const turnsOf = (prompt: Prompt): Turn[] =>
  typeof prompt === "string"
    ? [{ role: null, text: prompt }]
    : prompt.map(({ role, content }) => ({ role: asText(role), text: asText(content) }));
