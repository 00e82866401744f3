#!/bin/sh
# aedes delivers a message once to a client with two subscriptions that match it, and twice if the client was away.
#
# One would guess: a broker sends one copy, or one for each subscription that matches (MQTT allows both), and does so always.
# So it is: a client that subscribes to `t/#` and `t/+` gets one copy while it is connected. Messages of QoS 1 that wait for its session are
# kept once for each subscription: 20 messages are 40 when it comes back. A test that counts duplicates finds none until clients
# reconnect.
#
# Uses aedes 1.2.0 and mqtt 5.16.0 from npm with Node.js 20, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent aedes@1.2.0 mqtt@5.16.0 || exit 2
cat > try.mjs <<'END'
import { createRequire } from "module";
import net from "net";
import { Aedes } from "aedes";
import mqtt from "mqtt";

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const broker = await Aedes.createBroker();
const server = net.createServer(broker.handle);
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

async function connect(clientId, clean) {
    const client = mqtt.connect(`mqtt://127.0.0.1:${server.address().port}`, { clientId, clean, reconnectPeriod: 0 });
    client.got = [];
    client.on("message", (_topic, payload) => client.got.push(String(payload)));
    await new Promise((resolve) => client.on("connect", resolve));
    return client;
}

console.log("aedes", createRequire(import.meta.url)("./node_modules/aedes/package.json").version);
const here = await connect("sub", false);
await here.subscribeAsync({ "t/#": { qos: 1 }, "t/+": { qos: 1 } });
const publisher = await connect("pub", true);
for (let number = 0; number < 20; number++) await publisher.publishAsync("t/x", `here ${number}`, { qos: 1 });
await wait(1000);
await here.endAsync();
for (let number = 0; number < 20; number++) await publisher.publishAsync("t/x", `away ${number}`, { qos: 1 });
const back = await connect("sub", false);
await wait(2000);
const distinct = new Set(back.got).size;
console.log(`20 messages while connected: ${here.got.length} received; 20 while away: ${back.got.length} received, ${distinct} different`);
process.exit(here.got.length === 20 && back.got.length === 40 && distinct === 20 ? 0 : 1);
END
node try.mjs
