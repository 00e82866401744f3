#!/bin/sh
# Adding any rule to a table fills the quotas of iptables-legacy again: two times 50,000 bytes pass a quota of 50,000.
#
# One would guess: a rule's state outlives the addition of another rule, as its counters do: `iptables -A` adds one rule.
# So it is: each change reads the table, and writes all of it anew. The counters are carried over, the bytes that a quota has left are
# not. After an unrelated rule for port 99 a quota of 50,000 bytes passes as much again, though its counters go on from before.
# iptables-nft adds just the rule, and the quota stays used up. A test that adds a rule per step starts all allowances of the device anew,
# with the one program and not with the other.
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
iptables-legacy --version && uname -sr || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys

SIZE = 1000  # bytes of an IP packet
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 9))


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def passed(program):
    """The bytes that the quota has let pass, by its counter."""
    for _ in range(100):
        sender.sendto(bytes(SIZE - 28), ("127.0.0.1", 9))
    return int(run(f"{program} -nvxL INPUT").splitlines()[2].split()[1])


seen = []
for program in ("iptables-legacy", "iptables-nft"):
    run(f"{program} -A INPUT -p udp --dport 9 -m quota --quota 50000 -j ACCEPT")
    run(f"{program} -A INPUT -p udp --dport 9 -j DROP")
    before = passed(program)
    run(f"{program} -A INPUT -p udp --dport 99 -j DROP")
    after = passed(program)
    run(f"{program} -F")
    print(f"{program}: a quota of 50000 bytes has passed {before} of 100,000, and {after} of 200,000 after a rule for another port")
    seen.append((before, after))
sys.exit(seen != [(50_000, 100_000), (50_000, 50_000)])
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
