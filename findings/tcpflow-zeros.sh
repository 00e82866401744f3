#!/bin/sh
# tcpflow fills what a capture lacks with zero bytes: of 3,000 bytes of a stream the missing 1,000 are there as zeros, without a word.
#
# One would guess: a hole in a stream ends the file there, or is named on standard error or in the report.
# So it is: the file has the stream's full length with zeros for the bytes that no packet had, and exit code 0. The report's `filesize` is
# 3,000, and says nothing of a hole; only its count of packets is one lower than it would be. A body's length agrees with Content-Length, its
# checksum does not, and a comparison by length of what was sent and received finds all well.
#
# Uses tcpflow 1.6.1-2+b1 and libhttp-parser2.9 2.9.4-5 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download tcpflow=1.6.1-2+b1 libhttp-parser2.9=2.9.4-5 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
[ -x usr/bin/tcpflow ] || exit 2
usr/bin/tcpflow -V || true
python3 - <<'END'
import re
import struct
import subprocess
import sys
from pathlib import Path

SYN, ACK, FIN = 0x02, 0x10, 0x01


def frame(client, number, flags, data=b""):
    """A TCP segment of the client or the server, with a sequence number."""
    addresses, ports = [bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])], [1000, 2000]
    if not client:
        addresses.reverse(), ports.reverse()
    segment = struct.pack("!HHIIBBHHH", *ports, number, 1, 0x50, flags, 65000, 0, 0) + data
    return b"\2" * 12 + b"\x08\0" + struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0, 64, 6, 0) + b"".join(addresses) + segment


frames = [
    frame(True, 0, SYN), frame(False, 0, SYN | ACK), frame(True, 1, ACK), frame(True, 1, ACK, b"a" * 1000), frame(True, 1001, ACK, b"b" * 1000),
    frame(True, 2001, ACK, b"c" * 1000), frame(True, 3001, ACK | FIN),
]
seen = {}
for name, kept in ("whole", frames), ("without the second segment", frames[:4] + frames[5:]):
    folder = Path(name.split()[0])
    folder.mkdir()
    with open("capture", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, packet in enumerate(kept):
            file.write(struct.pack("<IIII", 1000 + number, 0, len(packet), len(packet)) + packet)
    run = subprocess.run(["usr/bin/tcpflow", "-r", "capture", "-o", folder], capture_output=True, text=True)
    data = next(folder.glob("192*.01000-*")).read_bytes()
    report = (folder / "report.xml").read_text()
    said = [line for line in run.stderr.splitlines() if "reportfilename" not in line]
    sizes = re.findall(r"<filesize>([1-9]\d*)", report)
    seen[folder.name] = len(data), data.count(0), run.returncode, said, sizes
    print(f"{name}: {len(data)} bytes, {data.count(0)} of them zeros; exit code {run.returncode}, messages {said}, filesize {sizes}")
sys.exit(not (seen["whole"] == (3000, 0, 0, [], ["3000"]) and seen["without"] == (3000, 1000, 0, [], ["3000"])))
END
