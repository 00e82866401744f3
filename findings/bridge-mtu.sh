#!/bin/sh
# A Linux bridge drops frames that are longer than its outgoing port takes, and no counter of `ip -s link` shows them.
#
# One would guess: such frames are counted: by the port they came in at (received, dropped), by the one they should leave by, or by the
# bridge.
# So it is: the incoming port has received them, and that is all. Neither a port nor the bridge nor a queue counts an error or a drop. The
# limit is the outgoing port's MTU and 18 bytes: of the same stream frames of 1,518 bytes all arrive, and those of 1,519 never. A test
# that looks for its loss in the device's counters finds none: compare received with sent packets.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import time

FRAMES = 100
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("host1", 0))
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
receiver.bind(("host2", 0))
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
receiver.settimeout(0.3)


def counters():
    """Packets, errors and drops of all interfaces, in detail."""
    links = json.loads(subprocess.run("ip -s -s -j link".split(), capture_output=True, text=True, check=True).stdout)
    return {
        f"{link['ifname']} {way} {name}": value
        for link in links
        for way, values in link["stats64"].items()
        for name, value in values.items()
        if name not in ("bytes", "multicast")
    }


def arrive(size):
    before, count = counters(), 0
    for _ in range(FRAMES):
        sender.send(bytes.fromhex("020000000002 020000000001 88b5") + bytes(size - 14))
        time.sleep(0.001)
    try:
        while True:
            count += receiver.recv(9999)[12:14] == b"\x88\xb5"
    except TimeoutError:
        pass
    after = counters()
    changed = {name: after[name] - before[name] for name in after if after[name] - before[name] > FRAMES // 2}
    others = {name: after[name] for name in after if after[name] and "packets" not in name and "transitions" not in name
              and "carrier_changes" not in name}
    print(f"{FRAMES} frames of {size} bytes: {count} arrive; counted: {changed}; errors and drops: {others or 'none'}")
    return count, [name for name in changed if name.startswith("port")], others


expected = [(FRAMES, ["port1 rx packets", "port2 tx packets"], {})] * 2 + [(0, ["port1 rx packets"], {})] * 2
sys.exit([arrive(size) for size in (1514, 1518, 1519, 1600)] != expected)
END
cat > try.sh <<'END'
set -eu
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add bridge type bridge
ip link set bridge up
for number in 1 2; do
    ip link add port$number type veth peer name host$number
    ip link set host$number mtu 9000 up
    ip link set port$number mtu 9000 master bridge up
done
ip link set port2 mtu 1500
bridge fdb add 02:00:00:00:00:02 dev port2 master static
python3 try.py
END
unshare -n sh try.sh
