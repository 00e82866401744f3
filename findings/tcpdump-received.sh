#!/bin/sh
# tcpdump's "packets received by filter" include those "dropped by kernel": a loss of 97 % looks like one of 49 %.
#
# One would guess: received and dropped are two parts of the traffic: of 10,000 packets with 9,700 dropped tcpdump has received 300.
# So it is: on Linux the kernel adds its drops to what libpcap calls received: "253 packets captured, 10000 packets received by filter,
# 9747 packets dropped by kernel". So dropped / (received + dropped), the usual way to state a capture's loss, is at most a half, and the
# rate of "received" packets is the traffic's, however few of them are in the file. Programs that use libpcap's statistics have the same
# numbers. The share lost is dropped / received.
#
# Needs root, for a network namespace of its own. Uses tcpdump 4.99.3-1 and libpcap0.8 1.10.3-1 of Debian 12; seen with Linux 6.18. No
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in tcpdump=4.99.3-1 libpcap0.8=1.10.3-1; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tcpdump --version > version 2>&1 || exit 2
head -n 2 version && uname -sr
cat > try.py <<'END'
import re
import signal
import socket
import subprocess
import sys
import time

PACKETS = 10_000
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("near", 0))
frame = bytes.fromhex("020000000002 020000000001 88b5") + bytes(900)
# A small buffer, and a reader that pauses as one on a busy machine does.
command = "usr/bin/tcpdump -Z root -i far -B 32 -w seen.pcap ether proto 0x88b5"
capture = subprocess.Popen(command.split(), stderr=subprocess.PIPE, text=True)
time.sleep(1)
capture.send_signal(signal.SIGSTOP)
for _ in range(PACKETS):
    sender.send(frame)
capture.send_signal(signal.SIGCONT)
time.sleep(1)
capture.send_signal(signal.SIGINT)
shown = capture.communicate()[1]
captured, received, dropped = (
    int(re.search(rf"(\d+) packets? {words}", shown)[1]) for words in ("captured", "received by filter", "dropped by kernel")
)
print(f"of {PACKETS} packets tcpdump has captured {captured}, received {received}, dropped {dropped}")
print(f"dropped / (received + dropped) = {dropped / (received + dropped):.0%}, dropped / received = {dropped / received:.0%}")
sys.exit(not (received == PACKETS and captured + dropped == PACKETS and dropped > PACKETS // 2))
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add near type veth peer name far
for end in near far; do ip link set $end up; done
exec python3 try.py
END
unshare -n sh try.sh
