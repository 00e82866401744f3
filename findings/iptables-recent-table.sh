#!/bin/sh
# iptables' `recent` remembers 100 addresses: a limit that drops three quarters of the packets of 100 clients drops none of 101.
#
# One would guess: `--update --seconds 60 --hitcount 5` drops each client's packets from the sixth within a minute on, however many
# clients there are; memory is the limit.
# So it is: a list has 100 addresses (`ip_list_tot`). A new one takes the place of the one that has been away for longest, with all its
# packets, and the rule matches nothing for it. If 101 clients take turns, each has been forgotten when it comes again, and all 2,020
# packets pass; no counter or log has a word about it. A device that protects itself so looks safe in a test with 50 clients, and has
# no limit with 200. Raise the module's parameter `ip_list_tot`, or use `hashlimit`.
#
# Needs root, for a network namespace of its own. Uses iptables 1.8.9-2 of Debian 12 and libraries of its own; seen with Linux 6.18. No
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iptables=1.8.9-2 libxtables12=1.8.9-2 libip4tc2=1.8.9-2 libip6tc2=1.8.9-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmnl0=1.0.4-3 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
libraries="$folder/usr/lib/$(uname -m)-linux-gnu"
export LD_LIBRARY_PATH="$libraries" XTABLES_LIBDIR="$libraries/xtables" PATH="$folder/usr/sbin:$PATH"
iptables-nft --version && uname -sr || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys

PACKETS = 20
EXPECTED = {50: 750, 100: 1500, 101: 0, 200: 0}
RULES = (
    "-m recent --name {name} --update --seconds 60 --hitcount 5 -j DROP",
    "-m recent --name {name} --set -j ACCEPT",
)


def iptables(command):
    return subprocess.run(["iptables-nft", *command.split()], capture_output=True, text=True, check=True).stdout


def dropped(clients):
    """Packets dropped of PACKETS from each client, which take turns."""
    iptables("-F INPUT")
    for rule in RULES:
        iptables("-A INPUT -p udp --dport 9 " + rule.format(name=f"clients{clients}"))
    for _ in range(PACKETS):
        for number in range(clients):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.bind((f"127.1.0.{1 + number}", 0))
                client.sendto(b"x", ("127.0.0.1", 9))
    return int(re.search(r"^ *(\d+) .*DROP", iptables("-L INPUT -vnx"), re.MULTILINE)[1])


seen = {}
for clients in EXPECTED:
    seen[clients] = dropped(clients)
    print(f"{clients} clients, {PACKETS} packets each: {seen[clients]} of {clients * PACKETS} dropped")
sys.exit(seen != EXPECTED)
END
cat > try.sh <<'END'
set -e
ip link set lo up
python3 try.py
END
unshare -n sh try.sh
