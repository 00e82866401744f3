#!/bin/sh
# tcpdump -r FILE -w FILE cuts a nanosecond capture to microseconds, even if it only filters.
#
# One would guess: a filtered copy of a capture has the packets and times of the original, in the same format.
# So it is: a file is read with microseconds unless `--time-stamp-precision=nano` is given, and the copy is a microsecond file.
# Packets 672 ns apart, 64 bytes at a gigabit per second, get gaps of 0 and 1 µs. Nothing says so.
#
# Uses tcpdump 4.99.3-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/tcpdump --version 2> log > version || exit 2
head -n 2 version
python3 - <<'END'
import struct
import subprocess
import sys

frame = bytes(12) + b"\x08\x00" + bytes(46)
with open("nano.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    for number in range(5):
        capture.write(struct.pack("<IIII", 1000, number * 672, len(frame), len(frame)) + frame)


def gaps(path):
    """The unit of a capture's times, in ns, and the gaps between its packets, in ns."""
    data = open(path, "rb").read()
    unit = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}[struct.unpack_from("<I", data)[0]]
    times = [struct.unpack_from("<I", data, at + 4)[0] * unit for at in range(24, len(data), 16 + len(frame))]
    return unit, [after - before for before, after in zip(times, times[1:])]


seen = [gaps("nano.pcap")]
for options in ([], ["--time-stamp-precision=nano"]):
    subprocess.run(["usr/bin/tcpdump", *options, "-r", "nano.pcap", "-w", "copy.pcap"], capture_output=True, check=True)
    seen.append(gaps("copy.pcap"))
print("gaps in ns:", seen[0][1])
print("copied by tcpdump -r -w:", seen[1][1])
print("with --time-stamp-precision=nano:", seen[2][1])
sys.exit(seen != [(1, [672] * 4), (1000, [0, 1000, 1000, 0]), (1, [672] * 4)])
END
