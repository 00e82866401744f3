#!/bin/sh
# `editcap -i 1` writes a file for each second of a pause: two packets an hour apart are 3,600 files, 3,598 of them without a packet.
#
# One would guess: a capture that is split by time gives a file for each second that has packets, as `dumpcap -b duration` and `-c` do.
# So it is: the files of a pause are written, too, with a header and no packet, one for each second, numbered with five digits. A capture
# with one packet whose clock was wrong by a year would be 31 million files. The
# number in a file's name counts seconds from the first packet. Look at the first and last times (`capinfos -ae`) before splitting.
#
# Uses wireshark-common 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download wireshark-common=4.0.17-0+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH"
editcap --version 2> log | head -1 || exit 2
cat > try.py <<'END'
import os
import struct
import subprocess
import sys

SIZE = 60
with open("in.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for second in (0, 3600):
        file.write(struct.pack("<IIII", 1_700_000_000 + second, 0, SIZE, SIZE) + bytes(SIZE))
os.mkdir("out")
subprocess.run("editcap -F pcap -i 1 in.pcap out/part.pcap".split(), check=True, stderr=subprocess.DEVNULL)
files = sorted(os.listdir("out"))
full = [name for name in files if os.path.getsize(f"out/{name}") > 24]
print(f"two packets, 3,600 s apart: {len(files)} files, {len(files) - len(full)} without a packet; with one: {full}")
sys.exit((len(files), len(full)) != (3600, 2))
END
python3 try.py
