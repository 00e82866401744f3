#!/bin/sh
# tshark's RTP statistics: duplicates hide losses, and a dynamic payload type has a jitter of 0.
#
# One would guess: "Lost" counts the sequence numbers that are missing, and the jitter of RFC 3550 is measured of each stream, or
# shown as unknown.
# So it is: Lost is the range of sequence numbers minus the number of packets. Three packets lost and three others twice make
# 0 (0.0%); ten twice and none lost make -10 (-11.1%). And without SDP the clock rate of payload type 96 is unknown: mean and max
# jitter are 0.000, for the same packets that have 3.4 ms with payload type 0.
#
# Uses tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
python3 - <<'END'
import re
import struct
import subprocess
import sys


def streams(payload_type, numbers, late_us=0):
    """What tshark says of packets with these sequence numbers, 20 ms apart, each second one late: lost, mean and max jitter."""
    with open("rtp.pcap", "wb") as capture:
        capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for place, number in enumerate(numbers):
            rtp = struct.pack("!BBHII", 0x80, payload_type, number, number * 160, 7) + bytes(160)
            udp = struct.pack("!HHHH", 5004, 5004, len(rtp) + 8, 0) + rtp
            ip = struct.pack("!BBHHHBBHII", 0x45, 0, len(udp) + 20, 0, 0, 64, 17, 0, 0xC0000201, 0xC0000202) + udp
            frame = bytes(12) + b"\x08\x00" + ip
            time = place * 20_000 + place % 2 * late_us
            capture.write(struct.pack("<IIII", time // 10**6, time % 10**6, len(frame), len(frame)) + frame)
    command = "usr/bin/tshark -r rtp.pcap -d udp.port==5004,rtp -q -z rtp,streams"
    shown = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
    (line,) = re.findall(r"0x00000007 .*", shown)
    lost, figures = re.search(r"(-?\d+ \(-?[\d.]+%\)) +([-\d. ]+)", line).groups()
    return lost, *(float(figure) for figure in figures.split()[4:6])


everything = range(100)
holes = sorted({*everything} - {50, 51, 52})
lost = {
    "100 packets": streams(0, everything)[0],
    "3 missing": streams(0, holes)[0],
    "3 missing, 3 others twice": streams(0, sorted([*holes, 10, 11, 12]))[0],
    "10 twice": streams(0, sorted([*everything[:90], *everything[:10]]))[0],
}
jitter = {kind: streams(kind, everything, 4_000)[1:] for kind in (0, 96)}
for what, text in lost.items():
    print(f"{what}: lost {text}")
for kind, (mean, highest) in jitter.items():
    print(f"each second packet 4 ms late, payload type {kind}: mean jitter {mean} ms, max {highest} ms")
expected = {"100 packets": "0 (0.0%)", "3 missing": "3 (3.0%)", "3 missing, 3 others twice": "0 (0.0%)", "10 twice": "-10 (-11.1%)"}
sys.exit(not (lost == expected and jitter[0][0] > 3 and jitter[96] == (0.0, 0.0)))
END
