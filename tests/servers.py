"""Common servers as devices under test (nginx, haproxy, dnsmasq), with certificates."""

import re
import subprocess
import time
from pathlib import Path

from lab import call, need, wait_until

# Objects of nginx by their paths.
OBJECTS = {"/1": 1, "/1k": 1024, "/100k": 102_400, "/1m": 1_048_576}


def certificate(folder, name="a.test"):
    """A certificate for a name, its key, and the root that signed it: the paths of the three."""
    need("openssl")
    chain, key, root, root_key, request = (
        folder / f"{name}.{end}" for end in ("pem", "key", "root.pem", "root.key", "csr")
    )
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    call(
        "openssl", "req", "-x509", *new_key, "-keyout", root_key, "-out", root, "-days", 3,
        "-subj", "/CN=root of tests", "-addext", "keyUsage=critical,keyCertSign",
    )  # fmt: skip
    call("openssl", "req", *new_key, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
    names = folder / f"{name}.ext"
    names.write_text(f"subjectAltName=DNS:{name}\nbasicConstraints=CA:FALSE\n")
    call(
        "openssl", "x509", "-req", "-in", request, "-CA", root, "-CAkey", root_key, "-CAcreateserial", "-out", chain,
        "-days", 3, "-extfile", names,
    )  # fmt: skip
    for file in (chain, key, root):
        file.chmod(0o644)
    return chain, key, root


def self_signed(folder, name="a.test"):
    """As `certificate`, but one that signed itself, as `openssl req -x509` makes it: an authority's that is also the server's."""
    need("openssl")
    chain, key = folder / "own.pem", folder / "own.key"
    call(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 3,
        "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", chain,
    )  # fmt: skip
    for file in (chain, key):
        file.chmod(0o644)
    return chain, key, chain


class Process:
    """A server in a namespace, started when it listens on a port of TCP, or of UDP."""

    def start(self, lab, namespace, port, *command, udp=False):
        need(command[0])
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            self.process = lab.start(*command, ns=namespace, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)

        def listens():
            assert self.process.poll() is None, f"{command[0]} has ended: {self.log.read_text()}"
            return namespace.run("ss", "-H", "-l", "-u" if udp else "-t", "-n", f"sport = :{port}").strip()

        wait_until(listens, f"{command[0]} listens")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Nginx(Process):
    """nginx with OBJECTS, and more in `locations`; what it answered is in its access log."""

    LINE = re.compile(r"(\d+) (\S+) (\S+) (\d+) (\d+) (\S+) (\S+)$")

    def __init__(self, lab, namespace, locations="", http2=False, keepalive=1_000_000, certified=certificate):
        """With `http2` it speaks HTTP/2: on port 443 if that is agreed on, and on port 80 from the first byte."""
        version = " http2" if http2 else ""
        # Without TLS and with it, the header of an HTTP/2 response waits for its acknowledgement before the file follows.
        sendfile = "off" if http2 else "on"
        self.folder = lab.folder()
        root = self.folder / "root"
        root.mkdir()
        for path, size in OBJECTS.items():
            (root / path[1:]).write_bytes(bytes(index * 31 % 251 for index in range(251)) * (size // 251 + 1))
            with (root / path[1:]).open("r+b") as file:
                file.truncate(size)
        chain, key, self.root = certified(self.folder)
        temporary = "\n".join(
            f"  {kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config = self.folder / "nginx.conf"
        config.write_text(f"""
daemon off;
master_process off;
pid {self.folder}/pid;
error_log {self.folder}/errors warn;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
{temporary}
  log_format short '$status $request_method $request_uri $body_bytes_sent $connection_requests'
    ' $ssl_protocol- $ssl_session_reused-';
  access_log {self.folder}/access short;
  default_type application/octet-stream;
  keepalive_requests {keepalive};
  client_max_body_size 64m;
  sendfile {sendfile};
  server {{
    listen 80{version} backlog=4096;
    listen [::]:80{version} backlog=4096;
    listen 443 ssl{version} backlog=4096;
    listen [::]:443 ssl{version} backlog=4096;
    ssl_certificate {chain};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:sessions:10m;
    ssl_session_tickets on;
    root {root};
    {locations}
  }}
}}
""")
        (self.folder / "access").touch()
        self.start(lab, namespace, 80, "nginx", "-p", self.folder, "-c", config, "-e", f"{self.folder}/errors")

    def requests(self, count):
        """What it logged of each request, once there are so many: status, method, path, bytes, number on its
        connection, version of TLS, whether that was resumed."""
        path = self.folder / "access"
        wait_until(lambda: path.read_bytes().count(b"\n") >= count, f"{count} requests in nginx's log")
        time.sleep(0.2)
        found = [self.LINE.match(line) for line in path.read_text().splitlines()]
        assert all(found)
        return [
            {
                "status": int(one[1]), "method": one[2], "path": one[3], "bytes": int(one[4]), "number": int(one[5]),
                "tls": one[6].strip("-"), "resumed": one[7].startswith("r"),
            }
            for one in found
        ]  # fmt: skip

    def errors(self):
        return Path(f"{self.folder}/errors").read_text()


class Haproxy(Process):
    """haproxy on port 8080 in front of `backend`, an address with its port."""

    def __init__(self, lab, namespace, backend):
        self.folder = lab.folder()
        config = self.folder / "haproxy.cfg"
        config.write_text(f"""
global
  maxconn 8000
  nbthread 1
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  option http-keep-alive
  retries 0
  timeout connect 1s
  timeout client 20s
  timeout server 20s
  backlog 4096
frontend front
  bind :::8080 v4v6
  default_backend back
backend back
  server one {backend}
""")
        self.start(lab, namespace, 8080, "haproxy", "-db", "-f", config)

    def statuses(self):
        """How often it answered with which status."""
        found = re.findall(r" back/\S+ \S+ (\d{3}) ", self.log.read_text())
        return {int(status): found.count(status) for status in set(found)}


class Dnsmasq(Process):
    """dnsmasq: names below a.test have an address in each family, nx.test has none, refused.test is someone else's."""

    def __init__(self, lab, namespace):
        self.folder = lab.folder()
        self.start(
            lab, namespace, 53, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
            "--user=root", f"--pid-file={self.folder}/pid", "--address=/a.test/192.0.2.7",
            "--address=/a.test/2001:db8::7", "--address=/nx.test/", "--txt-record=txt.test,an eagre is a tidal bore",
            "--log-queries", "--log-facility=-", "--dns-forward-max=10000", "--cache-size=0",
        )  # fmt: skip

    def queries(self, kind="A"):
        """How many it was asked."""
        return len(re.findall(rf"query\[{kind}\]", self.log.read_text()))


class Plain(Process):
    """Anything else that listens."""

    def __init__(self, lab, namespace, port, *command):
        self.folder = lab.folder()
        self.start(lab, namespace, port, *command)


# Eight texts of 200 bytes below long.test: more than clients take over UDP by default. One text below short.test.
LONG_ANSWER = [f"{number}{'x' * 200}" for number in range(8)]
SHORT_ANSWER = ["an eagre is a tidal bore"]


class Named(Process):
    """bind, with any name below long.test and short.test."""

    def __init__(self, lab, namespace):
        self.folder = lab.folder()
        zones = []
        for zone, texts in (("long.test", LONG_ANSWER), ("short.test", SHORT_ANSWER)):
            records = "".join(f'* IN TXT "{text}"\n' for text in texts)
            (self.folder / zone).write_text(f"$TTL 60\n@ IN SOA ns root 1 60 60 60 60\n@ IN NS ns\nns IN A 192.0.2.1\n{records}")
            zones.append(f'zone "{zone}" {{ type primary; file "{self.folder}/{zone}"; }};\n')
        config = self.folder / "named.conf"
        config.write_text(
            f'options {{ directory "{self.folder}"; pid-file none; session-keyfile none; listen-on {{ any; }};'
            " listen-on-v6 { any; }; recursion no; allow-query { any; }; dnssec-validation no; querylog yes;"
            " minimal-responses yes; };\ncontrols { };\n" + "".join(zones)
        )
        self.start(lab, namespace, 53, "named", "-g", "-n", "1", "-u", "root", "-c", config)

    def queries(self):
        """How many came over UDP and over TCP: a TCP query has the flag T."""
        flags = re.findall(r"query: \S+ IN TXT ([-+A-Z()0-9]+) ", self.log.read_text())
        tcp = sum("T" in flag for flag in flags)
        return len(flags) - tcp, tcp


class Unbound(Process):
    """unbound, with the same names."""

    def __init__(self, lab, namespace):
        self.namespace, self.folder = namespace, lab.folder()
        self.config = self.folder / "unbound.conf"
        data = ""
        for zone, texts in (("long.test", LONG_ANSWER), ("short.test", SHORT_ANSWER)):
            data += f"  local-zone: {zone} redirect\n"
            data += "".join(f"  local-data: '{zone} 60 IN TXT \"{text}\"'\n" for text in texts)
        self.config.write_text(
            "server:\n  interface: 0.0.0.0\n  interface: ::0\n  access-control: 0.0.0.0/0 allow\n  access-control: ::/0 allow\n"
            f"  do-daemonize: no\n  use-syslog: no\n  username: ''\n  chroot: ''\n  directory: {self.folder}\n  pidfile: ''\n"
            f"  extended-statistics: yes\n  interface-automatic: yes\n{data}"
            f"remote-control:\n  control-enable: yes\n  control-use-cert: no\n  control-interface: {self.folder}/control\n"
        )
        self.start(lab, namespace, 53, "unbound", "-d", "-c", self.config)

    def queries(self):
        """How many came over UDP and over TCP."""
        said = self.namespace.run("unbound-control", "-c", self.config, "stats_noreset")
        count = lambda name: int(re.search(rf"^{name}=(\d+)", said, re.MULTILINE).group(1))
        tcp = count("num.query.tcp")
        return count("total.num.queries") - tcp, tcp


class Files(Process):
    """A server of files by HTTP/3, whose bytes follow from their place."""

    OBJECTS = {"/1": 1, "/1k": 1_000, "/1m": 1_000_000, "/10m": 10_000_000}

    def prepare(self, lab):
        self.folder = lab.folder()
        self.files = self.folder / "root"
        self.files.mkdir()
        for path, size in self.OBJECTS.items():
            (self.files / path[1:]).write_bytes((bytes(range(251)) * (size // 251 + 1))[:size])
        self.chain, self.key, self.root = certificate(self.folder)


class Caddy(Files):
    """Caddy, which is quic-go's HTTP/3, on port 443."""

    def __init__(self, lab, namespace, protocols="h1 h2 h3", more=""):
        self.prepare(lab)
        config = self.folder / "Caddyfile"
        config.write_text(f"""
{{
    admin off
    auto_https off
    storage file_system {self.folder}
    servers {{
        protocols {protocols}
    }}
}}
https://:443 {{
    tls {self.chain} {self.key}
    {more}
    root * {self.files}
    file_server
}}
""")
        self.start(lab, namespace, 443, "env", f"HOME={self.folder}", "caddy", "run", "--adapter", "caddyfile", "--config", config)


class Gtlsserver(Files):
    """ngtcp2's server with GnuTLS, on port 443."""

    def __init__(self, lab, namespace, *flags):
        self.prepare(lab)
        program = "/usr/sbin/gtlsserver"
        self.start(lab, namespace, 443, program, "-q", *flags, "-d", self.files, "*", 443, self.key, self.chain, udp=True)
