#!/bin/sh
# tcpslice drops packets of the second capture that equal some of the first: two taps that saw the same ten packets make ten, not twenty.
#
# One would guess: merging two captures gives as many packets as both have, in the order of time, as mergecap does.
# So it is: a packet with the time and the bytes of one in another file counts as a duplicate, and is left out without a word. Captures of
# both sides of a device with one clock, or of a generator that stamps packets by its plan, lose what they should compare. `-D` keeps all.
#
# Uses tcpslice 1.5-1 and libraries of Debian 12, which read captures that the script writes; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpslice=1.5-1 libosip2-15=5.3.0-2.1 libnids1.21=1.26-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libnet1=1.1.6+dfsg-3.2 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
cat > try.py <<'END'
import os
import struct
import subprocess
import sys

TOOL = next(path for path in ("usr/bin/tcpslice", "usr/sbin/tcpslice") if os.path.exists(path))


def write(name, times):
    """A capture of equal frames at the seconds given."""
    with open(name, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for time in times:
            file.write(struct.pack("<IIII", time, 0, 60, 60) + bytes.fromhex("020000000002 020000000001 0800") + bytes(46))


def merged(*arguments):
    """Number of packets that tcpslice writes."""
    subprocess.run([TOOL, "-w", "out.pcap", *arguments], check=True)
    with open("out.pcap", "rb") as file:
        data = file.read()
    at, count = 24, 0
    while at < len(data):
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
        count += 1
    print("tcpslice", *arguments, "writes", count, "packets")
    return count


version = subprocess.run([TOOL, "-h"], capture_output=True, text=True)
print((version.stdout + version.stderr).splitlines()[0])
write("first.pcap", range(1000, 1010))
write("second.pcap", range(1005, 1015))
same, half = merged("first.pcap", "first.pcap"), merged("first.pcap", "second.pcap")
everything = merged("-D", "first.pcap", "second.pcap")
sys.exit((same, half, everything) != (10, 15, 20))
END
python3 try.py
