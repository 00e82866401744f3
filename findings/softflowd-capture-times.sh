#!/bin/sh
# A flow of an hour ago that softflowd reads from a capture is dated 49.7 days later with NetFlow 9.
#
# One would guess: `softflowd -r` exports flows with the times of their packets, as the durations and counts are right.
# So it is: it counts its uptime from its own start, at which a file's packets are long past. In the 32 bits of milliseconds that NetFlow
# has for it -1 h is 49.7 days less an hour, with an uptime of 0 beside it. nfdump undoes that for NetFlow 5, but not for 9. What is
# older than 49.7 days has a wrong date with both. A look at the last hour finds no flow. Move the capture's times to the last days with
# `editcap -t`, and export NetFlow 5.
#
# Uses softflowd 1.1.0-1+b1, nfdump 1.7.1-2+deb12u1 and libpcap0.8 1.10.3-1 of Debian 12, with a collector on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download softflowd=1.1.0-1+b1 nfdump=1.7.1-2+deb12u1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/sbin:$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
dpkg-deb -f softflowd_*.deb Package Version && nfdump -V || exit 2
cat > try.py <<'END'
import os
import socket
import struct
import subprocess
import sys
import time
from datetime import datetime, timezone

WRAP = 2**32 / 1000
ETHERNET = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0])


def capture(start):
    """A capture of ten packets of a flow, one each 100 ms."""
    packet = ETHERNET + struct.pack("!BBHHHBBH4s4sHHHH", 69, 0, 60, 0, 0, 64, 17, 0, b"\xc0\0\2\1", b"\xc0\0\2\2", 7, 9, 40, 0) + bytes(32)
    with open("capture.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(10):
            file.write(struct.pack("<IIII", start, number * 100_000, len(packet), len(packet)) + packet)


def exported(version):
    """What nfdump shows of the flow: its start, duration, packets and bytes."""
    os.makedirs("flows", exist_ok=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listen = f"nfcapd -w flows -l flows -b 127.0.0.1 -p {port}"
    collector = subprocess.Popen(listen.split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
    try:
        time.sleep(1)
        subprocess.run(f"softflowd -d -r capture.pcap -n 127.0.0.1:{port} -v {version}".split(), check=True, capture_output=True)
        time.sleep(1)
    finally:
        collector.terminate()
        collector.wait()
    [file] = [name for name in os.listdir("flows") if name[-1].isdigit()]
    show = f"nfdump -q -r flows/{file} -o fmt:%ts|%td|%pkt|%byt"
    shown = subprocess.run(show.split(), capture_output=True, text=True, check=True).stdout
    os.remove(f"flows/{file}")
    first, duration, packets, octets = (part.strip() for part in shown.split("|"))
    return datetime.fromisoformat(first).replace(tzinfo=timezone.utc).timestamp(), duration, int(packets), int(octets)


as_described = True
for days, version, wraps in ((1 / 24, 5, 0), (1 / 24, 9, 1), (60, 5, 1), (60, 9, 2)):
    start = int(time.time() - days * 86400)
    capture(start)
    first, duration, packets, octets = exported(version)
    print(f"captured {days * 24:.0f} h ago, NetFlow {version}: {packets} packets, {octets} bytes, a duration of {duration}, and a start "
          f"{(first - start) / 86400:.2f} days after the first packet's")
    as_described &= abs(first - start - wraps * WRAP) < 5 and packets == 10 and octets == 600
sys.exit(not as_described)
END
TZ=UTC unshare -n sh -c 'ip link set lo up; exec python3 try.py'
