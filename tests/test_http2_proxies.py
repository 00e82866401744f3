"""HTTP/2 through proxies nobody here wrote: our clients on one side, our servers on the other.

haproxy, Caddy (Go's net/http) and Envoy each are a server of HTTP/2 for our clients and a client of HTTP/2 for our servers, 100 streams at a
time on a connection. The kernel passes them what the clients send to the servers' address. Each body is compared by its length: its bytes
follow from the number of its stream, which is another one behind a proxy.
"""

import json

import pytest
from envoy import TYPES, program
from hosts import SEGMENTATION, rules
from lab import call
from servers import Process
from sessions import all_through, check

EAST = "10.0.1.2"
PORT = 8080

HAPROXY = f"""
global
  maxconn 8000
  nbthread 1
  tune.h2.max-concurrent-streams 100
defaults
  mode http
  retries 0
  timeout connect 1s
  timeout client 20s
  timeout server 20s
frontend front
  bind :{PORT} proto h2
  default_backend back
backend back
  server one {EAST}:80 proto h2
"""

CADDY = f"""
{{
  admin off
  auto_https off
  servers {{
    protocols h1 h2c
  }}
}}
http://:{PORT} {{
  reverse_proxy h2c://{EAST}:80
}}
"""


def envoy():
    """A configuration of Envoy with HTTP/2 on both sides."""
    options = f"{TYPES}.upstreams.http.v3.HttpProtocolOptions"
    manager = {
        "@type": f"{TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "front",
        "codec_type": "HTTP2",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "back", "timeout": "0s"}}]}]},
        "http_filters": [{"name": "router", "typed_config": {"@type": f"{TYPES}.filters.http.router.v3.Router"}}],
    }
    address = lambda at, port: {"socket_address": {"address": at, "port_value": port}}
    back = {
        "name": "back",
        "type": "STATIC",
        "typed_extension_protocol_options": {options.removeprefix("type.googleapis.com/"): {"@type": options, "explicit_http_config": {"http2_protocol_options": {}}}},
        "load_assignment": {"cluster_name": "back", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(EAST, 80)}}]}]},
        "circuit_breakers": {"thresholds": [{"max_requests": 10_000, "max_pending_requests": 10_000}]},
    }
    listener = {"address": address("0.0.0.0", PORT), "filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}]}
    return {"static_resources": {"listeners": [listener], "clusters": [back]}}


class Proxy(Process):
    """One of them, in the router's namespace."""

    def __init__(self, lab, namespace, which):
        self.folder = lab.folder()
        config = self.folder / "config"
        match which:
            case "haproxy":
                config.write_text(HAPROXY)
                command = ["haproxy", "-db", "-f", config]
            case "caddy":
                config.write_text(CADDY)
                command = ["env", f"HOME={self.folder}", "caddy", "run", "--adapter", "caddyfile", "--config", config]
            case "envoy":
                config = self.folder / "config.json"
                config.write_text(json.dumps(envoy()))
                command = [program(), "-c", config, "--concurrency", 1, "--disable-hot-restart", "--log-level", "error"]
        self.start(lab, namespace, PORT, *command)


@pytest.mark.parametrize("which", ["haproxy", "caddy", "envoy"])
def test_a_proxy_passes_every_body(lab, which):
    """Bodies from 1 B to 10 MB and requests with bodies, 100 at a time: both ends count the same ones, and no length differs."""
    between = lab.router()
    for interface in ("r0", "r1"):
        call(*between.router.command("ethtool", "-K", interface, *SEGMENTATION))
    Proxy(lab, between.router, which)
    rules(between.router, "prerouting", f'iifname "r0" tcp dport 80 redirect to :{PORT}', kind="nat", priority=-100)
    ports = {
        "west": {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"},
        "east": {"device": "afpacket:veth1", "ip": f"{EAST}/24", "gateway": "10.0.1.1"},
    }
    objects = [
        {"path": "/1", "response": "1B", "weight": 20},
        {"path": "/1000", "response": "1KB", "weight": 60},
        {"path": "/form", "method": "POST", "body": "100KB", "response": "100KB", "weight": 19},
        {"path": "/10000000", "response": "10MB"},
    ]
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": "10.0.0.2"},
        "server": {"port": "east", "addresses": EAST, "ports": 80},
        "app": {"http": {"version": 2, "requests": 400, "streams_per_connection": 100, "objects": objects}},
        "open": "10/s",
        "count": 2,
    }
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "15s", "drain": "1s"})
    result = lab.eagre("run", profile, "--json", "-", ns=between.tester, timeout=90).result()
    one = check(result["sessions"]["s"])
    client, server = one["client"], one["server"]
    assert (client["completed"], client["failed"], client["transactions"]) == (2, {}, 800), one
    # A proxy keeps its connections to servers.
    assert server["transactions"] == 800 and set(server["failed"]) <= {"idle_timeout"}, one
    assert client["http2"]["streams"] == 800 and server["http2"]["streams"] == 800, one
    assert client["rx_bytes_goodput"] > 2 * 4 * 10_000_000 and client["http2"]["resets"] == 0, one
