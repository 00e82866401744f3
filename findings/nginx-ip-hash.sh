#!/bin/sh
# nginx's `ip_hash` looks at three bytes of an IPv4 address: 200 clients of one /24 all go to one of four servers.
#
# One would guess: `ip_hash` spreads clients by their addresses, so 200 addresses reach all servers, some fifty each.
# So it is: the last byte is left out, to keep clients of one network together. A load test with a pool of addresses such as 10.0.0.1 to
# 10.0.0.200 measures one server, while 200 addresses that differ in the third byte reach four alike. Vary that one, or use
# `hash $remote_addr`.
#
# Uses nginx 1.22.1-9+deb12u11 of Debian 12, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nginx=1.22.1-9+deb12u11 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/nginx -v || exit 2
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

SERVERS = 4
CONFIGURATION = """
daemon off;
pid nginx.pid;
user root;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    upstream by_ip_hash {{ ip_hash; {servers} }}
    upstream by_address {{ hash $remote_addr; {servers} }}
    server {{
        listen 127.0.0.1:{port};
        location /ip_hash {{ proxy_pass http://by_ip_hash; }}
        location /hash {{ proxy_pass http://by_address; }}
    }}
}}
"""


def serve(listener, number):
    """Answers requests with the number of the server."""
    while True:
        connection, _ = listener.accept()
        connection.recv(4000)
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number)
        connection.close()


def spread(path, addresses):
    """Number of clients that each server has."""
    counts = Counter()
    for address in addresses:
        with socket.create_connection(("127.0.0.1", port), source_address=(address, 0)) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
            response = b""
            while part := client.recv(4000):
                response += part
        counts[response[-1:].decode()] += 1
    return sorted(counts.values())


listeners = [socket.create_server(("127.0.0.1", 0), backlog=100) for _ in range(SERVERS)]
for number, listener in enumerate(listeners):
    threading.Thread(target=serve, args=(listener, number), daemon=True).start()
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
names = " ".join(f"server 127.0.0.1:{listener.getsockname()[1]};" for listener in listeners)
with open("nginx.conf", "w") as file:
    file.write(CONFIGURATION.format(servers=names, port=port))
command = [os.path.abspath("usr/sbin/nginx"), "-p", os.getcwd(), "-e", "error.log", "-c", "nginx.conf"]
nginx = subprocess.Popen(command)
try:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    last = [f"127.0.0.{number}" for number in range(1, 201)]
    third = [f"127.0.{number}.1" for number in range(1, 201)]
    near, far, whole = spread("/ip_hash", last), spread("/ip_hash", third), spread("/hash", last)
finally:
    nginx.terminate()
    nginx.wait()
print(f"200 clients of one /24: ip_hash {near}, hash $remote_addr {whole}; of 200 networks: ip_hash {far}")
sys.exit(not (near == [200] and len(far) == SERVERS and min(far) > 20 and len(whole) == SERVERS))
END
python3 try.py
