#!/bin/sh
# tcprewrite turns the padding of short frames into data: a TCP acknowledgement gets 6 bytes of payload, UDP a wrong checksum.
#
# One would guess: an option changes the fields that it names. The zeros that fill an Ethernet frame up to 60 bytes stay behind the IP
# packet, as its length says.
# So it is: with any option, and without one, the IP header's length is set to all that follows the Ethernet header. A TCP acknowledgement
# of 40 bytes becomes a segment with 6 bytes of zeros that its sender never sent; UDP keeps its own length, but is summed with the zeros
# and is dropped for its checksum; so is UDP over IPv6. The exit code is 0. Captures taken at a receiver are full of such frames:
# replayed, their TCP connections have data that nobody sent, and their small datagrams are lost.
#
# Uses tcpreplay 4.4.3-1, libdumbnet1 1.16.3-1 and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tcpreplay=4.4.3-1 libdumbnet1=1.16.3-1 wireshark-common=4.0.17-0+deb12u3; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
tcprewrite -V 2>&1 | head -n 1 | grep version && tshark --version 2> log | head -n 1 || exit 2
python3 - <<'END'
import struct
import subprocess
import sys


def sum16(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


SOURCE, TARGET = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
ETHERNET = bytes.fromhex("020000000002 020000000001")


def framed(protocol, segment, at):
    """A frame of 60 bytes or more with a segment, whose checksum is put in place, over IPv4."""
    pseudo = SOURCE + TARGET + struct.pack("!HH", protocol, len(segment))
    segment = segment[:at] + struct.pack("!H", sum16(pseudo + segment)) + segment[at + 2:]
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 1, 0, 64, protocol, 0, SOURCE, TARGET)
    header = header[:10] + struct.pack("!H", sum16(header)) + header[12:]
    return (ETHERNET + b"\x08\x00" + header + segment).ljust(60, b"\0")


with open("short.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for frame in (
        framed(6, struct.pack("!HHIIBBHHH", 1000, 2000, 1, 1, 0x50, 0x10, 8192, 0, 0), 16),
        framed(17, struct.pack("!HHHH", 1000, 2000, 9, 0) + b"x", 6),
    ):
        capture.write(struct.pack("<IIII", 1000, 0, len(frame), len(frame)) + frame)


def shown(path):
    """Length of IP, of TCP's payload, and whether UDP's checksum is good (1), of each packet."""
    command = f"tshark -r {path} -o udp.check_checksum:TRUE -T fields -e ip.len -e tcp.len -e udp.checksum.status"
    return [line.split("\t") for line in subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.splitlines()]


seen = [shown("short.pcap")]
print("before:", seen[0])
for option in ("", "--enet-dmac=02:00:00:00:00:03", "--fixcsum"):
    subprocess.run(f"tcprewrite {option} -i short.pcap -o new.pcap".split(), capture_output=True, check=True)
    seen.append(shown("new.pcap"))
    print(f"tcprewrite {option}:", seen[-1])
print("(length of IP, TCP payload, UDP checksum: 1 is good, 0 bad)")
padded = [["46", "6", ""], ["46", "", "0"]]
sys.exit(seen != [[["40", "0", ""], ["29", "", "1"]], padded, padded, padded])
END
