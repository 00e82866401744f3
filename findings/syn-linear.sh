#!/bin/sh
# Linux repeats a SYN after 1, 2, 3, 4 and 5 seconds, not after 1, 3, 7 and 15.
#
# One would guess: each SYN waits twice as long as the one before, so that clients whose SYNs were lost connect after 1, 3 or 7 s, and
# those three peaks in connection times give a loss away.
# So it is: since Linux 6.5 the first four repetitions are a second apart each (`tcp_syn_linear_timeouts` is 4), and only then do times
# double: 1, 2, 3, 4, 5, 7, 11 s. A connection that lost two SYNs takes 2 s where older kernels took 3. Peaks at 2 and 4 s are losses, not
# the server; an outage of four seconds is over for its clients after 4 or 5, where it was 7; and older kernels beside it behave otherwise.
# The documentation has 131 s until connect() gives up, where it was 127.
#
# Needs root, for a network namespace of its own. Takes half a minute. Uses iproute2 6.1.0-3, nftables and libnftables1 1.0.6-2+deb12u2 and
# libnftnl11 1.2.4-2 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nft --version && uname -sr || exit 2

cat > try.py <<'END'
import socket
import sys
import threading
import time

LONGEST = 22


def connect():
    try:
        socket.create_connection(("127.0.0.1", 80), timeout=LONGEST)
    except OSError:
        pass


receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
receiver.bind(("lo", 3))
receiver.settimeout(LONGEST)
threading.Thread(target=connect, daemon=True).start()
times = []
try:
    while not times or times[-1] - times[0] < 19:
        _, address = receiver.recvfrom(2000)
        if address[2] == socket.PACKET_OUTGOING:
            times.append(time.monotonic())
except TimeoutError:
    pass
waits = [each - times[0] for each in times]
print("SYNs at", ", ".join(f"{each:.1f} s" for each in waits))
sys.exit([round(each) for each in waits] != [0, 1, 2, 3, 4, 5, 7, 11, 19])
END
cat > try.sh <<'END'
set -e
ip link set lo up
nft add table inet t
nft "add chain inet t in { type filter hook input priority 0; }"
nft add rule inet t in tcp dport 80 drop
python3 try.py
END
unshare -n sh try.sh
