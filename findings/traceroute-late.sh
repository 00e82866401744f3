#!/bin/sh
# traceroute calls an answer lost that takes three times as long as another one of its hop: of 10, 100 and 10 ms the second is "*".
#
# One would guess: `*` means that no answer came within 5 s, the waiting time that traceroute's help names first.
# So it is: the default is `-w 5,3,10`: 5 s at most, but no longer than three times the fastest answer of the same hop, and ten times one of
# the next hop. As soon as an answer of 10 ms is there the others have 30 ms. A hop with jitter, or a router that answers some probes
# slowly, shows a loss of a third, in a path that loses nothing. With `-w 5` all three are there.
#
# Needs root, for a TUN device in a network namespace of its own. Uses traceroute 1:2.1.2-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download traceroute=1:2.1.2-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/traceroute.db --version 2>&1 | head -1 || exit 2
cat > try.py <<'END'
import fcntl
import os
import struct
import subprocess
import sys
import threading

DELAYS = [0.01, 0.1, 0.01]  # seconds, of a hop's answers in turn
device = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF: a TUN device without packet information
for command in ("link set lo up", "addr add 192.0.2.1/24 dev tun0", "link set tun0 up"):
    subprocess.run(["ip", *command.split()], check=True)
probes = 0


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF)


def serve():
    """Answers each UDP probe with an ICMP error (port unreachable) after its delay."""
    global probes
    while True:
        probe = os.read(device, 2000)
        if probe[0] >> 4 != 4 or probe[9] != 17:
            continue
        body = b"\3\3\0\0" + bytes(4) + probe[:28]
        body = body[:2] + checksum(body) + body[4:]
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0, 60, 1, 0, probe[16:20], probe[12:16])
        header = header[:10] + checksum(header) + header[12:]
        threading.Timer(DELAYS[probes % 3], os.write, (device, header + body)).start()
        probes += 1


threading.Thread(target=serve, daemon=True).start()
answers = {}
for options in ("", "-w 5"):
    probes = 0
    command = f"usr/bin/traceroute.db -n -q 3 -N 1 {options} 192.0.2.2"
    line = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.splitlines()[1]
    print(f"answers after 10, 100 and 10 ms, traceroute {options}: {line}")
    answers[options] = line.count("ms"), line.count("*")
os._exit(not (answers[""][1] >= 1 and answers["-w 5"] == (3, 0)))
END
unshare -n python3 try.py
