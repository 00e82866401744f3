#!/bin/sh
# dpkt fills in a UDP checksum, and the lengths of IP, but not that of UDP: a datagram of 100 bytes has a length of 8, and Linux drops it.
#
# One would guess: what IP does for its own length and for the checksum of its payload, UDP does for its length.
# So it is: `ulen` is 8, a header without data, unless it is set. The checksum covers all 100 bytes, so a host that cuts the datagram to
# its length finds it wrong: InCsumErrors counts it, and the program sees nothing. A stream of such packets is a loss of 100 % behind a
# router that forwards each one, since the IP header is right. Set `ulen` to the length of header and data.
#
# Needs root, for a network namespace of its own. Uses dpkt 1.9.8 from PyPI; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install dpkt==1.9.8 || exit 2
cat > try.py <<'END'
import os
import socket
import sys

import dpkt

sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 5000))
receiver.settimeout(1)


def wrong_checksums():
    names, values = [line.split() for line in open("/proc/net/snmp") if line.startswith("Udp:")]
    return int(values[names.index("InCsumErrors")])


def send(**fields):
    """Length in the UDP header, bytes that a receiver gets (None without a datagram), and datagrams with a wrong checksum."""
    host, before = socket.inet_aton("127.0.0.1"), wrong_checksums()
    datagram = dpkt.udp.UDP(sport=1000, dport=5000, data=b"x" * 100, **fields)
    packet = bytes(dpkt.ip.IP(src=host, dst=host, p=dpkt.ip.IP_PROTO_UDP, data=datagram))
    sender.sendto(packet, ("127.0.0.1", 0))
    try:
        arrived = len(receiver.recv(2000))
    except TimeoutError:
        arrived = None
    seen = int.from_bytes(packet[24:26], "big"), arrived, wrong_checksums() - before
    print(fields or "defaults", "UDP length %d, received %s, wrong checksums %d" % seen)
    return seen


print("dpkt", dpkt.__version__, "Linux", os.uname().release)
sys.exit((send(), send(ulen=108)) != ((8, None, 1), (108, 100, 0)))
END
unshare -n sh -c 'ip link set lo up && exec venv/bin/python try.py'
