import assert from "node:assert/strict";
import { test } from "node:test";
import { placeAt, type Step, wordAt } from "../src/place";

/** The place of the mark `|` in a text: path and what is written there. */
function marked(text: string): [Step[], string, string[]] | null {
  const at = text.indexOf("|");
  const place = placeAt(text.replace("|", ""), at);
  return place && [place.path, place.at, place.keys];
}

const PROFILE = `# A test.
ports:
  west: {device: ring:a, ip: 10.0.0.2/24}   # here
  east:
    device: ring:b
streams:
  - name: s0
    packet: [ipv4, {udp: {src: 1024}}]
    vary:
      ipv4.src: {from: 10.0.0.1}
  - name: s1
load: {duration: 10s}
`;

test("a place in a block mapping has the keys above it", () => {
  assert.deepEqual(marked("|"), [[], "key", []]);
  assert.deepEqual(marked("po|"), [[], "key", []]);
  assert.deepEqual(marked("ports:\n  west:\n    |"), [["ports", "west"], "key", []]);
  assert.deepEqual(marked("ports:\n  west:\n    device: x\n    i|"), [["ports", "west"], "key", ["device"]]);
  assert.deepEqual(marked("ports:\n  west:\n    device: x\n  |"), [["ports"], "key", ["west"]]);
  assert.deepEqual(marked("ports:\n  west:\n    device: |"), [["ports", "west", "device"], "value", []]);
  assert.deepEqual(marked("ports:\n  west:\n    device: ri|"), [["ports", "west", "device"], "value", []]);
  assert.deepEqual(marked(PROFILE + "|"), [[], "key", ["ports", "streams", "load"]]);
});

test("items of lists are numbered, at either column", () => {
  assert.deepEqual(marked("streams:\n  - name: a\n  - na|"), [["streams", 1], "key", []]);
  assert.deepEqual(marked("streams:\n  - name: a\n    |"), [["streams", 0], "key", ["name"]]);
  assert.deepEqual(marked("streams:\n- name: a\n- name: b\n  rate: |"), [["streams", 1, "rate"], "value", []]);
  assert.deepEqual(marked("streams:\n  - |"), [["streams", 0], "key", []]);
  assert.deepEqual(marked("a:\n- b\n|"), [[], "key", ["a"]]);
});

test("a place between braces has the keys before it", () => {
  assert.deepEqual(marked("load: {duration: 1s, |"), [["load"], "key", ["duration"]]);
  assert.deepEqual(marked("load: {duration: |}"), [["load", "duration"], "value", ["duration"]]);
  assert.deepEqual(marked("load: {|}"), [["load"], "key", []]);
  assert.deepEqual(marked("streams:\n  - packet: [ipv4, {udp: {s|"), [["streams", 0, "packet", 1, "udp"], "key", []]);
  assert.deepEqual(marked("streams:\n  - packet: [ipv4, |"), [["streams", 0, "packet", 1], "value", []]);
  assert.deepEqual(marked("ports:\n  west: {device: ring:a,\n         ip|"), [["ports", "west"], "key", ["device"]]);
  assert.deepEqual(marked("ports:\n  west: {device: ring:a}\n  |"), [["ports"], "key", ["west"]]);
});

test("JSON is read alike", () => {
  assert.deepEqual(marked('{"ports": {"west": {"device": "ring:a", "|'), [["ports", "west"], "key", ["device"]]);
  assert.deepEqual(marked('{\n "streams": [\n  {"name": "a"},\n  {"rate": "|"}\n ]\n}'), [["streams", 1, "rate"], "value", ["rate"]]);
});

test("comments and blocks of text have no keys", () => {
  assert.equal(marked("ports: # |"), null);
  assert.equal(marked("# |"), null);
  const script = "program: |\n  a: b\n\n  c: ";
  assert.equal(placeAt(script, script.length), null);
  assert.deepEqual(placeAt(`${script}\nf`, script.length + 2)!.path, []);
});

test("the word under the pointer has its path", () => {
  const on = (word: string, nth = 0) => {
    let at = -1;
    for (let i = 0; i <= nth; i++) at = PROFILE.indexOf(word, at + 1);
    const found = wordAt(PROFILE, at + 1);
    return found && [found.path, found.isKey, found.word];
  };
  assert.deepEqual(on("device"), [["ports", "west", "device"], true, "device"]);
  assert.deepEqual(on("device", 1), [["ports", "east", "device"], true, "device"]);
  assert.deepEqual(on("src"), [["streams", 0, "packet", 1, "udp", "src"], true, "src"]);
  assert.deepEqual(on("packet"), [["streams", 0, "packet"], true, "packet"]);
  assert.deepEqual(on("ipv4"), [["streams", 0, "packet", 0], false, "ipv4"]);
  assert.deepEqual(on("ipv4.src"), [["streams", 0, "vary", "ipv4.src"], true, "ipv4.src"]);
  assert.deepEqual(on("10s"), [["load", "duration"], false, "10s"]);
  assert.deepEqual(on("load"), [["load"], true, "load"]);
  assert.equal(on("test"), null);
});

test("no text makes it fail, at no place", () => {
  const texts = [PROFILE, JSON.stringify({ a: [1, { b: "x" }], c: {} }, null, 1), "}]: - {[", "- - a: b\n  - c", "a: 'b\n c: d", "\t\na:\r\n  b: [\n", "?\n:", ":\n - :"];
  for (const text of texts) {
    for (let at = 0; at <= text.length; at++) {
      const place = placeAt(text, at);
      assert.ok(!place || (place.from >= 0 && place.from <= at), `${at} of ${text}`);
      wordAt(text, at);
    }
  }
});
