#!/bin/sh
# `iptables-legacy -m limit --limit 5000/second` lets at most 1,250 packets a second pass: it refills its five tokens 250 times a second.
#
# One would guess: a rate is a rate: of 20,000 packets a second, evenly spaced, about 5,000 pass. The burst matters for bursts only.
# So it is: xt_limit looks at the kernel's ticks, 250 a second in Debian's kernel (CONFIG_HZ). All tokens of a tick come at once, and no
# more of them than the burst, 5 unless set, are kept. So no rule passes more than the burst times 250, regardless of its rate: 1,250 a
# second with the default, 250 with a burst of 1, and fewer if the stream pauses. `--limit-burst 100` makes the rate right. A policer of
# thousands of packets a second looks four times too strict, and the rule's text says nothing of it.
#
# Needs root, for a network namespace of its own. Uses iptables, libip4tc2, libip6tc2 and libxtables12 1.8.9-2 of Debian 12; seen with
# Linux 6.18, CONFIG_HZ=250. No Eagre.
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
iptables-legacy --version && uname -sr || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

RATE, SECONDS = 20_000, 2  # packets a second that are sent, each in its place, and for how long
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 9))


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def passing(program, options):
    """The packets a second that pass a rule."""
    run(f"{program} -F")
    run(f"{program} -A INPUT -p udp -m limit {options} -j ACCEPT")
    run(f"{program} -A INPUT -p udp -j DROP")
    start = time.monotonic()
    for number in range(RATE * SECONDS):
        while time.monotonic() - start < number / RATE:
            pass
        sender.sendto(b"x", ("127.0.0.1", 9))
    took = time.monotonic() - start
    count = int(run(f"{program} -nvxL INPUT").splitlines()[2].split()[0])
    run(f"{program} -F")
    return count / took


seen = []
for options in ("--limit 5000/second", "--limit 5000/second --limit-burst 1", "--limit 5000/second --limit-burst 100"):
    seen.append(passing("iptables-legacy", options))
    print(f"iptables-legacy {options}: {seen[-1]:.0f} packets a second pass")
usual, one, hundred = seen
sys.exit(not (usual < 1350 and one < 270 and 2 * usual < hundred < 7000))
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
