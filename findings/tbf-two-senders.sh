#!/bin/sh
# Of two equal streams into one tbf at twice its rate, the one whose packets come first in each pair gets through nearly whole, and the
# other loses most.
#
# One would guess: a queue that drops what does not fit takes about the same share from both: each loses half.
# So it is: a full queue has room for one packet each time one leaves. Streams of equal rate that were started together are in step: the
# first packet of each pair finds that room, the second one finds the queue full again. Here one stream loses about a tenth and the other
# two thirds, in each run. A test of fairness, or of a shaper with two flows, measures the order of its own streams. Real queues that drop
# at the tail do the same. Give the streams rates that differ a little, or gaps that vary, or compare sums.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && uname -sr || exit 2

cat > try.py <<'END'
import socket
import sys
import time

RATE, SECONDS, PAYLOAD = 1000, 3, 972

receivers = [socket.fromfd(int(number), socket.AF_INET, socket.SOCK_DGRAM) for number in sys.argv[1:]]
senders = []
for port in (5001, 5002):
    senders.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    senders[-1].connect(("10.0.0.2", port))
start, sent = time.monotonic(), 0
while sent < RATE * SECONDS:
    if time.monotonic() - start >= sent / RATE:
        for sender in senders:
            sender.send(bytes(PAYLOAD))
        sent += 1
    else:
        time.sleep(0.0002)
time.sleep(0.5)
lost = []
for receiver in receivers:
    receiver.setblocking(False)
    arrived = 0
    try:
        while receiver.recv(2000):
            arrived += 1
    except BlockingIOError:
        pass
    lost.append(1 - arrived / sent)
print(f"two streams of {RATE} packets/s, 8 Mbit/s each, into a tbf of 10 Mbit/s: {lost[0]:.0%} and {lost[1]:.0%} are lost")
sys.exit(not (lost[0] < 0.25 and lost[1] > 0.5))
END
cat > receive.py <<'END'
import os
import socket

numbers = []
for port in (5001, 5002):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, 33, 64_000_000)  # SO_RCVBUFFORCE
    receiver.bind(("10.0.0.2", port))
    os.set_inheritable(receiver.fileno(), True)
    numbers.append(str(receiver.detach()))
os.execvp("ip", ["ip", "netns", "exec", "sender", "python3", "try.py", *numbers])
END
cat > try.sh <<'END'
set -e
mount -t tmpfs none /run
ip netns add sender
ip netns add switch
ip link add west netns switch type veth peer name wire netns sender
ip link add east netns switch type veth peer name wire
ip -n switch link add bridge type bridge
ip -n switch link set bridge up
for port in west east; do ip -n switch link set $port master bridge up; done
ip -n switch link set west up
ip -n switch link set east up
ip -n sender address add 10.0.0.1/24 dev wire
ip -n sender link set wire up
ip address add 10.0.0.2/24 dev wire
ip link set wire up
ip netns exec switch tc qdisc add dev east root tbf rate 10mbit burst 10k limit 20k
python3 receive.py
END
unshare -nm sh try.sh
