"""DPDK is opened when a port needs it: the program is not linked to it, and runs where it is not installed."""

import json
import re
from pathlib import Path

import pytest
from lab import EAGRE, call, need, pair, stream, sums
from server import Server

# What each Linux with the GNU C library has.
EVERYWHERE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# Shows a folder without DPDK's libraries and drivers to the command after it: the files are links to the folder's own.
HIDE = r"""
set -e
work=$(mktemp -d "$1/XXXXXX"); shift
for folder; do
    [ "$folder" != -- ] || break
    there=$work/$(echo "$folder" | tr / _); seen=$there.seen
    mkdir -p "$there" "$seen"
    mount --bind "$folder" "$there"
    find "$there" -mindepth 1 -maxdepth 1 ! -name 'librte_*' ! -name dpdk -exec ln -s -t "$seen" {} +
done
while [ "$1" != -- ]; do
    mount --bind "$work/$(echo "$1" | tr / _).seen" "$1"; shift
done
shift
exec "$@"
"""


@pytest.fixture(scope="module")
def folders():
    """Folders with DPDK's libraries."""
    need("unshare", "mount", "ldconfig")
    found = re.findall(r"=> (\S+)/librte_eal\.so", call("ldconfig", "-p"))
    folders = sorted({str(Path(folder).resolve()) for folder in found})
    assert folders, "DPDK is installed where the tests run"
    return folders


@pytest.fixture
def hidden(lab, folders):
    """A command, to be followed by another, that hides DPDK from it."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", HIDE, "sh", lab.folder(), *folders, "--"]


def nothing(device, duration="200ms"):
    """A profile that sends to nobody."""
    streams = [{"name": "s", "from": "nowhere", "packet": [{"ethernet": {"dst": "02:00:00:00:00:01"}}], "rate": "1kpps"}]
    return {"ports": {"nowhere": {"device": device}}, "streams": streams, "load": {"duration": duration, "drain": "100ms"}}


def mapped(process):
    """Names of files that are mapped into a process."""
    lines = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if len(line.split()) > 5}


def test_no_library_is_needed_that_a_machine_may_lack(program):
    """Of DPDK, or any other."""
    need("readelf")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-d", program)))
    assert needed and needed <= EVERYWHERE, needed


def test_traffic_without_dpdk(lab, hidden):
    """In-process ports and kernel interfaces need none, whichever way their frames go."""
    result = lab.finish(lab.start(*hidden, EAGRE, "demo", "--duration", "300ms", "--json", "-")).json
    assert sums(result, "rx") > 0
    need("ip")
    tester = lab.netns("tester")
    lab.veth(tester, "veth0", tester, "veth1")
    for kind in ("afpacket", "afxdp", "xdp"):
        profile = lab.profile(
            pair(f"{kind}:veth0", f"{kind}:veth1"), [stream("one", "west", "east", rate="1kpps", size="128B")]
        )
        done = lab.finish(lab.start(*hidden, EAGRE, "run", profile, "--duration", "300ms", "--json", "-", ns=tester))
        assert done.ended and sums(done.json, "rx") > 0, str(done)
        modes = {port.get("xdp_mode") for port in done.json["ports"].values()}
        assert modes == {None if kind == "afpacket" else "native, copy"}


def test_users_are_told_that_dpdk_is_missing(lab, hidden):
    """The lists of ports and checks are whole, and say so."""
    told = lab.finish(lab.start(*hidden, EAGRE, "ports")).ok().out
    assert re.search(r"not available: memif:.*which need DPDK: librte_eal\.so\.\d+: cannot open", told, re.DOTALL), told
    assert "\nalways available: ring:a" in told
    assert json.loads(lab.finish(lab.start(*hidden, EAGRE, "ports", "--json")).ok().out)["dpdk"] is None
    checks = json.loads(lab.finish(lab.start(*hidden, EAGRE, "doctor", "--json")).ok().out)
    (check,) = [check for check in checks if check["check"] == "dpdk"]
    assert check["status"] == "note" and "not installed" in check["found"], check
    assert "apt-get install librte-" in check["remedy"]
    there = lab.eagre("ports").ok().out
    assert re.search(r"with DPDK \d+\.\d+.*: memif:", there), there


@pytest.mark.parametrize("device", ["vdev:net_null0", "memif:/tmp/nobody.sock", "vdev:net_af_xdp0,iface=nobody0", "0000:ff:1f.7"])
def test_a_port_of_dpdk_is_refused_without_it(lab, hidden, device):
    """The error names the port, the library, the releases it may be, and what to do."""
    profile = lab.folder() / "profile.yaml"
    profile.write_text(json.dumps(nothing(device)))
    done = lab.finish(lab.start(*hidden, EAGRE, "run", profile))
    done.refused(3, device, "needs DPDK", "librte_eal.so.", "(ABI ", "apt-get install librte-", "afpacket:")


def test_dpdk_is_opened_when_it_is_needed(lab):
    """Not for a port without a driver; with the first port that needs it, from memory."""
    profile = lab.folder() / "profile.yaml"
    for device, needs in (("null", False), ("vdev:net_null0", True)):
        profile.write_text(json.dumps(nothing(device, "20s")))
        process = lab.begun("run", profile)
        of_dpdk = {name for name in mapped(process) if "librte_" in name or "memfd:eagre-dpdk" in name}
        assert bool(of_dpdk) == needs, of_dpdk
        assert any("memfd:eagre-dpdk" in name for name in of_dpdk) == needs
        process.kill()
        process.wait(10)


def test_filters_need_libpcap_and_nothing_else_does(lab):
    """Without it a run goes well, and a capture with a filter is refused with what to install."""
    need("unshare", "mount", "ldconfig")
    libraries = {Path(path).resolve() for path in re.findall(r"=> (\S+/libpcap\.so\S*)", call("ldconfig", "-p"))}
    hide = "".join(f"mount --bind /dev/null {library}; " for library in sorted(libraries))
    hidden = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{hide} exec "$@"', "sh"]
    result = lab.finish(lab.start(*hidden, EAGRE, "demo", "--duration", "200ms", "--json", "-")).json
    assert sums(result, "rx") > 0
    capture = ("capture", "--port", "ring:a", "--filter", "udp", "--for", "100ms", "--file", lab.folder() / "x.pcapng")
    lab.finish(lab.start(*hidden, EAGRE, *capture)).refused(3, "filters need libpcap", "apt-get install libpcap0.8")
    lab.eagre(*capture).ok()


def test_a_server_finds_dpdk_once_it_is_installed(lab, hidden, folders):
    """A run that was refused goes well later, in the same process."""
    server = Server(lab, "--allow", "vdev:*", "--allow", "*", prefix=hidden)
    assert server.get("/api/v1/version")["dpdk"] is None
    profile = nothing("vdev:net_null0")
    refused = server.ask("POST", "/api/v1/runs", {"profile": profile})
    assert refused.status == 503 and "librte_eal.so" in refused.detail, refused
    for folder in folders:
        call("nsenter", "--target", server.process.pid, "--mount", "umount", folder)
    done = server.ended(server.start(profile=profile))
    assert done["state"] == "done", done
    assert server.get("/api/v1/version")["dpdk"].startswith("DPDK ")
    assert re.search(r'^eagre_build_info\{.*dpdk="DPDK ', server.ask("GET", "/metrics").body.decode(), re.MULTILINE)
    assert server.process.poll() is None
