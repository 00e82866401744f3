#!/bin/sh
# A Counter64 that node-net-snmp reads is no number: ifHCInOctets is a Buffer of bytes, and a rate of two of them is NaN.
#
# One would guess: `varbind.value` is a number for each numeric type, or a BigInt for 64 bits.
# So it is: Integer, Counter32, Gauge32 and TimeTicks are numbers, Counter64 is a Buffer with the value's bytes, big-endian, as many as came. `after - before` is NaN, which JSON writes as null; in a template or a log it is text of some bytes. A poller that works with
# ifInOctets shows nothing for ifHCInOctets, the counter that links above 100 Mbit/s need. Read it with BigInt("0x" + value.toString("hex")).
#
# Uses net-snmp 3.29.2 from npm, with its own agent on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent net-snmp@3.29.2 || exit 2
cat > try.js <<'END'
const snmp = require("net-snmp");

const PORT = 16161, BYTES = 1_000_000_000_000n;
const rows = [
  {name: "count32", type: snmp.ObjectType.Counter, oid: "1.3.6.1.4.1.8072.9999.1", value: 1000},
  {name: "count64", type: snmp.ObjectType.Counter64, oid: "1.3.6.1.4.1.8072.9999.2", value: Buffer.alloc(8)},
];
rows[1].value.writeBigUInt64BE(BYTES);
const agent = snmp.createAgent({port: PORT, address: "127.0.0.1", disableAuthorization: true}, () => {});
agent.getAuthorizer().addCommunity("public");
for (const row of rows) {
  agent.registerProvider({
    name: row.name, type: snmp.MibProviderType.Scalar, oid: row.oid, scalarType: row.type, maxAccess: snmp.MaxAccess["read-only"],
  });
  agent.getMib().setScalarValue(row.name, row.value);
}
const session = snmp.createSession("127.0.0.1", "public", {port: PORT, version: snmp.Version2c, timeout: 5000});
session.get(rows.map((row) => row.oid + ".0"), (error, varbinds) => {
  if (error) throw error;
  const [narrow, wide] = varbinds.map((varbind) => varbind.value);
  console.log("net-snmp", require("net-snmp/package.json").version);
  console.log("Counter32:", narrow, "difference:", narrow - 0);
  console.log("Counter64:", wide, "difference:", wide - 0, "as JSON:", JSON.stringify(wide - 0));
  const read = Buffer.isBuffer(wide) && BigInt("0x" + wide.toString("hex"));
  console.log("read as big-endian:", read);
  process.exit(narrow === 1000 && Number.isNaN(wide - 0) && read === BYTES ? 0 : 1);
});
setTimeout(() => process.exit(1), 20000).unref();
END
node try.js
