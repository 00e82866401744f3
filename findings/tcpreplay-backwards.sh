#!/bin/sh
# tcpreplay sends packets without a pause once times have gone back: of two captures behind one another the second is one burst.
#
# One would guess: the gaps between neighboring packets are kept, as "at the rate they were captured" says; a step back in time, where two
# captures meet, is one gap of 0.
# So it is: a packet waits until the time since the first one has passed, by the latest time seen so far. After a step back all packets are
# late until their times have caught up. Three packets a second apart, followed by the same three again (`mergecap -a`), take two
# seconds, not four, and the last three leave at once; a first packet from a clock that was ahead makes one burst of the whole file. Loops
# of one file (`-l 2`) keep their gaps, and bittwist (2.0) keeps them everywhere. Move the second capture with `editcap -t` before it is
# appended.
#
# Needs root, for a network namespace of its own. Uses tcpreplay 4.4.3-1 and libdumbnet1 1.16.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpreplay=4.4.3-1 libdumbnet1=1.16.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
tcpreplay -V 2>&1 | head -1 || exit 2
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import time

STEP = 1.0
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(0x88B5))
receiver.bind(("far", 0))
receiver.settimeout(30)
frame = bytes.fromhex("02000000000202000000000188b5") + bytes(86)


def gaps(times, options=""):
    """Seconds between the packets as they arrive."""
    with open("times.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for moment in times:
            file.write(struct.pack("<IIII", int(moment), round(moment % 1 * 1e6), len(frame), len(frame)) + frame)
    command = f"tcpreplay -q -i near {options} times.pcap"
    sender = subprocess.Popen(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    arrivals = []
    for _ in range(len(times) * (2 if options else 1)):
        receiver.recv(200)
        arrivals.append(time.monotonic())
    sender.wait()
    found = [later - earlier for earlier, later in zip(arrivals, arrivals[1:])]
    print(f"times {times} {options}: gaps of", *(f"{gap:.2f}" for gap in found), "s")
    return [gap > STEP / 2 for gap in found]


three = [1.0, 1.0 + STEP, 1.0 + 2 * STEP]
seen = gaps(three), gaps(three + three), gaps([9.0, *three]), gaps(three, "-l 2")
expected = [True, True], [True, True, False, False, False], [False] * 3, [True, True, False, True, True]
sys.exit(seen != expected)
END
cat > try.sh <<'END'
set -e
ip link add near type veth peer name far
ip link set near up
ip link set far up
exec python3 try.py
END
unshare -n sh try.sh
