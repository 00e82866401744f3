// Writes src/types.ts: the API's documents, from ../docs/openapi.json. With --check: fails if it is not up to date.
// (openapi-typescript needs the API of TypeScript's compiler, which TypeScript 7 does not have.)

import { readFile, writeFile } from "node:fs/promises";

const FILE = "src/types.ts";
const HEAD = `/** The API's documents. Generated from docs/openapi.json by 'npm run types'; do not edit. */\n`;
const FLAT = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

const unique = (types) => [...new Set(types)].join(" | ");
const comment = (text, indent) => (text ? `${indent}/** ${text.replace(/\s+/g, " ").replaceAll("*/", "* /")} */\n` : "");
const list = (type) => (/[ |]/.test(type) ? `(${type})[]` : `${type}[]`);

/** The TypeScript type of a schema. */
function typeOf(schema) {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return unique(schema.enum.map((value) => JSON.stringify(value)));
  const branches = schema.oneOf ?? schema.anyOf;
  if (branches) return unique(branches.map(typeOf));
  if (schema.allOf) return schema.allOf.map(typeOf).join(" & ");
  if (Array.isArray(schema.type)) return unique(schema.type.map((type) => typeOf({ ...schema, type })));
  if (schema.type === "array") return list(typeOf(schema.items));
  if (schema.type !== "object") return FLAT[schema.type] ?? "unknown";
  if (schema.properties) return `{${members(schema).replace(/\s*\n\s*/g, " ")}}`;
  return `Record<string, ${typeOf(schema.additionalProperties)}>`;
}

function members({ properties, required = [] }) {
  const member = ([name, schema]) =>
    `${comment(schema.description, "  ")}  ${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};\n`;
  return Object.entries(properties).map(member).join("");
}

function declaration([name, schema]) {
  const head = `\n${comment(schema.description, "")}export `;
  const plain = schema.properties && !schema.oneOf && !schema.anyOf;
  return plain ? `${head}interface ${name} {\n${members(schema)}}\n` : `${head}type ${name} = ${typeOf(schema)};\n`;
}

const { components } = JSON.parse(await readFile("../docs/openapi.json", "utf8"));
const text = HEAD + Object.entries(components.schemas).map(declaration).join("");
if (!process.argv.includes("--check")) await writeFile(FILE, text);
else if ((await readFile(FILE, "utf8")) !== text) throw new Error(`${FILE} is not what docs/openapi.json says: run 'npm run types'`);
