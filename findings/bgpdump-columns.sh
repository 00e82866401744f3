#!/bin/sh
# `bgpdump -m` leaves out large communities, and puts a path identifier into the middle of a line: the AS path moves on by a column.
#
# One would guess: a line has all that the long form shows, and its columns have fixed places: type, time, A or W, peer, its AS, prefix, AS
# path, origin, next hop, local preference, MED, communities and more.
# So it is: large communities (RFC 8092) are in the long form only: a line of a route with two of them has an empty column of
# communities. With additional paths (RFC 8050) the identifier stands behind the prefix, as a column that other lines do not have,
# so a reader that takes the seventh for the AS path has 1. The type of such a line is BGP4MP_AP.
#
# Uses bgpdump 1.6.2-2 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bgpdump=1.6.2-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
[ -x usr/bin/bgpdump ] || exit 2
cat > try.py <<'END'
import struct
import subprocess
import sys

AS_PATH = [4_200_000_001, 64_501]


def attribute(flags, kind, data):
    return struct.pack("!BBB", flags, kind, len(data)) + data


def record(subtype, large, identifier):
    """A BGP4MP record with an UPDATE of 192.0.2.0/24, with 4-byte AS numbers."""
    attributes = attribute(0x40, 1, b"\0") + attribute(0x40, 2, struct.pack("!BBII", 2, 2, *AS_PATH)) + attribute(0x40, 3, bytes([10, 0, 0, 1]))
    if large:
        attributes += attribute(0xC0, 32, struct.pack("!6I", 64_500, 1, 2, 64_500, 3, 4))
    prefix = b"" if identifier is None else struct.pack("!I", identifier)
    body = struct.pack("!HH", 0, len(attributes)) + attributes + prefix + bytes([24, 192, 0, 2])
    update = b"\xff" * 16 + struct.pack("!HB", 19 + len(body), 2) + body
    peers = struct.pack("!IIHH", AS_PATH[0], 64_500, 0, 1) + bytes([10, 0, 0, 2, 10, 0, 0, 3])
    return struct.pack("!IHHI", 1_700_000_000, 16, subtype, len(peers + update)) + peers + update


with open("updates.mrt", "wb") as file:
    file.write(record(4, True, None) + record(9, False, 1))


def bgpdump(*options):
    return subprocess.run(["usr/bin/bgpdump", *options, "updates.mrt"], capture_output=True, text=True, check=True).stdout


lines = [line.split("|") for line in bgpdump("-m").splitlines()]
whole = bgpdump()
print("bgpdump 1.6.2")
for line in lines:
    print("|".join(line))
print("the long form has", [line for line in whole.splitlines() if "COMMUNITY" in line or "PATH_ID" in line])
path = " ".join(map(str, AS_PATH))
sys.exit(not (
    "LARGE_COMMUNITY: 64500:1:2 64500:3:4" in whole and "64500:1:2" not in str(lines)
    and lines[0][6] == path and lines[1][6:8] == ["1", path] and lines[1][0] == "BGP4MP_AP"
))
END
python3 try.py
