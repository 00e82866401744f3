#!/bin/sh
# A socket joins at most 20 IPv4 multicast groups: the 21st is refused with "No buffer space available". Over IPv6 it joins hundreds.
#
# One would guess: one socket joins as many groups as there are channels, or a hundred at least, and IPv4 and IPv6 have the same limit.
# So it is: `igmp_max_memberships` is 20 for each socket over IPv4, and the error does not name it. MLD has no such number: a socket joins
# groups until the memory of its options (`optmem_max`) is used up, after a thousand and more. A receiver of a test with a group per stream,
# or of IPTV with 50 channels, works over IPv6 and fails over IPv4. More sockets mend it, or the setting, which a namespace has for itself.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import os
import socket
import struct
import subprocess
import sys

IP_ADD_MEMBERSHIP = 35
WANTED = 1000


def joined(family, level, option, groups):
    """Groups that one socket joins before it is refused one, and why."""
    receiver, count = socket.socket(family, socket.SOCK_DGRAM), 0
    try:
        for group in groups:
            receiver.setsockopt(level, option, group)
            count += 1
    except OSError as error:
        return count, os.strerror(error.errno)
    return count, "no error"


for command in (
    "link add host type veth peer name wire",
    "address add 10.0.0.1/24 dev host",
    "link set host up",
    "link set wire up",
):
    subprocess.run(["ip", *command.split()], check=True)
index = socket.if_nametoindex("host")
ipv4 = [struct.pack("!BBBB4s", 239, 1, n // 250, n % 250 + 1, socket.inet_aton("10.0.0.1")) for n in range(WANTED)]
ipv6 = [socket.inet_pton(socket.AF_INET6, f"ff15::{n + 1:x}") + struct.pack("=I", index) for n in range(WANTED)]
seen = []
for name, *arguments in (
    ("IPv4", socket.AF_INET, socket.IPPROTO_IP, IP_ADD_MEMBERSHIP, ipv4),
    ("IPv6", socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, ipv6),
):
    count, error = joined(*arguments)
    print(f"{name}: {count} of {WANTED} groups joined by one socket: {error}")
    seen.append(count)
with open("/proc/sys/net/ipv4/igmp_max_memberships", "w") as setting:
    setting.write("2000")
count, error = joined(socket.AF_INET, socket.IPPROTO_IP, IP_ADD_MEMBERSHIP, ipv4)
print(f"IPv4 with igmp_max_memberships=2000: {count}: {error}")
sys.exit(not (seen[0] == 20 and seen[1] > 500 and count > 500))
END
unshare -n python3 try.py
