/** The JSON Schema of a profile: keys and values that a place may have, and their meaning. Reads the part of JSON Schema that it is written in. */

import type { Step } from "./place";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  items?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
}

/** A key or a value that may be written. */
export interface Choice {
  name: string;
  about: string;
  /** Whether a mapping or a list follows the key. */
  opens: "map" | "list" | null;
  required: boolean;
}

/** Depth up to which references are followed. */
const DEPTH_MAX = 16;

/** All forms that a schema allows: references and alternatives resolved. */
function forms(root: Schema, schema: Schema | boolean | undefined, depth = 0): Schema[] {
  if (!schema || schema === true || depth > DEPTH_MAX) return [];
  if (schema.$ref) {
    const target = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
    const about = schema.description;
    return forms(root, target, depth + 1).map((form) => ({ ...form, description: about ?? form.description, default: schema.default ?? form.default }));
  }
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (!inner.length) return [schema];
  const own = schema.properties ? [schema] : [];
  return [...own, ...inner.flatMap((one) => forms(root, one, depth + 1))];
}

/** Own description of a schema, or that of what it refers to. */
function wordsOf(root: Schema, schema: Schema, depth = 0): string | undefined {
  if (schema.description || !schema.$ref || depth > DEPTH_MAX) return schema.description;
  const target = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
  return target && wordsOf(root, target, depth + 1);
}

/** The value of a key in one form. */
function member(form: Schema, key: string): Schema | null {
  const own = form.properties?.[key];
  if (own) return own;
  return typeof form.additionalProperties === "object" ? form.additionalProperties : null;
}

/** The schemas of what is at a path, before alternatives are resolved: more than one if its form is not known. */
function at(root: Schema, path: Step[]): Schema[] {
  let here: Schema[] = [root];
  for (const step of path) {
    const all = here.flatMap((one) => forms(root, one));
    if (typeof step === "number") here = all.flatMap((form) => (typeof form.items === "object" ? [form.items] : []));
    else here = all.flatMap((form) => member(form, step) ?? []);
  }
  return here;
}

const isOf = (form: Schema, type: string): boolean => (Array.isArray(form.type) ? form.type.includes(type) : form.type === type);

function opens(root: Schema, schema: Schema): Choice["opens"] {
  const all = forms(root, schema);
  if (all.every((form) => isOf(form, "object"))) return all.length ? "map" : null;
  return all.length && all.every((form) => isOf(form, "array")) ? "list" : null;
}

const plain = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** Description of a value with its range, default and examples. */
function described(root: Schema, schema: Schema): string {
  const all = forms(root, schema);
  const parts = [wordsOf(root, schema) ?? all.find((form) => form.description)?.description ?? ""];
  const numbers = all.find((form) => isOf(form, "integer") || isOf(form, "number"));
  if (numbers?.minimum !== undefined && numbers.maximum !== undefined) parts.push(`From ${numbers.minimum} to ${numbers.maximum}.`);
  const preset = schema.default ?? undefined;
  // Long defaults are those of the keys within.
  if (preset !== undefined && typeof preset !== "object" && !/\bDefault:/.test(parts[0]!)) parts.push(`Default: ${plain(preset)}.`);
  const examples = all.flatMap((form) => form.examples ?? []);
  if (examples.length) parts.push(`Such as ${examples.slice(0, 3).map(plain).join(", ")}.`);
  return parts.filter(Boolean).join(" ");
}

/** Keys that the mapping at a path may have, without those it has. */
export function keysAt(root: Schema, path: Step[], has: string[]): Choice[] {
  const found = new Map<string, Choice>();
  for (const form of at(root, path).flatMap((one) => forms(root, one))) {
    for (const [name, schema] of Object.entries(form.properties ?? {})) {
      if (found.has(name) || has.includes(name)) continue;
      const about = described(root, schema);
      found.set(name, { name, about, opens: opens(root, schema), required: !!form.required?.includes(name) });
    }
  }
  return [...found.values()];
}

/** Values that may be written at a path: names, truth values, the default, examples. */
export function valuesAt(root: Schema, path: Step[]): Choice[] {
  const found = new Map<string, Choice>();
  const add = (value: unknown, about: string) => {
    const name = plain(value);
    if (!found.has(name)) found.set(name, { name, about, opens: null, required: false });
  };
  for (const schema of at(root, path)) {
    const all = forms(root, schema);
    for (const form of all) {
      if (form.const !== undefined) add(form.const, form.description ?? "");
      for (const value of form.enum ?? []) add(value, "");
      if (isOf(form, "boolean")) for (const value of [true, false]) add(value, "");
    }
    const preset = schema.default;
    if (preset !== undefined && preset !== null && typeof preset !== "object") add(preset, "default");
    for (const form of all) for (const value of form.examples ?? []) if (typeof value !== "object") add(value, "example");
  }
  return [...found.values()];
}

/** Description of what is at a path, and of a value that is one of several names. */
export function aboutAt(root: Schema, path: Step[], word: string | null): string | null {
  const here = at(root, path);
  const named = word === null ? undefined : here.flatMap((one) => forms(root, one)).find((form) => form.const !== undefined && plain(form.const) === word);
  if (named?.description) return named.description;
  const texts = here.map((one) => described(root, one)).filter(Boolean);
  return texts[0] ?? null;
}
