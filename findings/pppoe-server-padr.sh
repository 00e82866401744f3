#!/bin/sh
# pppoe-server opens a new session for each PADR, also for one that a client repeats because the answer was lost.
#
# One would guess: a client that repeats its PADR, with the same cookie, gets the same PADS again: one client, one session, one address.
# So it is: each PADR starts another pppd, with the next session number and the next address of the pool. After a PADR and two repetitions
# three sessions are held for one client, which uses one of them; the others stay until their pppd gives up. With lost or late answers a
# test of N clients uses up more than N sessions and addresses, and the last clients get none: give the pool a reserve. With `-x 1`, one
# session per client, a repeated PADR gets no answer at all.
#
# Needs root, for a network namespace of its own. In place of pppd runs a script that writes down what it is called with. Uses pppoe
# 3.15-2 (rp-pppoe) of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download pppoe=3.15-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/pppoe-server -h > help 2>&1 || true
grep -m 1 Version help || exit 2
cat > pppd <<END
#!/bin/sh
echo "\$@" >> $folder/started
exec sleep 6
END
chmod +x pppd
cat > try.py <<'END'
import re
import socket
import struct
import subprocess
import sys
import time

PADI, PADO, PADR, PADS = 0x09, 0x07, 0x19, 0x65
SERVICE_NAME, HOST_UNIQ, AC_COOKIE = 0x0101, 0x0103, 0x0104
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x8863))
link.bind(("client", 0x8863))
link.settimeout(3)
own = link.getsockname()[4]


def exchange(to, code, tags, answer):
    """Sends a discovery packet; the sender, session number and tags of the answer."""
    body = b"".join(struct.pack("!HH", tag, len(value)) + value for tag, value in tags.items())
    link.send((to + own + struct.pack("!HBBHH", 0x8863, 0x11, code, 0, len(body)) + body).ljust(60, b"\0"))
    while True:
        packet = link.recv(2000)
        if packet[15] == answer:
            session, length = struct.unpack_from("!HH", packet, 16)
            at, found = 20, {}
            while at < 20 + length:
                tag, size = struct.unpack_from("!HH", packet, at)
                found[tag] = packet[at + 4 : at + 4 + size]
                at += 4 + size
            return packet[6:12], session, found


command = f"usr/sbin/pppoe-server -F -I access -L 10.9.0.1 -R 10.9.0.10 -N 10 -q {sys.argv[1]}/pppd"
server = subprocess.Popen(command.split(), stderr=open("log", "w"))
time.sleep(1)
try:
    server_mac, _, offer = exchange(b"\xff" * 6, PADI, {SERVICE_NAME: b"", HOST_UNIQ: b"one"}, PADO)
    tags = {SERVICE_NAME: b"", HOST_UNIQ: b"one", AC_COOKIE: offer[AC_COOKIE]}
    sessions = []
    for _ in range(3):
        sessions.append(exchange(server_mac, PADR, tags, PADS)[1])
        time.sleep(1)
finally:
    server.terminate()
    server.wait()
addresses = re.findall(r"10\.9\.0\.1:(\S+)", open("started").read())
print("one client, the same PADR three times: sessions", *sessions, "with the addresses", *addresses)
sys.exit(not (len(set(sessions)) == 3 and addresses == ["10.9.0.10", "10.9.0.11", "10.9.0.12"]))
END
cat > try.sh <<'END'
set -eu
ip link add access type veth peer name client
for end in access client lo; do ip link set dev $end up; done
python3 try.py "$1"
END
unshare -n sh try.sh "$folder"
