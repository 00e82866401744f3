#!/bin/sh
# capinfos says "2 packets/s" of two packets one second apart.
#
# One would guess: packets at a steady rate of one a second have a rate of 1 packet/s.
# So it is: the rate is the number of packets, divided by the time from the first to the last. N packets have N − 1 gaps, so the
# rate is N / (N − 1) of the true one: 2 for two packets a second apart, 1.1 for eleven in ten seconds. The bit rate is as much
# too high. In a short capture that is a lot.
#
# Uses wireshark-common 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in wireshark-common libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/capinfos -v 2>&1 | grep -m 1 '^Capinfos' || exit 2
python3 - <<'END'
import struct
import subprocess
import sys

seen = {}
for packets in (2, 11, 101):
    frame = bytes(12) + b"\x08\x00" + bytes(46)
    with open("steady.pcap", "wb") as capture:
        capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for second in range(packets):
            capture.write(struct.pack("<IIII", second, 0, len(frame), len(frame)) + frame)
    shown = subprocess.run(["usr/bin/capinfos", "-TrmxM", "steady.pcap"], capture_output=True, text=True).stdout
    seen[packets] = float(shown.strip().split(",")[-1])
    print(f"{packets} packets, 1 s apart: {seen[packets]} packets/s")
sys.exit(seen != {2: 2.0, 11: 1.1, 101: 1.01})
END
