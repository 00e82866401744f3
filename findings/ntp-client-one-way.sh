#!/bin/sh
# npm's ntp-client returns the server's time as it was sent: over a path of 300 ms each way its clock is 300 ms slow.
#
# One would guess: an NTP client takes half of the round trip into account, which is why the protocol has four times in a packet.
# So it is: ntp-client reads one of them, the server's transmit time, and returns it when the answer has come. The time it gives is
# behind by the way back, 300 ms here, and an offset computed from it is -300 ms for two clocks that are equal. One-way latencies measured
# between hosts whose clocks were compared with it are off by that.
#
# Uses ntp-client 0.5.3 from npm with Node.js 20, and a server of the script on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund ntp-client@0.5.3 || exit 2
cat > try.mjs <<'END'
import dgram from 'node:dgram';
import ntp from 'ntp-client';

/** Writes the machine's own time at a place of a packet. */
function stamp(packet, place) {
  const now = Date.now();
  packet.writeUInt32BE(Math.floor(now / 1000) + 2_208_988_800, place);
  packet.writeUInt32BE(Math.floor(((now % 1000) / 1000) * 2 ** 32), place + 4);
}

/** Clock that the client gets less the machine's own, in ms, over a path with a delay each way. */
function trial(delay) {
  return new Promise((done) => {
    const server = dgram.createSocket('udp4');
    server.on('message', (request, from) => {
      setTimeout(() => {
        const packet = Buffer.alloc(48);
        packet[0] = 0x24;
        packet[1] = 1;
        request.copy(packet, 24, 40, 48);
        stamp(packet, 32);
        stamp(packet, 40);
        setTimeout(() => server.send(packet, from.port, from.address), delay);
      }, delay);
    });
    server.bind(0, '127.0.0.1', () => {
      ntp.getNetworkTime('127.0.0.1', server.address().port, (error, date) => {
        const offset = date - Date.now();
        server.close();
        console.log(`ntp-client 0.5.3, server with the same clock, ${delay} ms each way: the clock returned is off by ${offset} ms`);
        done(offset);
      });
    });
  });
}

const near = await trial(0);
const far = await trial(300);
process.exit(near > -100 && far < -280 && far > -1000 ? 0 : 1);
END
timeout 60 node try.mjs
