#!/bin/sh
# A Linux host with two interfaces in one network answers ARP for both addresses on each of them: all traffic can come to one interface.
#
# One would guess: an address belongs to its interface: a request for 10.0.0.2 that arrives at the interface of 10.0.0.1 has no answer.
# So it is: addresses are the host's, and each interface answers for all of them with its own MAC address. On a switch both answers
# come, and the last one counts: two streams to two addresses may take one port, whose rate is then the limit, and change from test to
# test. Packets that come in at the other port are delivered, so nothing looks wrong but the counters. `arp_ignore=1` makes each interface
# answer for itself.
#
# Needs root, for namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12 (Linux 6.18); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import time

ME = bytes([2, 0, 0, 0, 0, 9])


def answers(wires):
    """For each interface of the host and each address, whether an answer comes."""
    found = []
    for wire in wires:
        for address in ("10.0.0.1", "10.0.0.2"):
            body = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, ME, socket.inet_aton("10.0.0.9"), bytes(6), socket.inet_aton(address))
            wire.send(b"\xff" * 6 + ME + b"\x08\x06" + body)
            try:
                while (frame := wire.recv(100))[20:22] != b"\0\2":
                    pass
                found.append(frame[28:32] == socket.inet_aton(address))
            except TimeoutError:
                found.append(False)
    return found


wires = []
for number in (1, 2):
    for command in (
        f"link add host{number} type veth peer name wire{number}",
        f"address add 10.0.0.{number}/24 dev host{number}",
        f"link set host{number} up",
        f"link set wire{number} up",
    ):
        subprocess.run(["ip", *command.split()], check=True)
time.sleep(0.5)
for number in (1, 2):
    wires.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806)))
    wires[-1].bind((f"wire{number}", 0x0806))
    wires[-1].settimeout(1)
seen = []
for setting in (0, 1):
    with open("/proc/sys/net/ipv4/conf/all/arp_ignore", "w") as file:
        file.write(str(setting))
    seen.append(answers(wires))
    first, second = seen[-1][:2], seen[-1][2:]
    print(f"arp_ignore={setting}: interface 1 answers for 10.0.0.1 and 10.0.0.2: {first}, interface 2: {second}")
sys.exit(seen != [[True] * 4, [True, False, False, True]])
END
unshare -n python3 try.py
