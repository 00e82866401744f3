#!/bin/sh
# Bytes of sFlow have the frame check sequence in them: a frame of 1,000 bytes is 1,004, and nfdump multiplies it by the sampling rate.
#
# One would guess: a collector shows the bytes that an interface counts, or the IP lengths that NetFlow counts of the same flow.
# So it is: goflow2 and nfdump take `frame_length`, the length on the wire before four bytes of FCS were stripped. Of a frame of 1,000
# bytes an interface of Linux counts 1,000, NetFlow 986, and sFlow 1,004. nfdump multiplies by the sampling rate, as it does with NetFlow;
# goflow2 shows the sample with the rate beside it. Compare packets, and know which of the three bytes are meant.
#
# Uses nfdump-sflow 1.7.1-2+deb12u1 and nfdump of Debian 12, and github.com/netsampler/goflow2/v2 v2.2.6 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nfdump=1.7.1-2+deb12u1 nfdump-sflow=1.7.1-2+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
GOBIN=$folder GOFLAGS=-modcacherw go install github.com/netsampler/goflow2/v2/cmd/goflow2@v2.2.6 2> log || { cat log >&2; exit 2; }
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
nfdump -V && echo goflow2 v2.2.6 || exit 2
cat > try.py <<'END'
import json
import os
import socket
import struct
import subprocess
import sys
import time

SAMPLING, FRAME, FCS = 100, 1000, 4
ethernet = bytes.fromhex("0200000000020200000000010800")
ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, FRAME - 14, 0, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
header = (ethernet + ip + struct.pack("!HHHH", 1000, 2000, FRAME - 34, 0)).ljust(64, b"\0")


def block(kind, content):
    """An XDR structure with its kind and length."""
    return struct.pack("!II", kind, len(content)) + content


record = block(1, struct.pack("!IIII", 1, FRAME + FCS, FCS, len(header)) + header)
sample = block(1, struct.pack("!IIIIIIII", 1, 3, SAMPLING, SAMPLING, 0, 3, 4, 1) + record)
datagram = struct.pack("!II4sIIII", 5, 1, bytes([127, 0, 0, 1]), 0, 1, 1000, 1) + sample
os.mkdir("flows")
collectors = [
    subprocess.Popen(command.split(), stdout=open(f"out{number}", "w"), stderr=open(f"err{number}", "w"))
    for number, command in enumerate((
        "sfcapd -w flows -b 127.0.0.1 -p 9001",
        "./goflow2 -listen sflow://127.0.0.1:9002 -addr 127.0.0.1:9003",
    ))
]
time.sleep(3)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in (9001, 9002):
    sender.sendto(datagram, ("127.0.0.1", port))
time.sleep(3)
for collector in collectors:
    collector.terminate()
    collector.wait()
[file] = [name for name in os.listdir("flows") if name[-1].isdigit()]
shown = subprocess.run(f"nfdump -q -r flows/{file} -o fmt:%pkt|%byt".split(), capture_output=True, text=True).stdout
nfdump = tuple(map(int, shown.split("|")))
flow = json.loads(open("out1").read())
goflow2 = flow["packets"], flow["bytes"], flow["sampling_rate"]
print(f"one frame of {FRAME} bytes without FCS, one in {SAMPLING} sampled")
print("nfdump: packets, bytes", *nfdump, " goflow2: packets, bytes, sampling rate", *goflow2)
sys.exit((nfdump, goflow2) != ((SAMPLING, SAMPLING * (FRAME + FCS)), (1, FRAME + FCS, SAMPLING)))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n -i sh try.sh
