#!/bin/sh
# mosquitto closes the connection at Scapy's MQTT()/MQTTSubscribe(...): it has the flags 0, and MQTT wants 2.
#
# One would guess: `MQTT()/MQTTSubscribe(msgid=1, topics=[...])` is a valid SUBSCRIBE: Scapy fills in type and length by itself, as it does
# for CONNECT and PUBLISH, and the flags of its header have one value only.
# So it is: the header's flags stay 0. For SUBSCRIBE, UNSUBSCRIBE and PUBREL they have to be 2 (MQTT 3.1.1, 2.2.2), and a broker has to
# close the connection for anything else: mosquitto does so without an answer, "malformed packet". The field is named for what it means in
# PUBLISH: `MQTT(QOS=1)/MQTTSubscribe(...)` is right and gets its SUBACK. A script that does not read the answer waits for messages that
# never come.
#
# Needs root, for a network namespace of its own. Uses mosquitto 2.0.11-1.2+deb12u2, libcjson1 1.7.15-1+deb12u4 and libdlt2 2.18.8-6 of
# Debian 12, and Scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download mosquitto=2.0.11-1.2+deb12u2 libcjson1=1.7.15-1+deb12u4 libdlt2=2.18.8-6 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
ldd usr/sbin/mosquitto > libraries && ! grep 'not found' libraries || exit 2
cat > try.py <<'END'
import logging
import socket
import subprocess
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
import scapy
from scapy.compat import raw
from scapy.contrib.mqtt import MQTT, MQTTConnect, MQTTSubscribe, MQTTTopic, MQTTTopicQOS, MQTTUnsubscribe

connect = MQTT() / MQTTConnect(clientId=b"test", clientIdlen=4, protoname=b"MQTT", protolevel=4, klive=60, cleansess=1)
subscribe = MQTTSubscribe(msgid=1, topics=[MQTTTopicQOS(topic=b"t")])
unsubscribe = MQTTUnsubscribe(msgid=2, topics=[MQTTTopic(topic=b"t")])
PACKETS = {
    "MQTT()/MQTTSubscribe(...)": MQTT() / subscribe,
    "MQTT()/MQTTUnsubscribe(...)": MQTT() / unsubscribe,
    "MQTT(QOS=1)/MQTTSubscribe(...)": MQTT(QOS=1) / subscribe,
    "MQTT(QOS=1)/MQTTUnsubscribe(...)": MQTT(QOS=1) / unsubscribe,
}


def answer(packet):
    """What the broker answers after a CONNECT: nothing is the end of the connection."""
    with socket.create_connection(("127.0.0.1", 1883)) as client:
        client.settimeout(5)
        client.sendall(raw(connect))
        assert client.recv(4) == b"\x20\x02\0\0"
        client.sendall(raw(packet))
        return client.recv(10)


with open("log", "w") as log:
    broker = subprocess.Popen(["usr/sbin/mosquitto", "-v"], stdout=log, stderr=log)
try:
    time.sleep(2)
    answers = {name: answer(packet) for name, packet in PACKETS.items()}
finally:
    broker.terminate()
    broker.wait()
print("Scapy", scapy.VERSION, "and", next(line for line in open("log") if "mosquitto version" in line).split(": ")[1].split(" start")[0])
for name, got in answers.items():
    print(f"{name} is {raw(PACKETS[name])[:2].hex()}...:", f"answered with {got.hex()}" if got else "the connection is closed")
sys.exit([len(got) for got in answers.values()] != [0, 0, 5, 4])
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
