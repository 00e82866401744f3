#!/bin/sh
# Behind a veth, a Linux router that hashes ports sends connections of the same addresses and ports now over one path, now over the other.
#
# One would guess: with `fib_multipath_hash_policy=1`, layer 4, a router chooses the path by addresses, protocol and ports: packets in
# which these are the same take the same path, whoever sends them.
# So it is: a veth passes on the sender's packet with what the kernel keeps beside it, among it a random number of the TCP socket
# (`txhash`), which is a new one when a SYN is repeated. The router takes that number for the hash. Frames from a packet socket
# have none, and are hashed by their ports. In a lab of namespaces the paths of connections say nothing of the router's hash: send
# frames, as packet generators do.
#
# Needs root, for network and mount namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -sr || exit 2
cat > send.py <<'END'
"""Sends 20 SYNs: each from a new socket with the same ports, or copies of the first as frames, with the same ports or others."""
import errno
import socket
import sys
import time

FRAMES = "frames" in sys.argv[1]
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
wire.bind(("port", 3))
for attempt in range(20):
    if FRAMES and attempt:
        port = bytes([9, attempt]) if "other" in sys.argv[1] else syn[34:36]
        wire.send(syn[:34] + port + syn[36:])
        continue
    with socket.socket() as sender:
        sender.setblocking(False)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sender.bind(("10.0.0.2", 5555))
        if sender.connect_ex(("10.9.0.1", 9)) != errno.EINPROGRESS:
            sys.exit("no connection begun")
    while FRAMES:
        syn = wire.recv(200)
        if syn[12:14] == b"\x08\0" and syn[23] == socket.IPPROTO_TCP:
            break
END
cat > try.py <<'END'
import socket
import subprocess
import sys

capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
capture.settimeout(0.5)


def paths(kind):
    """The paths that SYNs of the same addresses take through the router, in their order."""
    subprocess.run(["ip", "netns", "exec", "host", "python3", "send.py", kind], check=True)
    taken = ""
    try:
        while True:
            frame, (interface, _, packet_type, *_) = capture.recvfrom(200)
            if packet_type == 4 and interface in ("path0", "path1") and frame[30:34] + frame[36:38] == b"\x0a\x09\0\x01\0\x09":
                taken += interface[-1]
    except TimeoutError:
        print(f"20 SYNs {kind} take the paths {taken}")
        return taken


sockets, frames, others = paths("from sockets, same ports"), paths("in frames, same ports"), paths("in frames, other ports")
as_described = set(sockets) == set(others[1:]) == {"0", "1"} and len(set(frames[1:])) == 1
sys.exit(not (as_described and len(sockets) == len(frames) == len(others) == 20))
END
cat > try.sh <<'END'
set -eu
mount -t tmpfs none /run
sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1 net.ipv6.conf.all.disable_ipv6=1
ip netns add host
ip link add inside type veth peer name port netns host
ip address add 10.0.0.1/24 dev inside
ip link set inside up
ip -n host address add 10.0.0.2/24 dev port
ip -n host link set port up
ip -n host route add default via 10.0.0.1
for path in 0 1; do
    ip link add path$path type veth peer name far$path
    for end in path far; do ip link set $end$path up; done
    ip address add 10.1.$path.1/24 dev path$path
    ip neigh add 10.1.$path.2 lladdr 02:00:00:00:00:02 dev path$path
done
ip route add 10.9.0.0/24 nexthop via 10.1.0.2 nexthop via 10.1.1.2
sleep 1
python3 try.py
END
unshare -n -m sh try.sh
