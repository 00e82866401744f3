#!/bin/sh
# BusyBox's udhcpc ignores the renewal time that a server sends: with a lease of 60 s and T1 of 10 s it renews after 30 s.
#
# One would guess: clients renew at T1 (option 58) if the server sends one, as RFC 2131 has it, and at half of the lease otherwise.
# So it is: dhclient renews at T1, a little before or behind; udhcpc does not request the option, reads nothing but the lease time, and
# renews at half of it. A test of a server under renewals that sets T1 to make them more frequent gets them at another rate, and two kinds
# of clients behind one server renew at different times. Set the lease time instead.
#
# Needs root, for namespaces of its own. Uses busybox 1:1.35.0-4+deb12u1+b1, isc-dhcp-client 4.4.3-P1-2 and iproute2 6.1.0-3 of Debian 12,
# and a server that the script has; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download busybox=1:1.35.0-4+deb12u1+b1 isc-dhcp-client=4.4.3-P1-2 iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
bin/busybox | head -n 1 && sbin/dhclient --version 2>&1 || exit 2
cat > event <<'END'
#!/bin/sh
# What both clients run: it sets the address that they have got.
case "${reason:-$1}" in
BOUND | bound) ip address add "${new_ip_address:-$ip}/24" dev "$interface" ;;
esac
END
chmod +x event
touch leases pid
cat > try.py <<'END'
import os
import socket
import struct
import subprocess
import sys
import time

LEASE, RENEWAL, REBINDING = 60, 10, 50
OPTIONS = {51: LEASE, 58: RENEWAL, 59: REBINDING}
CLIENTS = {
    "udhcpc": "bin/busybox udhcpc -f -i {} -s ./event",
    "dhclient": f"sbin/dhclient -4 -d -cf /dev/null -lf {os.getcwd()}/leases -pf {os.getcwd()}/pid -sf {os.getcwd()}/event {{}}",
}


def ip(command):
    subprocess.run(["ip", *command.split()], check=True)


def requests(number, client):
    """Times of the client's first two REQUESTs."""
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
    server.settimeout(45)
    enter = ["ip", "netns", "exec", f"client{number}", *client.format("host").split()]
    running = subprocess.Popen(enter, stdout=open("log", "w"), stderr=subprocess.STDOUT)
    times = []
    try:
        while len(times) < 2:
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
            if kind == 3:
                times.append(time.monotonic())
            reply = bytearray(b"\2\1\6\0" + message[4:12] + message[12:16] + bytes([10, 0, number, 50, 10, 0, number, 1]) + bytes(4) + message[28:236])
            reply += b"\x63\x82\x53\x63" + bytes([53, 1, 2 if kind == 1 else 5, 54, 4, 10, 0, number, 1, 1, 4, 255, 255, 255, 0])
            for option, value in OPTIONS.items():
                reply += struct.pack("!BBI", option, 4, value)
            known = message[12:16] != bytes(4)
            server.sendto(bytes(reply) + b"\xff", (socket.inet_ntoa(message[12:16]) if known else "255.255.255.255", 68))
    finally:
        running.terminate()
        running.wait()
    return times


seen = {}
for number, (name, client) in enumerate(CLIENTS.items(), 1):
    first, second = requests(number, client)
    seen[name] = second - first
    print(f"{name}: a lease of {LEASE} s with T1 of {RENEWAL} s is renewed after {seen[name]:.1f} s")
sys.exit(not (28 < seen["udhcpc"] < 33 and 6 < seen["dhclient"] < 14))
END
cat > try.sh <<'END'
mount -t tmpfs none /run
mkdir -p /run/netns
exec python3 try.py
END
unshare -nm sh try.sh
