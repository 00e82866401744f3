#!/bin/sh
# tcpdump and tcpreplay end at the second interface of a pcapng file whose interfaces have different snapshot lengths.
#
# One would guess: a capture of two interfaces, one in full length and one cut to 96 bytes (`dumpcap -i a -i b -s 96`), is read by all
# that read pcapng; only link types have to be alike.
# So it is: libpcap, which tcpdump and tcpreplay read with, refuses the file when it comes to the second interface, after the packets
# in front of it: with "an interface has a snapshot length 96 different from the snapshot length of the first interface". Scapy, dpkt and
# tshark read it. `editcap -F pcap` makes a file that tcpdump reads.
#
# Uses tcpdump 4.99.3-1, tcpreplay 4.4.3-1, libpcap0.8 1.10.3-1 and tshark 4.0.17-0+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tshark wireshark-common libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
apt-get -qq -o APT::Sandbox::User=root download tcpdump=4.99.3-1 tcpreplay=4.4.3-1 libpcap0.8=1.10.3-1 libdumbnet1=1.16.3-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
tcpdump --version && tshark --version 2> log | grep -m 1 '^TShark' || exit 2
python3 - <<'END'
import struct

FRAME = bytes(60)


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def interface(snapshot):
    return block(1, struct.pack("<HHI", 1, 0, snapshot))


def packet(number, seconds):
    stamp = seconds * 10**6
    return block(6, struct.pack("<IIIII", number, stamp >> 32, stamp & 0xFFFFFFFF, len(FRAME), len(FRAME)) + FRAME)


for name, second in (("alike", 65535), ("different", 96)):
    with open(f"{name}.pcapng", "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + interface(65535))
        # The second interface's block comes where its first packet does, as the format allows.
        file.write(packet(0, 1000) + interface(second) + packet(1, 1001) + packet(0, 1002))
END
for name in alike different; do
    read=$(tcpdump -n -r $name.pcapng 2> $name.log | wc -l)
    shown=$(tshark -r $name.pcapng 2> log | wc -l)
    echo "snapshot lengths $name: of three packets tcpdump reads $read, tshark $shown"
    eval "$name='$read $shown'"
done
tail -n 1 different.log
editcap -F pcap different.pcapng different.pcap
after=$(tcpdump -n -r different.pcap 2> log | wc -l)
echo "after editcap -F pcap tcpdump reads $after"
unshare -n sh -c 'ip link set lo up; tcpreplay -i lo --pps 1000 different.pcapng' > replay.log 2>&1 || true
cat replay.log
grep -q "snapshot length 96 different from the snapshot length of the first" different.log && [ "$alike, $different, $after" = "3 3, 1 3, 3" ]
