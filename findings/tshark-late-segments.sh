#!/bin/sh
# Wireshark calls a reordered TCP segment a retransmission if it comes later than a round trip: 1.5 ms late, and none was sent twice.
#
# One would guess: a retransmission is data that was sent before; a capture with each byte once, in another order, has none.
# So it is: of a segment that fills a gap Wireshark guesses by time. Within the first round trip (seen in the handshake, or 3 ms without
# one) it is "Out-Of-Order", and later a "Retransmission", though the capture has it once. In a data center with 0.2 ms, any path that
# reorders by more than that shows up as retransmissions, as if packets were lost. tcptrace counts it as out of order. Look at sequence
# numbers seen before, not at the label.
#
# Uses tshark 4.0.17-0+deb12u3 and tcptrace 6.6.7-6+b1 of Debian 12, which read captures that the script writes; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
apt-get -qq -o APT::Sandbox::User=root download tcptrace=6.6.7-6+b1 libpcap0.8=1.10.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
cat > try.py <<'END'
import re
import struct
import subprocess
import sys

WEST, EAST = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
SYN, ACK = 2, 16


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def segment(source, target, number, acknowledged, flags, data=b""):
    ports = (1000, 2000) if source == WEST else (2000, 1000)
    tcp = struct.pack("!HHIIBBHHH", *ports, number, acknowledged, 0x50, flags, 65535, 0, 0) + data
    pseudo = source + target + struct.pack("!BBH", 0, 6, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source, target)
    return bytes.fromhex("020000000002 020000000001 0800") + ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp


def labels(round_trip, late):
    """Labels of a connection that takes so many microseconds a round trip, one of whose 20 segments is late; and tcptrace's counts."""
    packets = [
        (0, segment(WEST, EAST, 100, 0, SYN)),
        (round_trip, segment(EAST, WEST, 500, 101, SYN | ACK)),
        (round_trip + 10, segment(WEST, EAST, 101, 501, ACK)),
    ]
    for number in range(20):
        time = round_trip + 1000 + number * 1000 + (late if number == 10 else 0)
        packets.append((time, segment(WEST, EAST, 101 + number * 1000, 501, ACK, bytes([number]) * 1000)))
    with open("try.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for time, data in sorted(packets):
            file.write(struct.pack("<IIII", 1000, time, len(data), len(data)) + data)
    command = ["usr/bin/tshark", "-r", "try.pcap", "-Y", "tcp.seq == 10001", "-T", "fields", "-e", "_ws.col.Info"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    label = re.match(r"\[TCP ([\w-]+)", shown)[1]
    counts = subprocess.run(["usr/bin/tcptrace", "-l", "try.pcap"], capture_output=True, text=True, check=True).stdout
    rest = [re.search(rf"{name} pkts:\s+(\d+)", counts)[1] for name in ("rexmt data", "outoforder")]
    print(f"round trip {round_trip / 1000} ms, one of 20 segments {late / 1000} ms late: {label};", end=" ")
    print(f"tcptrace: {rest[0]} retransmitted, {rest[1]} out of order")
    return label, *rest


far, near = labels(20_000, 1500), labels(200, 1500)
sys.exit((far, near) != (("Out-Of-Order", "0", "1"), ("Retransmission", "0", "1")))
END
python3 try.py
