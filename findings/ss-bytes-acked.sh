#!/bin/sh
# `ss -ti` has one byte more acknowledged than a client has sent, and each end's FIN is a byte, too.
#
# One would guess: bytes_acked of a connection is at most bytes_sent, both are the payload, and their difference is the data under way.
# So it is: bytes_acked is a difference of sequence numbers, in which a client's SYN and each end's FIN are one, and bytes_sent is the
# payload. Of a client's 1,000 bytes 1,001 are acknowledged, so the data under way computed from both are -1, or 2^64 - 1; a server that
# has sent 300 bytes and its FIN has 301 acknowledged, and its client has received 301. Sums over many connections are off by their number.
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
import re
import socket
import subprocess
import sys
import time


def counts(when, end):
    """Bytes of an end of the connection, as ss has them, by name."""
    time.sleep(0.3)
    shown = subprocess.run(["ss", "-Htin", f"{end} = {port}"], capture_output=True, text=True, check=True).stdout
    found = {name: int(count) for name, count in re.findall(r"(bytes_\w+):(\d+)", shown)}
    print(f"{when}: {found}")
    return found


subprocess.run("ip link set lo up".split(), check=True)
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
client.sendall(bytes(1000))
sent = counts("client, after it has sent 1,000 bytes", "dport")
server.sendall(bytes(300))
server.shutdown(socket.SHUT_WR)
ended = counts("server, after it has sent 300 bytes and its FIN", "sport")
received = counts("client after them", "dport")
sys.exit(
    (sent["bytes_sent"], sent["bytes_acked"]) != (1000, 1001)
    or (ended["bytes_sent"], ended["bytes_acked"], received["bytes_received"]) != (300, 301, 301)
)
END
unshare -n python3 try.py
