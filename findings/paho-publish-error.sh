#!/bin/sh
# paho-mqtt's publish() returns an error without a connection, and delivers the message later: a program that tries again sends it twice.
#
# One would guess: a publish() that returns MQTT_ERR_NO_CONN, "The client is not currently connected", and whose `wait_for_publish` raises
# an exception, has not been done.
# So it is: that holds for QoS 0 only. A message of QoS 1 or 2 is kept, and goes out as soon as the client is connected, with all
# others that "failed". A load that repeats what failed during an outage of the broker delivers each message as often as it
# has tried, without the flag for duplicates, and one that counts errors as losses sees more messages arrive than it has sent. Count
# `on_publish`, and do not repeat messages above QoS 0. (MQTT.js keeps messages of QoS 0, too, and reports no error.)
#
# Uses paho-mqtt 2.1.0 from PyPI, and mqtt 5.16.0 from npm with Node.js, with a broker of the script on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install paho-mqtt==2.1.0 || exit 2
npm install --silent mqtt@5.16.0 || exit 2
cat > try.mjs <<'END'
import mqtt from "mqtt";

const client = mqtt.connect(`mqtt://127.0.0.1:${process.argv[2]}`, { reconnectPeriod: 200 });
client.on("error", () => {});
for (const qos of [0, 1]) {
  for (let attempt = 0; attempt < 3; attempt++) {
    client.publish("t", `qos ${qos}`, { qos }, (error) => console.log(error ? "error" : "done"));
  }
}
setTimeout(() => console.log("one second"), 1000);
process.stdin.on("end", () => process.exit()).resume();
END
cat > try.py <<'END'
import collections
import socket
import subprocess
import sys
import threading
import time
from importlib.metadata import version

from paho.mqtt.client import CallbackAPIVersion, Client, error_string

CONNECT, PUBLISH, CONNACK, PUBACK = 1, 3, b"\x20\x02\0\0", b"\x40\x02"


def serve(listener, arrived):
    """Takes a connection, and counts and acknowledges the messages on it."""
    connection = listener.accept()[0]
    stream = connection.makefile("rb")
    while header := stream.read(2):
        body = stream.read(header[1])
        if header[0] >> 4 == CONNECT:
            connection.sendall(CONNACK)
        if header[0] >> 4 == PUBLISH:
            arrived[body[-5:].decode(), "again" if header[0] & 8 else "first"] += 1
            if header[0] & 6:
                connection.sendall(PUBACK + body[3:5])


def reserved():
    """A port on which nothing listens yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def broker(port):
    """Begins to listen: messages that arrive, by text and flag."""
    arrived = collections.Counter()
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=serve, args=(listener, arrived), daemon=True).start()
    return arrived


port = reserved()
client = Client(CallbackAPIVersion.VERSION2)
client.reconnect_delay_set(0.2, 0.2)
client.connect_async("127.0.0.1", port)
client.loop_start()
time.sleep(0.5)
errors = []
for qos in (0, 1):
    for attempt in range(3):
        errors.append(error_string(client.publish("t", f"qos {qos}", qos).rc))
arrived = broker(port)
time.sleep(2)
print(f"paho-mqtt {version('paho-mqtt')}: three times each of QoS 0 and 1: {set(errors)}")
print("when the broker is there:", dict(arrived))
port = reserved()
node = subprocess.Popen(["node", "try.mjs", str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
early = []
while (line := node.stdout.readline().strip()) != "one second":
    early.append(line)
others = broker(port)
time.sleep(2)
late = node.communicate()[0].split()
print(f"mqtt.js 5.16.0: {early or 'nothing'} in the first second, then {dict(others)}")
kept = arrived == {("qos 1", "first"): 3} and others == {("qos 0", "first"): 3, ("qos 1", "first"): 3}
sys.exit(not (kept and set(errors) == {"The client is not currently connected."} and not early and late == ["done"] * 6))
END
venv/bin/python try.py
