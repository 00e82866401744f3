import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/events";

const TEXT = ': here\n\nevent: run\ndata: {"id":"ä"}\n\nevent: live\r\ndata:1\r\ndata: 2\r\n\r\ndata: x\n\nevent: lonely\n\n';
const MESSAGES = [
  { name: "run", data: '{"id":"ä"}' },
  { name: "live", data: "1\n2" },
  { name: "message", data: "x" },
];

test("events are the same however the text is cut", () => {
  for (let size = 1; size <= TEXT.length; size++) {
    const parser = new EventParser();
    const seen = [];
    for (let at = 0; at < TEXT.length; at += size) seen.push(...parser.feed(TEXT.slice(at, at + size)));
    assert.deepEqual(seen, MESSAGES, `pieces of ${size}`);
  }
});

test("half a message is none", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.feed("event: run\ndata: 1\n"), []);
  assert.deepEqual(parser.feed("\n"), [{ name: "run", data: "1" }]);
});
