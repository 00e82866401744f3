import assert from "node:assert/strict";
import { test } from "node:test";
import { aboutAt, keysAt, type Schema, valuesAt } from "../src/schema";

const ROOT: Schema = {
  type: "object",
  properties: {
    ports: { type: "object", additionalProperties: { $ref: "#/$defs/Port" }, description: "Ports by name." },
    streams: { type: "array", items: { $ref: "#/$defs/Stream" } },
    load: { $ref: "#/$defs/Load", description: "Duration and load.", default: { duration: "10s" } },
  },
  required: ["ports"],
  $defs: {
    Port: {
      type: "object",
      required: ["device"],
      properties: {
        device: { type: "string", description: "Device." },
        mtu: { type: "integer", minimum: 64, maximum: 9000, default: 1500, description: "MTU." },
        ip: { anyOf: [{ type: "string", examples: ["10.0.0.2/24"] }, { type: "array", items: { type: "string" } }], description: "Addresses." },
      },
    },
    Stream: { type: "object", properties: { app: { $ref: "#/$defs/App" }, on: { type: "boolean", default: true } } },
    App: {
      description: "Application.",
      anyOf: [
        { oneOf: [{ type: "string", const: "echo", description: "Returns it." }, { type: "string", const: "discard", description: "Drops it." }] },
        { type: "object", properties: { http: { $ref: "#/$defs/Loop", description: "HTTP." } } },
      ],
    },
    Loop: { type: "object", properties: { again: { $ref: "#/$defs/Loop" } } },
    Load: { type: "object", properties: { duration: { type: "string", default: "10s", description: "Time to send." } } },
  },
};

const names = (choices: { name: string }[]) => choices.map((one) => one.name);

test("keys of a mapping, without those it has", () => {
  assert.deepEqual(names(keysAt(ROOT, [], ["ports"])), ["streams", "load"]);
  assert.deepEqual(names(keysAt(ROOT, ["ports", "any"], [])), ["device", "mtu", "ip"]);
  assert.deepEqual(keysAt(ROOT, ["ports", "any"], []).filter((one) => one.required).map((one) => one.name), ["device"]);
  assert.deepEqual(names(keysAt(ROOT, ["streams", 3, "app"], [])), ["http"]);
  assert.deepEqual(names(keysAt(ROOT, ["streams", 3, "app", "http", "again", "again"], [])), ["again"]);
  assert.deepEqual(keysAt(ROOT, ["nothing", 1, "like", "this"], []), []);
});

test("what follows a key is known", () => {
  assert.deepEqual(keysAt(ROOT, [], []).map((one) => one.opens), ["map", "list", "map"]);
});

test("values are names, truth values, defaults and examples", () => {
  assert.deepEqual(names(valuesAt(ROOT, ["streams", 0, "app"])), ["echo", "discard"]);
  assert.deepEqual(names(valuesAt(ROOT, ["streams", 0, "on"])), ["true", "false"]);
  assert.deepEqual(names(valuesAt(ROOT, ["load", "duration"])), ["10s"]);
  assert.deepEqual(names(valuesAt(ROOT, ["ports", "a", "ip"])), ["10.0.0.2/24"]);
});

test("descriptions have range, default and examples", () => {
  assert.equal(aboutAt(ROOT, ["ports", "a", "mtu"], null), "MTU. From 64 to 9000. Default: 1500.");
  assert.equal(aboutAt(ROOT, ["ports", "a", "ip"], null), "Addresses. Such as 10.0.0.2/24.");
  assert.equal(aboutAt(ROOT, ["streams", 0, "app"], "discard"), "Drops it.");
  assert.equal(aboutAt(ROOT, ["streams", 0, "app"], "other"), "Application.");
  assert.equal(aboutAt(ROOT, ["load"], null), "Duration and load.");
  assert.equal(aboutAt(ROOT, ["nowhere"], null), null);
});
