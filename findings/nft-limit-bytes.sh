#!/bin/sh
# `limit rate over 240 kbytes/second burst 6000 bytes drop` of nftables lets 246,000 bytes pass at once, not 6,000.
#
# One would guess: a policer whose burst is 6,000 bytes drops what comes on top of them faster than the rate.
# So it is: for bytes the bucket holds a second of the rate plus the burst. For packets it holds the burst alone. A test of a
# policer by bytes that lasts a second may see no drop at all at twice the rate.
#
# Needs root, for a network namespace of its own. Uses nftables and libnftables1 1.0.6-2+deb12u2 of Debian 12; seen with Linux
# 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/nft --version && uname -sr || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import time

SIZE = 1000  # bytes of an IP packet
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))


def passed(limit):
    """How many of 600 packets, sent at once, are not dropped by a limit."""
    rules = f"""add table ip t; flush table ip t; add chain ip t c {{ type filter hook input priority 0; }}
        add rule ip t c udp dport {receiver.getsockname()[1]} limit rate over {limit} counter drop"""
    subprocess.run(["usr/sbin/nft", rules], check=True)
    time.sleep(1)
    start = time.monotonic()
    for _ in range(600):
        sender.sendto(bytes(SIZE - 28), receiver.getsockname())
    took = time.monotonic() - start
    shown = subprocess.run("usr/sbin/nft list table ip t".split(), capture_output=True, text=True, check=True).stdout
    return 600 - int(re.search(r"counter packets (\d+)", shown)[1]), took


by_bytes, took = passed("240 kbytes/second burst 6000 bytes")
print(f"600 packets of 1,000 bytes within {took * 1000:.0f} ms")
print(f"limit rate over 240 kbytes/second burst 6000 bytes drop: {by_bytes} pass")
by_packets, more = passed("240/second burst 6 packets")
print(f"limit rate over 240/second burst 6 packets drop: {by_packets} pass")
sys.exit(not (240 <= by_bytes <= 256 + 250 * took and by_packets <= 8 + 250 * more))
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
