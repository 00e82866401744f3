#!/bin/sh
# pysnmp never gets an answer from an agent that takes longer than its time-out, though each of six requests is answered; snmpget has it
# after 1.5 s.
#
# One would guess: with a time-out of 1 s and five retries an agent that answers after 1.5 s is read when its first answer comes, while the
# second request is under way, as snmpget, gosnmp and net-snmp of Node.js do.
# So it is: each retry has a request identifier of its own, and answers to those before it are dropped. All six answers come half a second
# after their request was given up, and the result is "No SNMP response received before timeout" after 6.5 s. An agent that has slowed down
# under load from 0.9 to 1.1 s looks dead, and is asked six times as often. A retry helps against loss only: set `timeout` above the
# slowest answer.
#
# Uses pysnmp 7.1.30 from PyPI, and snmp and libsnmp40 5.9.3+dfsg-2+deb12u1 of Debian 12, with an agent on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/agent.pid")" 2> "$folder/log" || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install pysnmp==7.1.30 || exit 2
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download snmp=5.9.3+dfsg-2+deb12u1 libsnmp40=5.9.3+dfsg-2+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" SNMPCONFPATH="$folder" SNMP_PERSISTENT_DIR="$folder" MIBS=
usr/bin/snmpget -V 2>&1 || exit 2
cat > agent.py <<'END'
import os
import socket
import threading


def value(data, at):
    # The bytes of the value that begins at `at`, and where the next one does; none is longer than 127 bytes.
    return data[at + 2 : at + 2 + data[at + 1]], at + 2 + data[at + 1]


def made(kind, data):
    return bytes([kind, len(data)]) + data


def respond(query):
    # A response to a query for one object: the number 5.
    message, _ = value(query, 0)
    version, at = value(message, 0)
    community, at = value(message, at)
    body, _ = value(message, at)
    identifier, at = value(body, 0)
    _, at = value(body, at)
    _, at = value(body, at)
    bindings, _ = value(body, at)
    name, _ = value(value(bindings, 0)[0], 0)
    bindings = made(0x30, made(0x30, made(6, name) + made(2, b"\x05")))
    body = made(0xA2, made(2, identifier) + made(2, b"\0") + made(2, b"\0") + bindings)
    return made(0x30, made(2, version) + made(4, community) + body)


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
open("agent.pid", "w").write(str(os.getpid()))
open("port", "w").write(str(server.getsockname()[1]))
count = 0
while True:
    query, client = server.recvfrom(2000)
    count += 1
    open("requests", "w").write(str(count))
    threading.Timer(1.5, server.sendto, (respond(query), client)).start()
END
cat > try.py <<'END'
import asyncio
import subprocess
import sys
import time
from importlib.metadata import version

from pysnmp.hlapi.v3arch.asyncio import CommunityData, ContextData, ObjectIdentity, ObjectType, SnmpEngine, UdpTransportTarget, get_cmd

PORT, OBJECT = open("port").read(), "1.3.6.1.2.1.2.2.1.10.1"


def requests():
    return int(open("requests").read())


async def ask():
    target = await UdpTransportTarget.create(("127.0.0.1", int(PORT)), timeout=1, retries=5)
    return await get_cmd(SnmpEngine(), CommunityData("public"), target, ContextData(), ObjectType(ObjectIdentity(OBJECT)))


print("pysnmp", version("pysnmp"))
start = time.monotonic()
command = f"usr/bin/snmpget -v 2c -c public -t 1 -r 5 127.0.0.1:{PORT} {OBJECT}"
shown = subprocess.run(command.split(), capture_output=True, text=True)
first = requests()
print(f"snmpget: {shown.stdout.strip() or shown.stderr} after {time.monotonic() - start:.1f} s and {first} requests")
start = time.monotonic()
error, _, _, _ = asyncio.run(ask())
more = requests() - first
print(f"pysnmp: {error} after {time.monotonic() - start:.1f} s and {more} requests, each answered after 1.5 s")
sys.exit(not (shown.returncode == 0 and first == 2 and error is not None and more == 6))
END
"$folder/venv/bin/python" agent.py &
until [ -e port ]; do sleep 0.1; done
"$folder/venv/bin/python" try.py
