#!/bin/sh
# A receiver of one multicast group gets the groups that any other program of its host has joined, too: ten packets each of two groups are
# 20 for both.
#
# One would guess: a socket that has joined 239.1.1.1 receives 239.1.1.1: that is the membership's purpose.
# So it is: on Linux a membership makes the host receive the group; a socket bound to a port on all addresses gets each group that comes
# to this port, whoever has joined it, unless it sets IP_MULTICAST_ALL to 0 or binds to the group's address. Two receivers of a channel
# each, on one host, both count both channels: the loss of one is hidden by the other, and a packet that the network has delivered to the
# wrong port looks right. With socat `bind=239.1.1.1` gives each its group.
#
# Needs root, for a network namespace of its own. Uses socat 1.7.4.4-2 and libwrap0 7.6.q-32 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in socat=1.7.4.4-2 libwrap0=7.6.q-32; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
socat -V > version || exit 2
sed -n 2p version && uname -sr
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import time

GROUPS, PACKETS, SIZE = ("239.1.1.1", "239.1.1.2"), 10, 100
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))


def received(options):
    """The packets that a receiver of each group gets when ten are sent to each."""
    receivers = [
        subprocess.Popen(
            ["socat", "-u", f"UDP4-RECV:5000,reuseaddr,ip-add-membership={group}:127.0.0.1{options.format(group=group)}", f"CREATE:{group}"]
        )
        for group in GROUPS
    ]
    time.sleep(1)
    for group in GROUPS:
        for _ in range(PACKETS):
            sender.sendto(bytes(SIZE), (group, 5000))
            time.sleep(0.01)
    time.sleep(0.5)
    for receiver in receivers:
        receiver.terminate()
        receiver.wait()
    return [os.path.getsize(group) // SIZE for group in GROUPS]


seen = [received(options) for options in ("", ",bind={group}")]
print(f"{PACKETS} packets to each of two groups; receivers on one host, each of one group: {seen[0]}, with bind=GROUP {seen[1]}")
sys.exit(seen != [[2 * PACKETS] * 2, [PACKETS] * 2])
END
cat > try.sh <<'END'
ip link set lo up multicast on
ip route add 239.0.0.0/8 dev lo
exec python3 try.py
END
unshare -n sh try.sh
