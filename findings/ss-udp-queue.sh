#!/bin/sh
# Recv-Q of `ss -u` is memory, not data: ten datagrams of one byte that wait are shown as some 8,000 bytes.
#
# One would guess: Recv-Q is the number of bytes that the program has not read yet, as for TCP and in the manual of ss.
# So it is: it is the memory that the datagrams take, 768 or more each however small, up to twice their size when they are large; rx_queue
# in /proc/net/udp has the same. Divided by the size of a datagram it shows a backlog of thousands where ten wait. It does say how full
# the buffer is, beside `rb` of `ss -m`, which is in the same unit. TCP's Recv-Q is bytes of data.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ss -V && uname -sr || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys
import time


def queue(kind, port):
    """Recv-Q that ss shows for a port."""
    command = ["ss", "-Hna", kind, f"sport = :{port}"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return max(int(line.split()[1]) for line in lines if "LISTEN" not in line)


def wait(count, size):
    """Recv-Q while so many datagrams wait."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(count):
        sender.sendto(bytes(size), receiver.getsockname())
    time.sleep(0.2)
    shown = queue("-u", receiver.getsockname()[1])
    print(f"{count} datagrams of {size} bytes, {count * size} bytes: Recv-Q {shown}")
    return shown


small, large = wait(10, 1), wait(10, 1000)
server = socket.create_server(("127.0.0.1", 5000))
client = socket.create_connection(("127.0.0.1", 5000))
connection, _ = server.accept()
client.sendall(bytes(10))
time.sleep(0.2)
tcp = queue("-t", 5000)
print(f"TCP, 10 bytes: Recv-Q {tcp}")
sys.exit(not (small > 5000 and large > 10_000 and tcp == 10))
END
unshare -n sh -c 'ip link set lo up && exec python3 try.py'
