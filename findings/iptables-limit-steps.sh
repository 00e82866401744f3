#!/bin/sh
# `iptables -m limit --limit 6000/second` lets 10,000 packets a second pass: high rates are rounded up to the next of a few steps.
#
# One would guess: the rule passes 6,000 packets a second, or is refused if it cannot.
# So it is: the rate is kept as a time between packets, in whole units of 0.1 ms, cut down. There is nothing between 5,000 and 10,000
# packets a second, and 3,000 become 3,333; 10,001 are refused. Only the listed rule shows it. The variant for nf_tables inherits the
# steps. A test finds a policer 67 % too fast and looks for the fault in the device. hashlimit has finer steps.
#
# Needs root, for a network namespace of its own. Uses iptables, libip4tc2, libip6tc2 and libxtables12 1.8.9-2 of Debian 12; seen with
# Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in iptables libip4tc2 libip6tc2 libxtables12; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=1.8.9-2" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
libraries=$folder/usr/lib/$(uname -m)-linux-gnu
export PATH="$folder/usr/sbin:$PATH" LD_LIBRARY_PATH="$libraries" XTABLES_LIBDIR="$libraries/xtables"
iptables-nft --version && uname -sr || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import time

RATE, SECONDS, BURST = 20_000, 2, 1000  # packets a second that are sent, for how long, and packets that may pass at once
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 9))


def run(command, check=True):
    return subprocess.run(command.split(), capture_output=True, text=True, check=check)


def limited(program, limit):
    """The rate that the rule shows, and the packets a second that pass it besides its burst."""
    run(f"{program} -F")
    rule = f"-A INPUT -p udp -m limit --limit {limit}/second --limit-burst {BURST} -j ACCEPT"
    if run(f"{program} {rule}", check=False).returncode:
        return "refused", 0
    run(f"{program} -A INPUT -p udp -j DROP")
    shown = re.search(r"--limit (\S+)", run(f"{program} -S INPUT").stdout)[1]
    start, sent = time.monotonic(), 0
    while (passed := time.monotonic() - start) < SECONDS:
        while sent < passed * RATE:
            sender.sendto(b"x", ("127.0.0.1", 9))
            sent += 1
        time.sleep(0.0005)
    count = int(run(f"{program} -nvxL INPUT").stdout.splitlines()[2].split()[0])
    return shown, round((count - BURST) / (time.monotonic() - start))


seen = []
for program in ("iptables-legacy", "iptables-nft"):
    for limit in (3000, 4000, 6000, 10_001):
        shown, rate = limited(program, limit)
        print(f"{program} --limit {limit}/second: shown as {shown}, {rate} packets a second pass")
        seen.append((shown, limit != 6000 or rate > 6600))
steps = [("3333/sec", True), ("5000/sec", True), ("10000/sec", True), ("refused", True)]
sys.exit(seen != steps * 2)
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
