#!/bin/sh
# In Linux's pfifo_fast EF and CS6 wait with best effort, AF41 and AF11 behind it, and AF12 goes before all: its bands are not those of DSCP.
#
# One would guess: of the three bands of pfifo_fast, the queue of an interface without another one, EF and CS6 take the first, and AF41
# goes before best effort.
# So it is: a router looks at the bits of the old TOS byte, of which DSCP shares its lower three: of EF (101110) it sees 110. EF, CS6 and
# best effort take the second band, DSCPs that end in 100 (AF12, AF22, VOICE-ADMIT) the first, and DSCPs that end in 010 (AF11, AF41) the
# last. Of IPv6 packets that it forwards it looks at nothing: all take one band. The qdisc prio has the same table. A test that gives EF or
# AF41 priority over a full queue sees none, or the opposite; use filters or `nft … meta priority set`.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
tc -V && uname -sr || exit 2
cat > receive.py <<'END'
import socket
import sys

receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
receiver.bind(("::", 9000))
print("ready", flush=True)
receiver.settimeout(10)
try:
    while True:
        print(receiver.recv(2000).decode().strip(), flush=True)
        receiver.settimeout(2)
except TimeoutError:
    sys.exit()
END
cat > try.py <<'END'
import socket
import statistics
import subprocess
import sys

CLASSES = {"best effort": 0, "CS6": 48, "EF": 46, "VOICE-ADMIT": 44, "AF41": 34, "AF11": 10, "AF12": 12}
EACH = 20


def bands(family, option, target):
    """Sends packets of all classes in turn at a router's full queue: classes in the order they leave, with those that take turns as one."""
    receiver = subprocess.Popen("ip netns exec far python3 receive.py".split(), stdout=subprocess.PIPE, text=True)
    receiver.stdout.readline()
    senders = {}
    for name, dscp in CLASSES.items():
        senders[name] = socket.socket(family, socket.SOCK_DGRAM)
        senders[name].setsockopt(*option, dscp << 2)
    for _ in range(EACH):
        for name, sender in senders.items():
            sender.sendto(name.encode().ljust(1000), (target, 9000))
    arrived = receiver.communicate()[0].splitlines()
    places = {name: statistics.median(i for i, other in enumerate(arrived) if other == name) for name in CLASSES}
    found = []
    for name in sorted(CLASSES, key=places.get):
        if found and places[name] - places[found[-1][-1]] < EACH / 2:
            found[-1].append(name)
        else:
            found.append([name])
    return [sorted(band) for band in found]


seen = [
    bands(socket.AF_INET, (socket.IPPROTO_IP, socket.IP_TOS), "10.1.0.2"),
    bands(socket.AF_INET6, (socket.IPPROTO_IPV6, socket.IPV6_TCLASS), "fd01::2"),
]
for version, order in zip(("IPv4", "IPv6"), seen):
    print(f"{version}, first to last: {'; then '.join(' and '.join(band) for band in order)}")
expected = [["AF12", "VOICE-ADMIT"], ["CS6", "EF", "best effort"], ["AF11", "AF41"]]
sys.exit(seen != [expected, [sorted(CLASSES)]])
END
cat > try.sh <<'END'
set -e
mount -t tmpfs none /run
for name in router far; do ip netns add $name; done
ip link add near type veth peer name near netns router
ip link add out netns router type veth peer name wire netns far
set_up() {
    ip -n "$1" address add "$3" dev "$2"
    ip -n "$1" address add "$4" dev "$2" nodad
    ip -n "$1" link set "$2" up
}
ip address add 10.0.0.2/24 dev near
ip address add fd00::2/64 dev near nodad
ip link set near up
set_up router near 10.0.0.1/24 fd00::1/64
set_up router out 10.1.0.1/24 fd01::1/64
set_up far wire 10.1.0.2/24 fd01::2/64
ip netns exec router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip route add default via 10.0.0.1
ip route add default via fd00::1
ip netns exec router tc qdisc add dev out root handle 1: htb default 1
ip netns exec router tc class add dev out parent 1: classid 1:1 htb rate 1mbit burst 1600
ip netns exec router tc qdisc add dev out parent 1:1 handle 10: pfifo_fast
python3 try.py
END
unshare -nm sh try.sh
