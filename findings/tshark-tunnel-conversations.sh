#!/bin/sh
# tshark counts a tunnel's packets for the inner and for the outer hosts, each with all headers: ten packets of 966 bytes are 19,320 bytes
# of conversations. In `ip_hosts,tree` the outer hosts are missing, and the inner ones have 20.
#
# One would guess: `-z conv,ip` splits a capture's bytes among pairs of hosts, so they add up to the capture; or an inner conversation has
# the bytes of the inner packet. And `-z ip_hosts,tree` counts each packet once for each host.
# So it is: ten GRE packets of 966 bytes are 9,660 bytes between the ends of the tunnel, and 9,660 bytes between the hosts inside. The
# sum is twice the capture, and the inner flow looks larger than it was sent, by 38 bytes of each packet. `ip_hosts,tree` reads the
# addresses when the packet is done, once for each IP header: 20 packets of the inner hosts and none of the outer ones. Sums over
# tunnelled traffic need a filter on the outer addresses.
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
import re
import struct
import subprocess
import sys

OUTER, INNER = ("10.0.0.1", "10.0.0.2"), ("192.0.2.1", "192.0.2.2")


def ip(protocol, hosts, data):
    addresses = b"".join(bytes(map(int, host.split("."))) for host in hosts)
    return struct.pack("!BBHHHBBH", 69, 0, 20 + len(data), 0, 0, 64, protocol, 0) + addresses + data


udp = struct.pack("!HHHH", 7, 9, 908, 0) + bytes(900)
packet = bytes(12) + b"\x08\0" + ip(47, OUTER, b"\0\0\x08\0" + ip(17, INNER, udp))
with open("capture.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number in range(10):
        file.write(struct.pack("<IIII", 1000 + number, 0, len(packet), len(packet)) + packet)


def statistics(which):
    command = ["usr/bin/tshark", "-q", "-r", "capture.pcap", "-z", which]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


conversations = {
    pair: tuple(map(int, counts))
    for *pair_, packets, total in re.findall(r"^(\S+) +<-> (\S+) .*?(\d+) +(\d+) bytes +\S+ +\S+$", statistics("conv,ip"), re.MULTILINE)
    for pair, counts in [(tuple(pair_), (packets, total))]
}
hosts = {host: int(count) for host, count in re.findall(r"^ ([\d.]+) +(\d+) ", statistics("ip_hosts,tree"), re.MULTILINE)}
print(f"10 packets of {len(packet)} bytes, IP in GRE in IP")
for pair, (packets, total) in conversations.items():
    print("conv,ip:", *pair, f"{packets} packets, {total} bytes")
print("ip_hosts,tree:", hosts)
sys.exit((conversations, hosts) != ({OUTER: (10, 9660), INNER: (10, 9660)}, dict.fromkeys(INNER, 20)))
END
python3 try.py
