#!/bin/sh
# nftables takes kbytes and mbytes for powers of 1,024: a policer of `1 mbytes/second` lets 8.39 Mbit/s pass.
#
# One would guess: beside `mbit` of tc and Mbit/s of service contracts a rate in mbytes is a million bytes, 8 Mbit/s.
# So it is: 1 mbytes is 1,048,576 bytes and 1 kbytes 1,024, in `limit` as in `quota`, and a listing shows the words, not the number. A
# policer that is to hold a CIR of 8 Mbit/s lets 4.9 % more pass; a test with a tolerance of 1 % fails it, or finds no fault in one that
# is as wrong. Write bytes: `limit rate over 1000000 bytes/second`.
#
# Needs root, for a network namespace of its own. Uses nftables, libnftables1 1.0.6-2+deb12u2 and libnftnl11 1.2.4-2 of Debian 12; seen
# with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$PATH"
nft --version && uname -sr || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import time

SIZE, SECONDS = 1000, 5
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 9000))
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def passed():
    """Bytes that the last rule of the chain has counted."""
    listed = subprocess.run("nft list chain ip t c".split(), capture_output=True, text=True, check=True).stdout
    return int(re.search(r"counter packets \d+ bytes (\d+)", listed)[1])


def police(rule):
    rules = f"flush ruleset; add table ip t; add chain ip t c {{ type filter hook input priority 0; }}; add rule ip t c {rule} drop; "
    subprocess.run(["nft", rules + "add rule ip t c counter"], check=True)


def send(count, rate):
    start = time.monotonic()
    for number in range(count):
        sender.sendto(bytes(SIZE - 28), ("127.0.0.1", 9000))
        time.sleep(max(0, start + (number + 1) / rate - time.monotonic()))


def rate(rule):
    """The rate that passes a policer, in Mbit/s of IP, once its bucket is empty."""
    police(rule)
    send(6000, 4000)
    before, start = passed(), time.monotonic()
    send(2000 * SECONDS, 2000)
    return (passed() - before) * 8 / (time.monotonic() - start) / 1e6


police("quota over 1 mbytes")
send(1100, 4000)
quota = passed()
print(f"quota over 1 mbytes: {quota} bytes pass, in packets of {SIZE}")
seen = [rate(f"limit rate over {words}/second") for words in ("1 mbytes", "1000000 bytes")]
print(f"limit rate over 1 mbytes/second: {seen[0]:.2f} Mbit/s pass; over 1000000 bytes/second: {seen[1]:.2f} Mbit/s")
sys.exit(not (quota == 1_048_000 and abs(seen[0] - 8.39) < 0.15 and abs(seen[1] - 8.0) < 0.15))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
