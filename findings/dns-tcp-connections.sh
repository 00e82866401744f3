#!/bin/sh
# Of 30 idle TCP clients Unbound keeps five, and PowerDNS makes the last ten wait for five seconds; NSD and BIND serve all.
#
# One would guess: a DNS server holds hundreds of TCP connections, idle ones for a few seconds as RFC 7766 has it, and a client may use
# one for many queries.
# So it is: 30 clients connect 20 ms apart, ask once each, and stay. Unbound has ten places for TCP and TLS (`incoming-num-tcp`), and
# while more than half of them are taken closes idle connections after 0.2 s: all are answered, five stay. PowerDNS has twenty
# (`max-tcp-connections`): the others are established and wait until the first ones have been idle for five seconds. NSD and BIND
# answer and keep all 30. A load over TCP or TLS with a connection for each client measures these limits. Raise them first.
#
# Needs root, for a network namespace of its own. Uses unbound 1.17.1-2+deb12u4, libevent-2.1-7 2.1.12-stable-8+deb12u1, libprotobuf-c1
# 1.4.1-1+b1, libpython3.11 3.11.2-6+deb12u9, libnghttp2-14 1.52.0-1+deb12u3, pdns-server and pdns-backend-bind 4.7.3-2,
# libluajit-5.1-2 2.1.0~beta3+git20220320+dfsg-4.1+deb12u1, libsodium23 1.0.18-1+deb12u1, nsd 4.6.1-1, and bind9 and bind9-libs
# 9.18.49-1~deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download unbound=1.17.1-2+deb12u4 libevent-2.1-7=2.1.12-stable-8+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libprotobuf-c1=1.4.1-1+b1 libpython3.11=3.11.2-6+deb12u9 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libnghttp2-14=1.52.0-1+deb12u3 nsd=4.6.1-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download pdns-server=4.7.3-2 pdns-backend-bind=4.7.3-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libsodium23=1.0.18-1+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download bind9=1:9.18.49-1~deb12u3 bind9-libs=1:9.18.49-1~deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
libraries="$folder/usr/lib/$(uname -m)-linux-gnu"
export LD_LIBRARY_PATH="$libraries"
(usr/sbin/unbound -V && usr/sbin/nsd -v && usr/sbin/named -v) > version 2>&1 || exit 2
usr/sbin/pdns_server --version >> version 2>&1 || [ $? = 99 ] || exit 2
grep -o -E '^Version [0-9.]+|NSD version.*|PowerDNS Authoritative Server [0-9.]+|BIND [0-9.]+' version
cat > unbound.conf <<END
server:
  interface: 127.0.0.1
  port: 5301
  chroot: ""
  username: ""
  directory: "$folder"
  pidfile: "$folder/unbound.pid"
  use-syslog: no
  do-daemonize: no
  module-config: "iterator"
  local-data: "host.example. A 192.0.2.1"
remote-control:
  control-enable: no
END
cat > pdns.conf <<END
local-address=127.0.0.1
local-port=5302
launch=bind
bind-config=$folder/zones
module-dir=$libraries/pdns
socket-dir=$folder
guardian=no
daemon=no
END
cat > nsd.conf <<END
server:
  ip-address: 127.0.0.1@5303
  username: ""
  zonesdir: "$folder"
  pidfile: "$folder/nsd.pid"
  database: ""
  xfrdfile: "$folder/xfrd"
  zonelistfile: "$folder/list"
  xfrdir: "$folder"
remote-control:
  control-enable: no
zone:
  name: "example"
  zonefile: "zone"
END
cat > named.conf <<END
options {
    directory "$folder";
    listen-on port 5304 { 127.0.0.1; };
    listen-on-v6 { none; };
    pid-file "$folder/named.pid";
    session-keyfile "$folder/key";
    recursion no;
};
controls {};
zone "example" { type master; file "zone"; };
END
echo "zone \"example\" { type master; file \"$folder/zone\"; };" > zones
cat > zone <<'END'
$ORIGIN example.
@ 3600 IN SOA ns hostmaster 1 3600 600 86400 60
@ 3600 IN NS ns
ns 3600 IN A 192.0.2.1
host 3600 IN A 192.0.2.1
END
cat > try.py <<'END'
import select
import socket
import struct
import subprocess
import sys
import time

QUERY = struct.pack("!HHHHHHH", 30, 7, 0, 1, 0, 0, 0) + b"\4host\7example\0\0\1\0\1"
SERVERS = {
    "Unbound": ("usr/sbin/unbound -c unbound.conf -d", 5301),
    "PowerDNS": ("usr/sbin/pdns_server --config-dir=.", 5302),
    "NSD": ("usr/sbin/nsd -d -c nsd.conf", 5303),
    "BIND": ("usr/sbin/named -f -c named.conf", 5304),
}


def clients(port):
    """How many of 30 are answered within a second and later, and how many connections are still there then."""
    asked, answered, closed = {}, {}, set()
    for _ in range(30):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(QUERY)
        asked[client] = time.monotonic()
        time.sleep(0.02)
    end, kept = time.monotonic() + 8, None
    while time.monotonic() < end:
        for client in select.select(asked.keys() - closed, [], [], 0.1)[0]:
            if client.recv(1000):
                answered[client] = time.monotonic() - asked[client]
            else:
                closed.add(client)
        if kept is None and time.monotonic() > end - 6:
            kept = len(answered) - len(closed)
    return sum(wait < 1.5 for wait in answered.values()), sum(wait >= 1.5 for wait in answered.values()), kept


seen = {}
for name, (command, port) in SERVERS.items():
    with open("log", "w") as log:
        server = subprocess.Popen(command.split(), stdout=log, stderr=log)
    time.sleep(3)
    try:
        seen[name] = clients(port)
    finally:
        server.terminate()
        server.wait()
    print("%s: of 30 TCP clients %d are answered at once, %d later; two seconds after the last query %d stay" % (name, *seen[name]))
sys.exit(seen != {"Unbound": (30, 0, 5), "PowerDNS": (20, 10, 20), "NSD": (30, 0, 30), "BIND": (30, 0, 30)})
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
