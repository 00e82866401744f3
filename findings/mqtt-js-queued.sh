#!/bin/sh
# messages of QoS 0 that MQTT.js publishes during an outage are kept, and sent all at once after it.
#
# One would guess: QoS 0 is "at most once", best effort: what is published while there is no connection is lost, or publish() reports it.
# So it is: the client keeps them (`queueQoSZero` is true). Of ten messages that are published 100 ms apart without a connection all ten
# arrive within a few milliseconds of its return, without an error, up to seconds old. A failover test that counts messages sees no loss,
# one that measures latency the length of the outage, and the broker gets a burst. `queueQoSZero: false` reports each as "No connection".
#
# Uses mqtt 5.16.0 from npm with aedes 1.2.0 as the broker, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent mqtt@5.16.0 aedes@1.2.0 || exit 2
cat > try.mjs <<'END'
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Aedes } from "aedes";
import mqtt from "mqtt";

const MESSAGES = 10;

// trial gives the ages in ms of the messages that arrive, the time between the first and the last, and the errors of publish().
async function trial(options) {
  const broker = await Aedes.createBroker();
  let server = net.createServer(broker.handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  const arrived = [];
  broker.on("publish", (packet, client) => {
    if (client) arrived.push({ at: Date.now(), age: Date.now() - Number(packet.payload) });
  });
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 500, ...options });
  await once(client, "connect");
  const closed = once(client, "close");
  server.close();
  for (const other of Object.values(broker.clients)) other.close();
  await closed;
  const errors = [];
  for (let i = 0; i < MESSAGES; i++) {
    client.publish("test", String(Date.now()), { qos: 0 }, (error) => error && errors.push(error.message));
    await sleep(100);
  }
  server = net.createServer(broker.handle);
  server.listen(port, "127.0.0.1");
  await sleep(3000);
  await client.endAsync(true);
  server.close();
  broker.close();
  const spread = arrived.length ? arrived.at(-1).at - arrived[0].at : 0;
  console.log(`${JSON.stringify(options)}: ${MESSAGES} messages of QoS 0 published 100 ms apart without a connection; ${arrived.length} arrive,`
    + ` within ${spread} ms, ${arrived.map(({ age }) => age).join(" ")} ms old; errors: ${errors.length} ${errors[0] ?? ""}`);
  return [arrived, spread, errors.length];
}

const kept = await trial({});
const dropped = await trial({ queueQoSZero: false });
const same = kept[0].length === MESSAGES && kept[0][0].age > 500 && kept[1] < 300 && kept[2] === 0
  && dropped[0].length === 0 && dropped[2] === MESSAGES;
process.exit(same ? 0 : 1);
END
timeout 60 node try.mjs
