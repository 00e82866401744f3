#!/bin/sh
# Unbound pads its responses over TLS to 468 bytes and those over HTTPS not at all; BIND pads neither, though a padded query requires it.
#
# One would guess: a resolver that pads what it sends over TLS does so over HTTPS, too, as kdig does with its queries: of a query with the
# option Padding the response has to have it as well (RFC 7830, section 4).
# So it is: with `pad-responses: yes`, the default, Unbound's response to one query is 468 bytes with DNS over TLS and 56 with DNS over
# HTTPS. BIND pads where `response-padding` is set, with neither by default. A comparison of the two transports, or of servers, by bytes or
# by packets compares padding: 1,000 responses are 468 kB or 56 kB of messages. Look at the size of the messages first, and switch padding
# off for such a test (`pad-responses: no`).
#
# Needs root, for a network namespace of its own. Uses unbound 1.17.1-2+deb12u4, bind9 9.18.49-1~deb12u3 and knot-dnsutils 3.2.6-1 of
# Debian 12 and libraries of theirs; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download unbound=1.17.1-2+deb12u4 libevent-2.1-7=2.1.12-stable-8+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download bind9=1:9.18.49-1~deb12u3 bind9-libs=1:9.18.49-1~deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download knot-dnsutils=3.2.6-1 libknot13=3.2.6-1 libdnssec9=3.2.6-1 libzscanner4=3.2.6-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libuv1=1.44.2-1+deb12u1 libjemalloc2=5.3.0-1 liblmdb0=0.9.24-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmaxminddb0=1.7.1-1 libfstrm0=0.6.1-1 libprotobuf-c1=1.4.1-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjson-c5=0.16-2 libnghttp2-14=1.52.0-1+deb12u3 libpython3.11=3.11.2-6+deb12u9 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
chmod 755 "$folder"
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu"
export PATH="$folder/usr/sbin:$folder/usr/bin:$PATH"
unbound -V > version || exit 2
head -n 1 version && named -v && kdig -V || exit 2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> log || exit 2
cat > unbound.conf <<END
server:
    username: ""
    chroot: ""
    directory: "$folder"
    pidfile: ""
    use-syslog: no
    interface: 127.0.0.1@8531
    interface: 127.0.0.1@4431
    tls-port: 8531
    https-port: 4431
    tls-service-key: "$folder/key.pem"
    tls-service-pem: "$folder/certificate.pem"
    local-zone: "example." static
    local-data: "www.example. 60 A 192.0.2.1"
END
cat > named.conf <<END
tls local { key-file "$folder/key.pem"; cert-file "$folder/certificate.pem"; };
options {
    directory "$folder";
    pid-file none;
    session-keyfile none;
    listen-on port 8532 tls local { 127.0.0.1; };
    listen-on port 4432 tls local http default { 127.0.0.1; };
    listen-on-v6 { none; };
    recursion no;
};
controls { };
zone "example" { type primary; file "zone"; };
END
cat > zone <<'END'
$TTL 60
@ SOA @ hostmaster 1 3600 600 86400 60
@ NS ns.example.net.
www A 192.0.2.1
END
cat > try.py <<'END'
import re
import subprocess
import sys
import time

SERVERS = {"Unbound": (8531, 4431), "BIND": (8532, 4432)}


def sizes(port, transport):
    """Bytes of the messages of a query, which kdig pads, and its response."""
    command = f"kdig @127.0.0.1 -p {port} +{transport} +padding=128 +retry=0 +time=2 www.example A"
    shown = subprocess.run(command.split(), capture_output=True, text=True).stdout
    found = re.search(r"Received (\d+) B", shown)
    return (int(found[1]), "PADDING" in shown) if found else None


servers = [
    subprocess.Popen(["unbound", "-d", "-c", "unbound.conf"], stderr=subprocess.DEVNULL),
    subprocess.Popen(["named", "-f", "-c", "named.conf"], stderr=subprocess.DEVNULL),
]
seen = {}
try:
    end = time.monotonic() + 10
    while time.monotonic() < end and None in [sizes(port, "tls") for port, _ in SERVERS.values()]:
        time.sleep(0.2)
    for name, ports in SERVERS.items():
        for port, transport in zip(ports, ("tls", "https")):
            seen[name, transport] = sizes(port, transport)
            size, padded = seen[name, transport]
            print(f"{name}, {transport}: response of {size} bytes, {'padded' if padded else 'not padded'}")
finally:
    for server in servers:
        server.terminate()
        server.wait()
padded = {key for key, (size, padding) in seen.items() if padding}
sys.exit(not (padded == {("Unbound", "tls")} and seen["Unbound", "tls"][0] == 468 and seen["Unbound", "https"][0] < 100))
END
cat > try.sh <<'END'
set -e
ip link set lo up
python3 try.py
END
unshare -n sh try.sh
