#!/bin/sh
# dig's query time over TLS leaves out the connection, kdig's has it in: of a server whose handshake takes 0.3 s they show 0 and 310 ms.
#
# One would guess: the time of a query that opens a connection is that from the start to the answer, with both programs.
# So it is: dig counts from when the query is written, behind the handshakes of TCP and TLS; kdig from the connection on. At a server
# that takes 0.3 s for its TLS handshake, and answers at once, a graph of dig's "Query time" shows 0 to 4 ms, and one of kdig's 300 ms
# more. A comparison of resolvers by numbers of both, or of DNS over TLS with UDP by those of dig, is one of different times.
#
# Uses bind9-dnsutils 9.18.49-1~deb12u3 and knot-dnsutils 3.2.6-1 of Debian 12 and libraries of theirs, with a server on a loopback port;
# no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bind9-dnsutils=1:9.18.49-1~deb12u3 bind9-libs=1:9.18.49-1~deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download knot-dnsutils=3.2.6-1 libknot13=3.2.6-1 libdnssec9=3.2.6-1 libzscanner4=3.2.6-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libuv1=1.44.2-1+deb12u1 libjemalloc2=5.3.0-1 liblmdb0=0.9.24-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmaxminddb0=1.7.1-1 libfstrm0=0.6.1-1 libprotobuf-c1=1.4.1-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjson-c5=0.16-2 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
dig -v 2>&1 && kdig -V || exit 2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost 2> log || exit 2
cat > try.py <<'END'
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

HANDSHAKE = 0.3  # seconds that the server waits before it answers a ClientHello
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
context.set_alpn_protocols(["dot"])
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]


def serve():
    """Answers a query of each connection at once, behind a slow handshake."""
    while True:
        connection = listener.accept()[0]
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        time.sleep(HANDSHAKE)
        with context.wrap_socket(connection, server_side=True) as client:
            query = client.read(2)
            query = client.read(struct.unpack("!H", query)[0])
            question = query[12 : query.index(b"\0", 12) + 5]
            record = b"\xc0\x0c" + struct.pack("!HHIH4B", 1, 1, 60, 4, 192, 0, 2, 1)
            answer = query[:2] + struct.pack("!5H", 0x8180, 1, 1, 0, 0) + question + record
            client.sendall(struct.pack("!H", len(answer)) + answer)
            client.recv(1)


def times(program):
    """Query times that a program shows, in ms."""
    command = f"{program} @127.0.0.1 -p {port} +tls example.com A"
    shown = [subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout for _ in range(3)]
    return [float(re.search(r"Query time: (\d+) msec|in ([\d.]+) ms", output)[2 if program == "kdig" else 1]) for output in shown]


threading.Thread(target=serve, daemon=True).start()
seen = {program: times(program) for program in ("dig", "kdig")}
for program, found in seen.items():
    print(f"{program} +tls, handshake of {HANDSHAKE * 1000:.0f} ms: query times {', '.join(f'{time:.0f}' for time in found)} ms")
sys.exit(not (min(seen["dig"]) < 100 and min(seen["kdig"]) > 300))
END
python3 try.py
