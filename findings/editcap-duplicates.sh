#!/bin/sh
# `editcap -d` removes equal frames whenever they came: of 100 equal datagrams a minute apart one is left.
#
# One would guess: "remove duplicates" removes what was captured twice, within a moment, as at two ports of a switch.
# So it is: `-d` compares a frame with the four before it, by length and content, and ignores times: 99 of 100 datagrams
# that were sent a minute apart are "duplicates". With three other frames between two equal ones it still removes the second, with four
# it does not. A stream of a traffic generator with one payload and no counter in it is gone but for its first frame. `-w 0.001` looks
# at times. Of datagrams in which only the IP identification counts up all 100 stay.
#
# Uses wireshark-common 4.0.17-0+deb12u3 (editcap) of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in wireshark-common libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/editcap -v 2> log | grep -m 1 "^Editcap" || exit 2
cat > try.py <<'END'
import re
import struct
import subprocess
import sys


def left(different, *options):
    """Of 100 UDP datagrams a minute apart, those that editcap keeps. Their IP identifications are as many as `different`, in turn."""
    with open("capture.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(100):
            ip = struct.pack("!BBHHHBBHII", 69, 0, 86, number % different, 0, 64, 17, 0, 0xC0000201, 0xC0000202)
            packet = bytes(12) + b"\x08\0" + ip + struct.pack("!HHHH", 7, 9, 66, 0) + bytes(58)
            file.write(struct.pack("<IIII", 60 * number, 0, len(packet), len(packet)) + packet)
    command = ["usr/bin/editcap", *options, "capture.pcap", "left.pcap"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    seen, skipped = map(int, re.search(r"(\d+) packets seen, (\d+) packets skipped", output).groups())
    return seen - skipped


equal, numbered, timed = left(1, "-d"), left(100, "-d"), left(1, "-w", "0.001")
three, four = left(4, "-d"), left(5, "-d")
print(f"100 equal datagrams a minute apart: editcap -d keeps {equal}, editcap -w 0.001 {timed}")
print(f"with an IP identification that counts up: editcap -d keeps {numbered}")
print(f"with three other datagrams between two equal ones it keeps {three}, with four {four}")
sys.exit((equal, numbered, timed, three, four) != (1, 100, 100, 4, 100))
END
python3 try.py
