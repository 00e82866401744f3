#!/bin/sh
# A rule that drops each 20th packet at the sender's output is no loss for TCP: of 100 drops none is counted as a retransmission.
#
# One would guess: a packet dropped by `hook output`, as with `iptables -A OUTPUT -m statistic … -j DROP`, is lost like one that is
# dropped on the way.
# So it is: the drop is an error of the send call within the kernel. TCP learns of it at once, keeps the segment as unsent, and sends it
# again a little later, without a count of retransmissions, without recovery. The same rule at the receiver's input makes 106
# retransmissions of 106 drops. A loss emulated on the sender's host tests little: the counts of retransmissions stay as without it. (A
# UDP sender gets "Operation not permitted".) Drop on another host or namespace, or at input.
#
# Needs root, for a network namespace of its own. Uses nftables and libnftables1 1.0.6-2+deb12u2 and iproute2 6.1.0-3 of Debian 12; seen
# with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 iproute2=6.1.0-3; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/sbin:$folder/usr/sbin:$folder/usr/bin:$folder/bin:$PATH"
nft --version && nstat -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import re
import socket
import subprocess
import sys
import threading
import time

MESSAGES = 2000


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def counters():
    return json.loads(run("nstat", "-asz", "-j"))["kernel"]


def trial(hook):
    """How many segments of a connection a rule has dropped, and how many were retransmitted."""
    run("nft", f"""add table ip t; add chain ip t c {{ type filter hook {hook} priority 0; }}
        add rule ip t c tcp dport 5001 meta length > 200 numgen inc mod 20 0 counter drop""")
    server = socket.create_server(("127.0.0.1", 5001))
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.connect(("127.0.0.1", 5001))
    peer, _ = server.accept()
    received = []

    def read():
        while data := peer.recv(1 << 20):
            received.append(len(data))

    reader = threading.Thread(target=read)
    reader.start()
    before = counters()
    for _ in range(MESSAGES):
        client.sendall(bytes(900))
        time.sleep(0.0005)
    client.shutdown(socket.SHUT_WR)
    reader.join(20)
    after = counters()
    dropped = int(re.search(r"counter packets (\d+)", run("nft", "list", "table", "ip", "t"))[1])
    run("nft", "delete", "table", "ip", "t")
    for one in (client, peer, server):
        one.close()
    retransmitted = after["TcpRetransSegs"] - before["TcpRetransSegs"]
    print(f"{hook}: {dropped} segments dropped, {retransmitted} retransmitted; {sum(received)} of {MESSAGES * 900} bytes received")
    return dropped, retransmitted


(lost_out, again_out), (lost_in, again_in) = trial("output"), trial("input")
sys.exit(not (lost_out > 50 and again_out < 5 and lost_in > 50 and again_in > 0.8 * lost_in))
END
unshare -n sh -c 'ip link set lo up; python3 try.py'
