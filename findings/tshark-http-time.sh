#!/bin/sh
# tshark's `http.time` is the time to the end of the response's body: a server that answers after 50 ms and takes 3 s for the body has
# 3.05 s.
#
# One would guess: "time since request" of a response ends where the response begins, or is the time of its head: that is a server's
# response time, as curl's time_starttransfer and a proxy's log have it.
# So it is: tshark reassembles a response and dissects it in the frame of its last segment, and `http.time` is
# that frame's. A head after 50 ms, with 1,000 bytes of 4,000, and the rest over three seconds is 3.05 s. Without reassembly (`-o
# tcp.desegment_tcp_streams:FALSE`) it is 0.05 s. So averages of http.time grow with the size of files and fall with the rate of the link,
# and compare with the totals of a load tool, not with its time to the first byte.
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
cat > try.py <<'END'
import struct
import subprocess
import sys

CLIENT, SERVER = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
SYN, ACK, PUSH = 2, 16, 8
REQUEST = b"GET / HTTP/1.1\r\nHost: server\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n"
records = []


def segment(milliseconds, source, sequence, acknowledged, flags, data=b""):
    target, ports = (SERVER, (40000, 80)) if source == CLIENT else (CLIENT, (80, 40000))
    tcp = struct.pack("!HHIIBBHHH", *ports, sequence, acknowledged, 0x50, flags, 65535, 0, 0) + data
    ip = struct.pack("!BBHHHBBH4s4s", 69, 0, 20 + len(tcp), 0, 0, 64, 6, 0, source, target)
    packet = bytes(12) + b"\x08\0" + ip + tcp
    time = struct.pack("<II", 1000 + milliseconds // 1000, milliseconds % 1000 * 1000)
    records.append(time + struct.pack("<II", len(packet), len(packet)) + packet)


segment(0, CLIENT, 0, 0, SYN)
segment(10, SERVER, 0, 1, SYN | ACK)
segment(20, CLIENT, 1, 1, ACK)
segment(30, CLIENT, 1, 1, PUSH | ACK, REQUEST)
asked = 1 + len(REQUEST)
segment(80, SERVER, 1, asked, ACK, HEAD + bytes(1000))
for number in range(1, 4):
    segment(80 + 1000 * number, SERVER, 1 + len(HEAD) + 1000 * number, asked, ACK, bytes(1000))
with open("capture.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))


def time(*options):
    fields = ("-Y", "http.response", "-T", "fields", "-e", "frame.number", "-e", "http.time")
    command = ["usr/bin/tshark", "-r", "capture.pcap", *options, *fields]
    return tuple(map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()))


together, apart = time(), time("-o", "tcp.desegment_tcp_streams:FALSE")
print("the response begins in frame 5, 0.05 s after the request, and ends in frame 8, 3.05 s after it")
print("http.time is %.2f s in frame %d" % together[::-1] + "; without reassembly %.2f s in frame %d" % apart[::-1])
sys.exit((together, apart) != ((8, 3.05), (5, 0.05)))
END
python3 try.py
