#!/bin/sh
# One IGMPv2 query makes a Linux host forget IGMPv3 for 260 s, whatever IGMPv3 queries come after it: its joins of one source become joins
# of the group.
#
# One would guess: a host answers each query in the version it has: reports of IGMPv3 with the sources that it wants to IGMPv3 queries, and
# a stray old query matters for its own answer only.
# So it is: a program joins 232.1.1.1 from the source 10.0.0.9, and the report says so. After one query of IGMPv2 all reports are
# of IGMPv2, also those for three IGMPv3 queries and the one for a new join: they have a group and no source. Switches and
# routers then forward the group from all sources. The time is twice the querier's interval of 125 s, and 10 s. A tester that sends
# queries of both versions, or a second querier, changes all tests that follow. `net.ipv4.conf.*.force_igmp_version=3`, which is set here,
# does not prevent it.
#
# Needs root, for a network namespace of its own. Uses the running kernel (Linux 6.18 when this was written) and iproute2 6.1.0-3 of Debian
# 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
echo Linux "$(uname -r)"
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import threading
import time

NAMES = {0x12: "IGMPv1", 0x16: "IGMPv2", 0x22: "IGMPv3"}
JOIN_SOURCE = 39


def checked(data, at):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return data[:at] + struct.pack("!H", ~total & 0xFFFF) + data[at + 2 :]


def query(version):
    """A general query with a response time of 1 s."""
    igmp = checked(b"\x11\x0a" + bytes(6) + (b"\x02\x7d\0\0" if version == 3 else b""), 2)
    hosts = bytes([10, 0, 0, 1, 224, 0, 0, 1])
    ip = checked(struct.pack("!BBHHHBBH", 0x46, 0xC0, 24 + len(igmp), 0, 0, 1, 2, 0) + hosts + b"\x94\x04\0\0", 10)
    wire.send(bytes.fromhex("01005e000001 020000000009 0800") + ip + igmp)
    time.sleep(2)


def listen():
    while True:
        frame, origin = wire.recvfrom(2000)
        if origin[2] != socket.PACKET_OUTGOING and frame[12:14] == b"\x08\0" and frame[23] == 2:
            heard.append(NAMES.get(frame[14 + (frame[14] & 15) * 4]))


def join(group):
    receiver.setsockopt(socket.IPPROTO_IP, JOIN_SOURCE, b"".join(map(socket.inet_aton, (group, "10.0.0.2", "10.0.0.9"))))
    time.sleep(2)


def reports(when):
    versions, heard[:] = sorted(set(heard)), []
    print(f"{when}:", *versions)
    return versions


for command in (
    "link add near type veth peer name wire",
    "link set near up",
    "link set wire up",
    "address add 10.0.0.2/24 dev near",
):
    subprocess.run(["ip", *command.split()], check=True)
with open("/proc/sys/net/ipv4/conf/near/force_igmp_version", "w") as setting:
    setting.write("3")
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
wire.bind(("wire", 0x0003))
heard, receiver = [], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
threading.Thread(target=listen, daemon=True).start()
time.sleep(1)
join("232.1.1.1")
seen = [reports("reports of a join of 232.1.1.1 from 10.0.0.9")]
query(3)
seen.append(reports("after an IGMPv3 query"))
query(2)
seen.append(reports("after an IGMPv2 query"))
for _ in range(3):
    query(3)
seen.append(reports("after three IGMPv3 queries"))
join("232.1.1.2")
seen.append(reports("of a join of 232.1.1.2 from 10.0.0.9"))
sys.exit(seen != [["IGMPv3"], ["IGMPv3"], ["IGMPv2"], ["IGMPv2"], ["IGMPv2"]])
END
unshare -n python3 try.py
