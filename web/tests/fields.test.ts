import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fields, label, owner, replaced } from "../src/fields";

const example = (name: string): string => readFileSync(`../examples/${name}.yaml`, "utf8");
const shown = (text: string): string[] => fields(text).filter(label).map((field) => `${owner(field)} ${label(field)}: ${field.value}`);

test("a router's profile has ports, addresses, rates and a duration", () => {
  assert.deepEqual(shown(example("router-ipv4")), [
    "west Port: afpacket:veth0", "west Address: 10.0.0.2/24", "west Gateway: 10.0.0.1",
    "east Port: afpacket:veth1", "east Address: 10.0.1.2/24", "east Gateway: 10.0.1.1",
    "eastward Frame length: 64B", "eastward Rate: 50kpps", "westward Frame length: 64B", "westward Rate: 50kpps", "load Duration: 10s",
  ]);
});

test("sessions have addresses on both sides", () => {
  const all = shown(example("firewall"));
  for (const one of ["inside Port: veth0", "http Clients' addresses: 10.0.0.10..10.0.0.109", "http Servers' addresses: 10.0.1.10..10.0.1.19", "https Opened: 100/s", "probe Rate: 1kpps", "load Duration: 30s"]) {
    assert.ok(all.includes(one), `${one}: ${all}`);
  }
  const web = shown(example("web-server-test"));
  for (const one of ["lab Gateway: 10.0.0.1", "pages Servers' addresses: 10.0.1.2", "pages Host name: www.example.com", "secure Opened: 20/s"]) {
    assert.ok(web.includes(one), `${one}: ${web}`);
  }
});

test("a value replaces a piece of the text and nothing else", () => {
  const text = example("router-ipv4");
  const device = fields(text).find((field) => field.path.join() === "ports,east,device")!;
  assert.equal(replaced(text, device, "ring:b"), text.replace('"afpacket:veth1"', "ring:b"));
  assert.equal(replaced(text, device, "a, b}"), text.replace('"afpacket:veth1"', '"a, b}"'));
  const size = fields(text).find((field) => field.path.join() === "streams,westward,size")!;
  const changed = replaced(text, size, "1518B");
  assert.equal(changed.length, text.length + 2);
  assert.equal(fields(changed).find((field) => field.path.join() === "streams,westward,size")?.value, "1518B");
});

test("text that is no profile has no fields, and none is read past its end", () => {
  for (const text of ["", "# only this", "a: {b: [", "a: {b: \"", "- ", "{", "x: {y", "::::\n}{][", "a: {\n# b\n"]) fields(text);
});
