"""One port is one port, whatever it is called: what was allowed, leased and guarded is what is opened."""

import pytest
from lab import WEST4, pair, stream
from server import Server

FRAME = [{"ethernet": {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}}, {"ipv4": {"dst": "10.9.9.9"}}, "udp"]


def one_port(device, **more):
    """A profile that sends a little from one port."""
    port = {"device": device, "ip": f"{WEST4}/24"} | more
    blind = {"name": "blind", "from": "west", "packet": FRAME, "rate": "1kpps"}
    return {"ports": {"west": port}, "streams": [blind], "load": {"duration": "100ms", "drain": "0s"}}


@pytest.fixture(scope="module")
def tester(shared):
    """A namespace with four interfaces; one has other names, one the default route."""
    namespace = shared.netns("identity")
    for a, b in (("v0", "v1"), ("v2", "v3")):
        shared.veth(namespace, a, namespace, b)
    for name in ("other", "a-name-of-more-than-fifteen-letters"):
        namespace.ip("link", "property", "add", "dev", "v0", "altname", name)
    namespace.ip("link", "property", "add", "dev", "v3", "altname", "gate")
    namespace.ip("address", "add", "192.0.2.2/24", "dev", "v3")
    namespace.ip("route", "add", "default", "via", "192.0.2.1", "dev", "v3")
    return namespace


@pytest.fixture(scope="module")
def server(shared, tester):
    return Server(shared, "--listen", "127.0.0.1:0", ns=tester)


def refused(server, device, status, *words):
    """The run is refused, and the port named."""
    answer = server.ask("POST", "/api/v1/runs", {"profile": one_port(device)})
    assert answer.status == status, answer
    for word in ("ports.west: ", *words):
        assert word in answer.detail, answer.detail


@pytest.mark.parametrize(
    "device, key",
    [
        ("v0,iface=lo", "iface"),
        ("afxdp:v0,iface=lo", "iface"),
        ("tap:t0,remote=v0", "remote"),
        ("tap:t0,persist=1", "persist"),
        ("memif:/tmp/x.sock,socket=/tmp/y.sock", "socket"),
        ("virtio:/tmp/x.sock,path=/tmp/y.sock", "path"),
        ("pcap:,/tmp/x,tx_iface=lo", "tx_iface"),
        ("afpacket:v0,qpairs=2", "qpairs"),
    ],
)
def test_no_option_says_which_port_it_is(lab, tester, server, device, key):
    """The command line and the server say which options there are."""
    words = (f"'{key}' is not an option of", "its options are")
    lab.eagre("run", lab.profile(**one_port(device)), ns=tester).refused(2, f"port '{device}': ", *words)
    refused(server, device, 422, *words)


def test_a_file_is_never_removed(lab, server):
    """Not by an option, and not where a socket is to be made."""
    folder = lab.folder()
    file = folder / "precious"
    file.write_text("keep me")
    for device in (f"vhost:{folder}/x.sock,iface={file},wait=0", f"vhost:{file},wait=0", f"memif:{file},server,wait=0"):
        assert lab.eagre("run", lab.profile(**one_port(device))).exit in (2, 3)
        assert server.ask("POST", "/api/v1/runs", {"profile": one_port(device)}).status in (403, 422)
        assert file.read_text() == "keep me"


@pytest.mark.parametrize(
    "device",
    ["lo", "afxdp:lo", "afpacket:lo,framecnt=64", "vdev:net_af_packet0,iface=lo", "vdev:net_pcap0,rx_iface=lo", "tap:lo"],
)
def test_clients_do_not_use_the_loopback_interface(shared, tester, device):
    """Whatever the operator allows: what is captured there has other clients' tokens in it."""
    server = Server(shared, "--allow", "*", "--allow", "vdev:*", "--allow", "lo", ns=tester)
    profile = one_port(device, capture={"file": "x.pcapng"})
    answer = server.ask("POST", "/api/v1/runs", {"profile": profile})
    assert answer.status == 403 and "lo is this machine's loopback interface" in answer.detail, answer
    assert server.ask("POST", "/api/v1/leases", {"ports": [device]}).status == 403
    server.stop()


def test_clients_do_not_use_the_interface_they_come_by(shared, tester):
    """By any name of it."""
    tokens = shared.folder() / "tokens.yaml"
    tokens.write_text("- {name: root, role: admin, token: secret-secret-secret}\n")
    tokens.chmod(0o600)
    for listen in ("192.0.2.2:0", "0.0.0.0:0"):
        server = Server(shared, "--listen", listen, "--tokens", tokens, ns=tester, token="secret-secret-secret")
        for device in ("v3", "afxdp:gate"):
            answer = server.ask("POST", "/api/v1/runs", {"profile": one_port(device, allow_default_route=True)})
            assert answer.status == 403 and "clients reach this server by v3" in answer.detail, answer
        shown = {port["name"]: port["allowed"] for port in server.get("/api/v1/ports")}
        assert (shown["v3"], shown["v0"]) == (False, True)
        server.stop()


