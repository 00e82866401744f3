#!/bin/sh
# ExaBGP that is told to announce, withdraw and announce a route again announces it and then withdraws it.
#
# One would guess: commands of its API take effect in their order: after the last one the peer has what it says.
# So it is: commands that come together are sent in the order in which their attributes were first seen, not in their own. After
# "announce, withdraw, announce" the peer has no route; after "announce, withdraw, announce with another MED, withdraw" it has one. No
# later message puts that right. With half a second between two commands each takes effect. A test of flapping routes that writes
# faster measures other flaps than it means, and may wait for a route that never comes. ExaBGP 4.2.25 does the first of the two, too.
#
# Uses exabgp 5.0.5 from PyPI, with a peer on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install exabgp==5.0.5 || exit 2
venv/bin/exabgp version > version || exit 2
head -n 1 version
cat > tell.py <<'END'
"""What ExaBGP runs: it gives the commands, each prefix's at once or half a second apart."""
import time

ANNOUNCE, OTHER = "announce route {} next-hop 192.0.2.1 med 1", "announce route {} next-hop 192.0.2.1 med 2"
WITHDRAW = "withdraw route {} next-hop 192.0.2.1"
COMMANDS = {
    "10.1.0.0/16": (ANNOUNCE, WITHDRAW, ANNOUNCE),
    "10.2.0.0/16": (ANNOUNCE, WITHDRAW, OTHER, WITHDRAW),
}
APART = {prefix.replace("10.", "11."): commands for prefix, commands in COMMANDS.items()}
if __name__ == "__main__":
    time.sleep(3)
    print(ANNOUNCE.format("10.0.0.0/16"), flush=True)
    time.sleep(1)
    for prefix, commands in COMMANDS.items():
        print("\n".join(commands).format(*[prefix] * len(commands)), flush=True)
        time.sleep(1)
    for prefix, commands in APART.items():
        for command in commands:
            print(command.format(prefix), flush=True)
            time.sleep(0.5)
    time.sleep(60)
END
cat > try.py <<'END'
import collections
import getpass
import os
import socket
import struct
import subprocess
import sys
import time

from tell import APART, COMMANDS

KEEPALIVE = b"\xff" * 16 + struct.pack("!HB", 19, 4)
listener = socket.create_server(("127.0.0.1", 0))
listener.settimeout(30)
with open("exabgp.conf", "w") as file:
    file.write(f"""process tell {{ run {sys.executable} {os.getcwd()}/tell.py; encoder text; }}
        neighbor 127.0.0.1 {{
            router-id 192.0.2.1; local-address 127.0.0.1; local-as 65001; peer-as 65002; connect {listener.getsockname()[1]};
            family {{ ipv4 unicast; }} api {{ processes [ tell ]; }}
        }}""")
settings = os.environ | {"exabgp_daemon_user": getpass.getuser(), "exabgp_api_ack": "false", "exabgp_api_cli": "false"}
exabgp = subprocess.Popen(["venv/bin/exabgp", "server", "exabgp.conf"], env=settings, stdout=open("log", "w"), stderr=subprocess.STDOUT)
heard = collections.defaultdict(list)
try:
    peer, _ = listener.accept()
    peer.settimeout(15)
    stream, start = peer.makefile("rb"), time.monotonic()
    while time.monotonic() - start < 15:
        length, kind = struct.unpack("!HB", stream.read(19)[16:])
        body = stream.read(length - 19)
        if kind == 1:  # OPEN
            capabilities = bytes([2, 6, 1, 4, 0, 1, 0, 1]) + bytes([2, 6, 65, 4]) + struct.pack("!I", 65002)
            answer = struct.pack("!BHH4sB", 4, 65002, 180, bytes([192, 0, 2, 2]), len(capabilities)) + capabilities
            peer.sendall(b"\xff" * 16 + struct.pack("!HB", 19 + len(answer), 1) + answer + KEEPALIVE)
        elif kind == 2:  # UPDATE
            withdrawn = struct.unpack_from("!H", body)[0]
            announced = 4 + withdrawn + struct.unpack_from("!H", body, 2 + withdrawn)[0]
            for name, start_at, end in (("withdraw", 2, 2 + withdrawn), ("announce", announced, len(body))):
                for at in range(start_at, end, 3):
                    prefix = f"{body[at + 1]}.{body[at + 2]}.0.0/{body[at]}"
                    heard[prefix].append(name)
                    if prefix == list(APART)[-1] and len(heard[prefix]) == len(APART[prefix]):
                        start = 0
except (OSError, struct.error) as error:
    sys.exit(f"the session ended: {error!r}")
finally:
    exabgp.terminate()
    exabgp.wait()
seen = {}
for prefix, commands in (COMMANDS | APART).items():
    told = [command.split()[0] for command in commands]
    seen[prefix] = told[-1] == heard[prefix][-1]
    print(f"told {'half a second apart' if prefix in APART else 'at once'}: {', '.join(told)}; sent: {', '.join(heard[prefix])}")
sys.exit(seen != {prefix: prefix in APART for prefix in COMMANDS | APART})
END
venv/bin/python try.py
