#!/bin/sh
# dhcpcd sets its address five seconds after the server's ACK, and discovers two seconds after its start.
#
# One would guess: a DHCP client sets the address as soon as the server has acknowledged it: of an exchange of some milliseconds, the whole
# takes milliseconds. So does udhcpc.
# So it is: dhcpcd first probes the address by three ARP requests over five seconds (RFC 5227), and has none until then. With its random
# wait before the first DISCOVER a host is online some six seconds after its link. A test that times leases at the server sees
# milliseconds; one that times hosts sees dhcpcd. `--noarp` leaves the probes out.
#
# Needs root, for network namespaces of its own. Uses dhcpcd-base 9.4.1-24~deb12u5, busybox 1:1.35.0-4+deb12u1+b1 and iproute2 6.1.0-3 of
# Debian 12, with a server that the script has; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download dhcpcd-base=9.4.1-24~deb12u5 busybox=1:1.35.0-4+deb12u1+b1 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
usr/sbin/dhcpcd --version | head -1 && bin/busybox | head -1 || exit 2
cat > event <<'END'
#!/bin/sh
# What udhcpc runs: it sets the address that it has got.
if [ "$1" = bound ]; then ip address add "$ip/24" dev "$interface"; fi
END
chmod +x event
cat > try.py <<'END'
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

DHCPCD = f"{os.getcwd()}/usr/sbin/dhcpcd -B -4 -f /dev/null -c /bin/true"
CLIENTS = {"dhcpcd": f"{DHCPCD} host", "dhcpcd --noarp": f"{DHCPCD} --noarp host", "udhcpc": "bin/busybox udhcpc -f -i host -s ./event"}


def ip(command):
    return subprocess.run(["ip", *command.split()], check=True, capture_output=True, text=True).stdout


def serve(server, number, acknowledged):
    """Offers and acknowledges one address, and notes when."""
    while not acknowledged:
        message, _ = server.recvfrom(2000)
        options, at = {}, 240
        while message[at] != 255:
            if message[at]:
                options[message[at]] = message[at + 2 : at + 2 + message[at + 1]]
                at += 1 + message[at + 1]
            at += 1
        kind = options[53][0]
        if kind not in (1, 3):
            continue
        reply = b"\2\1\6\0" + message[4:8] + bytes(2) + b"\x80\0" + bytes(4) + bytes([10, 0, number, 50, 10, 0, number, 1]) + bytes(4)
        reply += message[28:236] + b"\x63\x82\x53\x63" + bytes([53, 1, 2 if kind == 1 else 5, 54, 4, 10, 0, number, 1, 1, 4, 255, 255, 255, 0])
        server.sendto(reply + struct.pack("!BBI", 51, 4, 3600) + b"\xff", ("255.255.255.255", 68))
        if kind == 3:
            acknowledged.append(time.monotonic())


def trial(number, name, command):
    """How long after the acknowledgement the client has its address."""
    port = f"wire{number}"
    ip(f"netns add client{number}")
    ip(f"link add {port} type veth peer name host netns client{number}")
    ip(f"address add 10.0.{number}.1/24 dev {port}")
    ip(f"link set {port} up")
    ip(f"-n client{number} link set host up")
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, port.encode())
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    server.bind(("", 67))
    acknowledged = []
    threading.Thread(target=serve, args=(server, number, acknowledged), daemon=True).start()
    start = time.monotonic()
    client = subprocess.Popen(["ip", "netns", "exec", f"client{number}", *command.split()], stdout=open("log", "w"), stderr=subprocess.STDOUT)
    try:
        while time.monotonic() - start < 40:
            addresses = json.loads(ip(f"-n client{number} -j -4 address show dev host"))
            if addresses and addresses[0].get("addr_info"):
                break
            time.sleep(0.05)
        after = time.monotonic() - acknowledged[0]
    finally:
        client.terminate()
        client.wait()
    print(f"{name}: the server acknowledges {acknowledged[0] - start:.1f} s after the start, the address is there {after:.2f} s later")
    return after


probed, plain, other = (trial(number, *client) for number, client in enumerate(CLIENTS.items(), 1))
sys.exit(not (4 < probed < 7 and plain < 2 and other < 2))
END
cat > try.sh <<'END'
mount -t tmpfs none /run
mkdir -p /run/netns
exec python3 try.py
END
unshare -nm sh try.sh