def test_another_name_is_no_way_around_a_lease(lab, server):
    """Alternative names, other drivers, short PCI addresses, paths with detours, and raw arguments."""
    folder = lab.folder()
    (folder / "link").symlink_to(folder)
    names = [
        ["v0", "other", "a-name-of-more-than-fifteen-letters", "afxdp:other", "tap:v0"],
        ["0000:03:00.0", "03:00.0"],
        [f"memif:{folder}/x.sock", f"memif:{folder}//x.sock", f"vhost:{folder}/link/x.sock,client=1", f"memif:{folder}/./x.sock,id=2"],
    ]
    for same in names:
        for first in same[:2]:
            lease = server.ask("POST", "/api/v1/leases", {"ports": [first]})
            assert lease.status == 201, lease
            for other in same:
                answer = server.ask("POST", "/api/v1/leases", {"ports": [other]})
                assert answer.status == 409 and "is leased by" in answer.detail, (first, other, answer)
                taken = server.ask("POST", "/api/v1/runs", {"profile": one_port(other)})
                assert taken.status == 409, (first, other, taken)
            assert lease.json()["ports"] == [same[0]]
            server.ask("DELETE", f"/api/v1/leases/{lease.json()['id']}")


def test_a_lease_by_another_name_serves_its_run(server):
    """Leased as one, run as the other: the same port."""
    lease = server.ask("POST", "/api/v1/leases", {"ports": ["other"]}).json()
    run = server.start(profile=one_port("afpacket:v0"), lease=lease["id"])
    assert run["ports"] == ["v0"] and server.ended(run)["state"] == "done"
    server.ask("DELETE", f"/api/v1/leases/{lease['id']}")


@pytest.mark.parametrize("device", ["gate", "afxdp:gate", "vdev:net_af_packet0,iface=gate", "vdev:net_pcap0,iface=v3"])
def test_another_name_is_no_way_around_the_default_route(lab, tester, device):
    """On the command line too, raw arguments included."""
    lab.eagre("run", lab.profile(**one_port(device)), ns=tester).refused(3, "v3 carries this machine's default route")


def test_one_interface_twice_in_a_profile(lab, tester):
    """Two names, one interface: refused."""
    profile = lab.profile(pair("v0", "afpacket:other"), [stream("s", "west", "east", rate="1kpps")], load={"duration": "100ms"})
    lab.eagre("run", profile, ns=tester).refused(3, "port 'afpacket:other': port west is the same interface by another name")


def test_an_alternative_name_opens_its_interface(lab, tester):
    """Also one that is longer than a name of its own may be."""
    for device in ("other", "afpacket:a-name-of-more-than-fifteen-letters", "afxdp:other"):
        before = tester.counters("v0")["tx"]
        lab.eagre("run", lab.profile(**one_port(device)), ns=tester).ok()
        assert tester.counters("v0")["tx"] >= before + 50, device


def test_allowed_is_what_is_opened(shared, tester):
    """An allow-list knows canonical names; what names files or arguments is allowed by its own kind."""
    folder = shared.folder()
    server = Server(shared, "--allow", "v*", "--allow", "vdev:net_ring*", "--allow", f"memif:{folder}/*", ns=tester)
    allowed = ("v0", "other", "afxdp:other", "vdev:net_ring5", f"memif:{folder}/x.sock")
    forbidden = ("null", "ring:a", "pcap:,/tmp/x", "vdev:net_null0", "vdev:net_af_packet0,iface=v0", f"memif:{folder}/../x.sock")
    for device, status in [*((device, 201) for device in allowed), *((device, 403) for device in forbidden)]:
        answer = server.ask("POST", "/api/v1/leases", {"ports": [device]})
        assert answer.status == status, (device, answer)
        if status == 201:
            server.ask("DELETE", f"/api/v1/leases/{answer.json()['id']}")
    server.stop()
    everything = Server(shared, "--allow", "*", ns=tester)
    for device in ("pcap:,/tmp/x", "vdev:net_ring0"):
        assert everything.ask("POST", "/api/v1/leases", {"ports": [device]}).status == 403, device
    everything.stop()


def test_sockets_are_made_in_the_servers_folder(lab, server):
    """Unless the operator allows another; both ends find each other by a bare name."""
    elsewhere = lab.folder()
    for device in (f"memif:{elsewhere}/x.sock,server", f"vhost:{elsewhere}/x.sock", f"virtio:{elsewhere}/x.sock,server=1", "vhost:../x"):
        refused(server, device, 403, "sockets are made in", str(server.folder / "serve/sockets"), "--allow")
    assert not list(elsewhere.iterdir())
    both = pair("memif:pair.sock,server", "memif:pair.sock")
    profile = {"ports": both, "streams": [stream("s", "west", "east", rate="1kpps")], "load": {"duration": "300ms"}}
    run = server.start(profile=profile)
    assert run["ports"] == [f"memif:{server.folder}/serve/sockets/pair.sock"]
    assert server.ended(run)["state"] == "done"
    allowing = Server(lab, "--allow", f"memif:{elsewhere}/*")
    both = pair(f"memif:{elsewhere}/x.sock,server", f"memif:{elsewhere}/x.sock")
    run = allowing.start(profile=profile | {"ports": both})
    assert allowing.ended(run)["state"] == "done"
