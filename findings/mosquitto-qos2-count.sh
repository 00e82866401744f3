#!/bin/sh
# mosquitto's count of messages received lacks those of QoS 2: of 300 published, 100 with each QoS, it has 200.
#
# One would guess: `$SYS/broker/publish/messages/received` counts the messages that publishers send, with any QoS.
# So it is: it counts QoS 0 and 1, and stands still while 100 messages of QoS 2 come in, are acknowledged and delivered;
# `publish/bytes/received` beside it has their bytes. And `$SYS/broker/messages/received`, which a dashboard may show as messages, counts
# packets of any kind: connects, subscriptions and acknowledgements, two for each message of QoS 2. Count at subscribers.
#
# Uses mosquitto 2.0.11-1.2+deb12u2 and libraries of Debian 12, and paho-mqtt 2.1.0 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download mosquitto=2.0.11-1.2+deb12u2 libcjson1=1.7.15-1+deb12u4 libdlt2=2.18.8-6 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install paho-mqtt==2.1.0 || exit 2
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

from paho.mqtt.client import CallbackAPIVersion, Client

MESSAGES, SIZE = 100, 100
NAMES = ("publish/messages/received", "publish/bytes/received", "messages/received")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
with open("broker.conf", "w") as file:
    file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\nsys_interval 1\n")
broker = subprocess.Popen(["usr/sbin/mosquitto", "-c", "broker.conf"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
statistics, delivered = {}, []


def connect(name):
    client = Client(CallbackAPIVersion.VERSION2, name)
    client.connect("127.0.0.1", port)
    client.loop_start()
    return client


def publish(qos):
    """Changes of the broker's counts by messages with a quality of service, and how many a subscriber gets."""
    before, earlier = dict(statistics), len(delivered)
    for _ in range(MESSAGES):
        sent = publisher.publish("try", bytes(SIZE), qos)
    sent.wait_for_publish(20)
    time.sleep(4)
    changes = [int(statistics[name]) - int(before[name]) for name in NAMES]
    print(f"{MESSAGES} messages of QoS {qos}: {len(delivered) - earlier} delivered,", dict(zip(NAMES, changes)))
    return len(delivered) - earlier, *changes


try:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    print(next(line for line in open("log") if "starting" in line).split(": ")[1].strip())
    watcher, subscriber, publisher = (connect(name) for name in ("watcher", "subscriber", "publisher"))
    watcher.on_message = lambda _, __, one: statistics.update({one.topic.removeprefix("$SYS/broker/"): one.payload.decode()})
    subscriber.on_message = lambda _, __, one: delivered.append(one)
    watcher.subscribe("$SYS/broker/#")
    subscriber.subscribe("try", 0)
    time.sleep(4)
    seen = [publish(qos) for qos in (0, 1, 2)]
    for client in (watcher, subscriber, publisher):
        client.disconnect()
finally:
    broker.terminate()
    broker.wait()
sys.exit(not (
    [one[:3] for one in seen] == [(MESSAGES, MESSAGES, MESSAGES * SIZE)] * 2 + [(MESSAGES, 0, MESSAGES * SIZE)]
    and seen[2][3] >= 2 * MESSAGES
))
END
venv/bin/python try.py
