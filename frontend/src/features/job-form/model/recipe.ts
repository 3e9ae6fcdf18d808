import { isObject, type JsonObject, withValue } from "@/features/job-form/model/spec";

/** A documented recipe: the spec of an example with its data. */
export interface Recipe {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Fields of the spec that belong to the data of the example. */
  readonly replace: readonly string[];
  readonly spec: JsonObject;
}

/** The spec for data of the user's own: without the fields that belong to the example. */
export const specOf = ({ spec, replace }: Recipe): JsonObject =>
  replace.reduce((made, path) => withValue(made, path, undefined), spec);

/** Reads the file of the recipes. Throws an Error if it holds none. */
export function readRecipes(content: unknown): readonly Recipe[] {
  if (!Array.isArray(content) || !content.every(isRecipe)) throw new Error("The file of the recipes cannot be read.");
  return content;
}

const isRecipe = (one: unknown): one is Recipe =>
  isObject(one) &&
  [one.name, one.title, one.description].every((text) => typeof text === "string") &&
  Array.isArray(one.replace) &&
  isObject(one.spec);
