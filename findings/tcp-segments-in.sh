#!/bin/sh
# TcpOutSegs counts segments, TcpInSegs packets of up to 64 KB: of some 10,000 segments sent the receiver counts a few hundred.
#
# One would guess: what one host counts as segments sent, the other counts as segments received, less what was lost.
# So it is: the sender counts the segments that its large packets are to be cut into (GSO), the receiver the packets that come up to TCP,
# after GRO or uncut over a veth. A stream of 14.48 MB in segments of 1,448 bytes is 10,000 TcpOutSegs, and 200 to 400 TcpInSegs: a loss
# of 97 % that is none. IpInReceives and the counters of interfaces have the packets, IpExtInNoECTPkts the segments. Compare that one.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
cd "$folder"
trap '[ ! -s host.pid ] || kill "$(cat host.pid)" 2> /dev/null || true; rm -rf "$folder"' EXIT
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nstat -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import threading

SEGMENTS, SIZE = 10_000, 1448
inside = ["nsenter", "-t", open("host.pid").read().strip(), "-n"]


def counters(prefix):
    return json.loads(subprocess.run([*prefix, "nstat", "-asz", "-j"], capture_output=True, text=True, check=True).stdout)["kernel"]


def receive(server, total):
    connection, _ = server.accept()
    while data := connection.recv(1 << 20):
        total.append(len(data))


server, total = socket.create_server(("10.0.0.1", 5000)), []
thread = threading.Thread(target=receive, args=(server, total))
thread.start()
before = counters([]), counters(inside)
send = f"import socket; s = socket.create_connection(('10.0.0.1', 5000)); s.sendall(bytes({SEGMENTS * SIZE})); s.close()"
subprocess.run([*inside, "python3", "-c", send], check=True)
thread.join()
after = counters([]), counters(inside)
here, there = ({name: new[name] - old[name] for name in new} for old, new in zip(before, after))
sent, received, whole = there["TcpOutSegs"], here["TcpInSegs"], here["IpExtInNoECTPkts"]
print(f"{sum(total):,} bytes received; the sender's TcpOutSegs {sent:,}, TcpRetransSegs {there['TcpRetransSegs']}")
print(f"the receiver's TcpInSegs {received:,}, IpInReceives {here['IpInReceives']:,}, IpExtInNoECTPkts {whole:,}")
sys.exit(not (sum(total) == SEGMENTS * SIZE and sent >= SEGMENTS and received < sent / 5 and whole >= SEGMENTS))
END
cat > host.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
echo $$ > host.pid
exec sleep 120
END
cat > try.sh <<'END'
set -eu
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
unshare -n sh host.sh &
while [ ! -s host.pid ]; do sleep 0.1; done
host="nsenter -t $(cat host.pid) -n"
ip link add west type veth peer name east
ip link set east netns "$(cat host.pid)"
ip address add 10.0.0.1/24 dev west
ip link set west up
$host ip address add 10.0.0.2/24 dev east
$host ip link set east up
sleep 1
python3 try.py
END
unshare -n sh try.sh
