#!/bin/sh
# In access logs of one format a request's time is that of its end with nginx and lighttpd, and that of its start with Apache.
#
# One would guess: the "common" and "combined" formats mean the same with each server, so that the time in brackets can be taken for when
# requests came.
# So it is: Apache writes when a request came, in lines in the order of their ends, so that times go back. nginx and lighttpd write when
# it ended: a replay of such a log sends a request that took 3 s that much late, and behind those it was before. Sizes differ as well:
# Apache's `combined` of Debian counts the header (%O), `%b` and nginx's `$body_bytes_sent` do not. For a replay log a start (nginx:
# `$msec` less `$request_time`; lighttpd: `%{begin:msec}t`), and sort by it.
#
# Uses nginx 1.22.1-9+deb12u11, apache2-bin 2.4.71-1~deb12u1 and lighttpd 1.4.69-1 of Debian 12 and libraries of theirs, with a server on
# loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nginx=1.22.1-9+deb12u11 lighttpd=1.4.69-1 libnettle8=3.8.1-2 libxxhash0=0.8.1-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download apache2-bin=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
chmod 755 "$folder"
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$PATH"
nginx -v 2>&1 && apache2 -v | head -n 1 && lighttpd -v || exit 2
cat > try.py <<'END'
import os
import re
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TAKES = {"/slow": 3, "/quick": 0}  # seconds
here = os.getcwd()


class Backend(BaseHTTPRequestHandler):
    """Answers after the time of the path with five bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(TAKES[self.path])
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def configurations(backend, ports):
    """A proxy's configuration of each server, with its access log in NAME.log."""
    modules = "\n".join(
        f"LoadModule {name}_module {here}/usr/lib/apache2/modules/mod_{name}.so" for name in ("mpm_event", "authz_core", "proxy", "proxy_http")
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {here}/{kind};" for kind in kinds)
    return {
        "nginx": f"""daemon off; pid {here}/nginx.pid; error_log {here}/error.log; user root; events {{}}
            http {{ access_log {here}/nginx.log combined; {temporary}
            server {{ listen 127.0.0.1:{ports["nginx"]}; location / {{ proxy_pass http://127.0.0.1:{backend}; }} }} }}""",
        "apache2": f"""ServerRoot {here}
            ServerName localhost
            PidFile {here}/apache.pid
            DefaultRuntimeDir {here}
            Listen 127.0.0.1:{ports["apache2"]}
            ErrorLog {here}/error.log
            {modules}
            LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
            CustomLog {here}/apache2.log combined
            ProxyPass / http://127.0.0.1:{backend}/""",
        "lighttpd": f"""server.document-root = "{here}"
            server.port = {ports["lighttpd"]}
            server.bind = "127.0.0.1"
            server.modules = ("mod_accesslog", "mod_proxy")
            accesslog.filename = "{here}/lighttpd.log"
            proxy.server = ("" => (("host" => "127.0.0.1", "port" => {backend})))""",
    }


def get(port, path):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: example\r\nConnection: close\r\n\r\n".encode())
        while client.recv(1000):
            pass


def started(port):
    """Waits for a server, 10 s at most."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise TimeoutError(f"no server at port {port}")


def load():
    """GET /slow of each server at a whole second, which is returned, and GET /quick a second later."""
    for port in ports.values():
        started(port)
    time.sleep(1 - time.time() % 1)
    start = int(time.time())
    slow = [threading.Thread(target=get, args=(port, "/slow")) for port in ports.values()]
    for thread in slow:
        thread.start()
    time.sleep(1)
    for port in ports.values():
        get(port, "/quick")
    for thread in slow:
        thread.join()
    time.sleep(1)
    return start


server = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
threading.Thread(target=server.serve_forever, daemon=True).start()
ports = {name: free_port() for name in ("nginx", "apache2", "lighttpd")}
COMMANDS = {"nginx": "nginx -c", "apache2": "apache2 -X -f", "lighttpd": f"lighttpd -D -m {here}/usr/lib/lighttpd -f"}
processes = []
for name, text in configurations(server.server_port, ports).items():
    with open(f"{name}.conf", "w") as configuration:
        configuration.write(text)
    processes.append(subprocess.Popen([*COMMANDS[name].split(), f"{here}/{name}.conf"], stderr=subprocess.DEVNULL))
try:
    start = load()
finally:
    for process in processes:
        process.terminate()
        process.wait()
print("GET /slow at 0 s takes 3 s, GET /quick at 1 s no time:")
seen = {}
for name in ports:
    with open(f"{name}.log") as log:
        lines = re.findall(r'\[(.*?)\] "GET (\S+) HTTP/1.1" 200 (\d+)', log.read())
    written = [(path, datetime.strptime(moment, "%d/%b/%Y:%H:%M:%S %z").timestamp() - start, int(size)) for moment, path, size in lines]
    print(f"{name}: {'; '.join(f'{path} at {moment:.0f} s, {size} bytes' for path, moment, size in written)}")
    seen[name] = [path for path, _, _ in written] == ["/quick", "/slow"] and written[1][1]
sys.exit(not (seen["nginx"] in (3, 4) and seen["lighttpd"] in (3, 4) and seen["apache2"] is not False and seen["apache2"] <= 1))
END
python3 try.py
