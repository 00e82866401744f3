#!/bin/sh
# node-netflowv9 reads a sampling of 1 in 100 in NetFlow 5 as an interval of 16,484: the mode's bits count as a number.
#
# One would guess: "sampling_interval" of a packet from a router that takes each 100th packet is 100, to multiply counts with.
# So it is: the field has two bits of a mode and 14 of an interval, and both are returned as one number: 16,484 for mode 1 (each 100th
# packet), 32,868 for mode 2 (one of 100 at random). Whoever multiplies has 165 or 329 times the traffic. Mask it: `interval & 0x3fff`.
# Besides, ports are `ipv4_src_port` with NetFlow 5 and `l4_src_port` with NetFlow 9, also for the same flow, so code for one finds none.
#
# Uses node-netflowv9 0.2.16 from npm, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent node-netflowv9@0.2.16 || exit 2
cat > try.js <<'END'
const Collector = require("node-netflowv9");
const socket = require("dgram").createSocket("udp4");

const SECONDS = 1700000000;
const words = (format) => Buffer.concat(format.map(([length, value]) => {
    const part = Buffer.alloc(length);
    part.writeUIntBE(value, 0, length);
    return part;
}));

/** A NetFlow 5 packet with one flow, sampled 1 in 100. */
const version5 = (mode) => words([
    [2, 5], [2, 1], [4, 100000], [4, SECONDS], [4, 0], [4, 0], [1, 0], [1, 0], [2, mode << 14 | 100],
    [4, 0x0a000001], [4, 0x0a000002], [4, 0], [2, 1], [2, 2], [4, 10], [4, 1000], [4, 90000], [4, 95000],
    [2, 1000], [2, 2000], [1, 0], [1, 0], [1, 17], [1, 0], [2, 0], [2, 0], [1, 24], [1, 24], [2, 0],
]);
/** A NetFlow 9 packet with a template and the same flow. */
const version9 = () => {
    const fields = [[8, 4], [12, 4], [7, 2], [11, 2]];
    return words([
        [2, 9], [2, 2], [4, 100000], [4, SECONDS], [4, 0], [4, 7],
        [2, 0], [2, 8 + 4 * fields.length], [2, 256], [2, fields.length], ...fields.flatMap(([type, length]) => [[2, type], [2, length]]),
        [2, 256], [2, 16], [4, 0x0a000001], [4, 0x0a000002], [2, 1000], [2, 2000],
    ]);
};

console.log("node-netflowv9", require("node-netflowv9/package.json").version);
const seen = [];
const finish = () => {
    for (const { header, flows: [flow] } of seen) {
        const ports = Object.keys(flow).filter((name) => name.includes("src_port"));
        console.log(`NetFlow ${header.version}: sampling_interval ${header.sampling_interval}, the source port is ${ports}`);
    }
    const [first, second, third] = seen;
    const so = first.header.sampling_interval === 16484 && second.header.sampling_interval === 32868
        && first.flows[0].ipv4_src_port === 1000 && third.flows[0].l4_src_port === 1000;
    process.exit(so ? 0 : 1);
};
const collector = Collector((packet) => { if (seen.push(packet) === 3) finish(); });
collector.listen(19995, "127.0.0.1");
setTimeout(() => {
    for (const packet of [version5(1), version5(2), version9()]) socket.send(packet, 19995, "127.0.0.1");
}, 500);
setTimeout(() => process.exit(1), 10000);
END
node try.js
