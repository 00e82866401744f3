"""What a host must do, by some 300 probes: our servers pass at least as many as the Linux kernel beside them.

docs/tcp-probes.md is the list with both results; UPDATE_GOLDEN=1 writes it.
"""

import json
import os
import signal

import pytest
from hosts import PYTHON, TESTS
from lab import REPO, call, need

PAGE = REPO / "docs/tcp-probes.md"
TARGET = {4: "10.9.0.2", 6: "2001:2:9::2"}
AT_LEAST = {4: 83, 6: 79}
# So that a kernel says all that it has to say.
TALKATIVE = {
    "net.ipv4.icmp_ratelimit": 0,
    "net.ipv4.icmp_ratemask": 0,
    "net.ipv6.icmp.ratelimit": 0,
    "net.ipv4.icmp_msgs_per_sec": 100_000,
    "net.ipv4.icmp_msgs_burst": 100_000,
}
HEAD = """# What a host must do, packet by packet

Probes of our servers and of a Linux kernel on the same machine. Each is named after the section that requires
it. `tests/probes.py` sends them; `tests/test_probes.py` runs them, checks this page and writes it (`UPDATE_GOLDEN=1`).
*Linux* is the kernel with its defaults, but for limits of how many ICMP errors it sends, and a plain echo server. *Eagre* is
`eagre run` with `echo` over TCP and UDP, on an AF_PACKET port and on an AF_XDP port: both pass the same. [TCP conformance](tcp-conformance.md) lists the rules of TCP one
by one.
"""

# The ports that are probed, and what they counted.
KINDS = {"Eagre": "afpacket", "AF_XDP": "afxdp"}
COUNTED = {}

# Family, name, rule and meaning of all.
PROBES = json.loads(call(PYTHON, TESTS / "probes.py", "list"))


@pytest.fixture(scope="module")
def found(shared):
    """What each probe found wrong, by the name of the target, in the order of the list."""
    need("ip", "ethtool")
    lab = shared
    kernel = lab.netns("kernel")
    asks = {name: lab.netns(f"ask-{name}".lower()) for name in ("Linux", *KINDS)}
    kernel.sysctl({f"net.ipv6.conf.{which}.disable_ipv6": 0 for which in ("all", "default", "lo")})
    kernel.sysctl(TALKATIVE)
    lab.veth(asks["Linux"], "p0", kernel, "k0")
    call(*kernel.command("ethtool", "-K", "k0", "tx", "off", "tso", "off", "gso", "off", "gro", "off"))
    kernel.ip("address", "add", f"{TARGET[4]}/16", "dev", "k0")
    kernel.ip("address", "add", f"{TARGET[6]}/64", "dev", "k0", "nodad")
    served = lab.start(PYTHON, TESTS / "probes.py", "serve", ns=kernel)
    assert served.stdout.readline() == "ready\n"
    entries = [
        {
            "name": f"{transport}{family}",
            "server": {"port": "west", "addresses": address},
            "transport": transport,
            "app": "echo",
        }
        for transport in ("tcp", "udp")
        for family, address in TARGET.items()
    ]
    testers = {}
    for name, kind in KINDS.items():
        tester = lab.netns(f"tester-{kind}")
        lab.veth(asks[name], "p0", tester, "veth0")
        port = {"device": f"{kind}:veth0", "ip": [f"{TARGET[4]}/16", f"{TARGET[6]}/64"]}
        profile = lab.profile({"west": port}, None, sessions=entries, load={"duration": "180s", "drain": "0s"})
        testers[name] = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    command = (PYTHON, TESTS / "probes.py", "probe", "p0", *TARGET.values())
    probes = {name: lab.start(*command, ns=ask) for name, ask in asks.items()}
    results = {}
    for name, process in probes.items():
        out, err = process.communicate(timeout=150)
        assert not process.returncode, f"{name}: {err[-2000:]}"
        results[name] = json.loads(out)
    for name, eagre in testers.items():
        assert eagre.poll() is None, eagre.communicate()[1]
        eagre.send_signal(signal.SIGINT)
        COUNTED[name] = lab.finish(eagre, 20).json["sessions"]
    return results


def page(found):
    """The page as these results have it."""
    parts = [HEAD]
    for family in (4, 6):
        numbers = [number for number, one in enumerate(PROBES) if one[0] == family]
        shown = {name: results for name, results in found.items() if name != "AF_XDP"}
        passed = {name: sum(results[number][2] is None for number in numbers) for name, results in shown.items()}
        summary = ", ".join(f"{name} passes {count}" for name, count in passed.items())
        parts.append(f"\n## IPv{family}\n\n{len(numbers)} probes: {summary}.\n\n| Rule | Probe | {' | '.join(shown)} |")
        parts.append("|---|---|" + "---|" * len(shown))
        for number in numbers:
            _, _, rule, meaning = PROBES[number]
            said = " | ".join(results[number][2] or "yes" for results in shown.values())
            parts.append(f"| {rule} | {meaning} | {said} |")
    return "\n".join(parts) + "\n"


def test_there_are_as_many_probes_as_there_must_be():
    """Names are told apart, too."""
    for family, least in AT_LEAST.items():
        names = [one[1] for one in PROBES if one[0] == family]
        assert len(names) == len(set(names)) >= least


@pytest.mark.unsteady("a busy machine answers late, thrice")
@pytest.mark.parametrize("family", [4, 6], ids=["ipv4", "ipv6"])
def test_our_hosts_pass_as_many_as_linux(found, family):
    """None that Linux passes is failed, so that not only the number counts."""
    wrong = {
        name: {one[1]: one[2] for one in results if one[0] == family and one[2]}
        for name, results in found.items()
    }
    assert len(wrong["Eagre"]) <= len(wrong["Linux"]), wrong
    ours = set(wrong["Eagre"]) - set(wrong["Linux"])
    assert not ours, {name: wrong["Eagre"][name] for name in ours}


@pytest.mark.unsteady("a busy machine answers late, thrice")
@pytest.mark.parametrize("family", [4, 6], ids=["ipv4", "ipv6"])
def test_af_xdp_passes_the_same(found, family):
    """What a probe says of the host must not depend on the kind of port; nor what was opened, as far as no probe ran twice."""
    wrong = {name: {one[1]: one[2] for one in found[name] if one[0] == family and one[2]} for name in KINDS}
    assert set(wrong["AF_XDP"]) == set(wrong["Eagre"]), wrong
    for transport in ("tcp", "udp"):
        ours, theirs = (COUNTED[name][f"{transport}{family}"] for name in KINDS)
        assert ours["attempted"] >= 3 and abs(ours["attempted"] - theirs["attempted"]) <= 0.05 * ours["attempted"], (ours, theirs)


@pytest.mark.unsteady("a busy machine answers late, thrice")
def test_the_page_is_what_the_probes_say(found):
    """What a kernel of another version says is not compared, nor the sums."""
    told = page(found)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(told)
    assert steady(PAGE.read_text()) == steady(told), "run with UPDATE_GOLDEN=1 and look at the difference"


def steady(text):
    """The page's rows without what Linux said."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| ")]
    return [(row[1], row[2], row[4]) for row in rows]
