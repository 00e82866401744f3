"""The workspace is as ARCHITECTURE.md describes it: crates, dependencies between them, and what each must not do."""

import re
import shutil
import subprocess
import tomllib

import pytest
from lab import REPO
from rust_modules import Crate, circles

WORKSPACE = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]
FOLDERS = sorted(
    folder for member in WORKSPACE["members"] for folder in REPO.glob(member) if (folder / "Cargo.toml").is_file()
)
MANIFESTS = {folder: tomllib.loads((folder / "Cargo.toml").read_text()) for folder in FOLDERS}
ROOMS = {manifest["package"]["name"]: folder for folder, manifest in MANIFESTS.items()}


def of(floor):
    """Names of the rooms on a floor."""
    return sorted(name for name, folder in ROOMS.items() if folder.parent.name == floor)


def doors(room):
    """The rooms that a room uses when it runs."""
    manifest = MANIFESTS[ROOMS[room]]
    tables = [manifest, *manifest.get("target", {}).values()]
    used = {name for table in tables for name in table.get("dependencies", {})}
    return used & set(ROOMS)


def test_there_are_rooms_to_look_at():
    """The tests below have crates to check."""
    assert {"units", "wire", "engine", "cli"} <= set(ROOMS)


def test_a_folder_is_called_like_its_crate():
    """A crate and its folder have the same name."""
    assert {name: folder.name for name, folder in ROOMS.items()} == {name: name for name in ROOMS}


def test_tables_of_crates_and_doors_are_up_to_date():
    """ARCHITECTURE.md has the crates and dependencies of the manifests."""
    checked = subprocess.run([REPO / "tools/architecture", "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_tables_with_a_conflict_are_written_anew(tmp_path):
    """The tool finds a table that differs, and replaces all of it."""
    for path in ["tools/architecture", *(f"{folder.relative_to(REPO)}/Cargo.toml" for folder in FOLDERS)]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / path, tmp_path / path)
    for path in (root for folder in FOLDERS for root in folder.glob("src/*.rs") if root.stem in ("lib", "main")):
        (tmp_path / path.relative_to(REPO)).parent.mkdir()
        shutil.copy(path, tmp_path / path.relative_to(REPO))
    written = (REPO / "ARCHITECTURE.md").read_text()
    page, row = tmp_path / "ARCHITECTURE.md", re.search(r"^\| `http3` \|.*\n", written, re.MULTILINE)[0]
    page.write_text(written.replace(row, f"<<<<<<< ours\n{row}=======\n>>>>>>> theirs\n"))
    run = [tmp_path / "tools/architecture"]
    checked = subprocess.run([*run, "--check"], capture_output=True, text=True)
    assert (checked.returncode, "run tools/architecture" in checked.stderr) == (1, True)
    subprocess.run(run, check=True)
    assert page.read_text() == written


# Deliberate absences: crates that a crate must not use.
ABSENT = {
    "dpdk": {"wire"},
    "sched": {"wire"},
    "engine": {"methods", "campaign", "store"},
    "store": {"engine"},
    "otg": {"port", "dpdk"},
    "trex": {"port", "dpdk"},
    "lab": {"port", "dpdk", "engine"},
    "counters": {"result", "port", "dpdk", "lab"},
}
for room in of("edge"):
    ABSENT.setdefault(room, set()).update({"profile", "sched", "measure"})


@pytest.mark.parametrize("room", ABSENT)
def test_deliberate_absences(room):
    """ARCHITECTURE.md has the list."""
    assert ABSENT[room] <= set(ROOMS)
    assert doors(room) & ABSENT[room] == set()


def test_doors_point_inward():
    """shell → dev, edge → core; nothing inside knows what is outside."""
    inner = {"core": {"core"}, "edge": {"core", "edge"}, "dev": {"core", "edge", "dev"}}
    for floor, may in inner.items():
        for room in of(floor):
            outside = {used for used in doors(room) if ROOMS[used].parent.name not in may}
            assert not outside, f"{floor}/{room} uses {outside}"


@pytest.mark.parametrize("room", of("core") + of("shell") + of("dev"))
def test_rooms_outside_edge_forbid_unsafe_code(room):
    """The compiler enforces it."""
    roots = [path for path in (ROOMS[room] / "src/lib.rs", ROOMS[room] / "src/main.rs") if path.is_file()]
    assert roots
    for root in roots:
        assert "\n#![forbid(unsafe_code)]\n" in root.read_text(), f"{root.relative_to(REPO)} lacks #![forbid(unsafe_code)]"


# Lints that keep what rooms may not do, and the Rust files that may allow them. What the lints look for is in
# Cargo.toml and in the files called clippy.toml.
EXCEPTIONS = {
    "unsafe_code": r"edge/",
    "print_std(out|err)": r"\w+/\w+/(build\.rs|benches/|examples/|tests/)",
    "disallowed_(methods|types)": r"core/\w+/(benches|examples|tests)/",
}


@pytest.mark.parametrize("lint", EXCEPTIONS)
def test_lints_of_the_house_are_not_switched_off(lint):
    """No file allows unsafe code outside edge, printing outside cli, or access to the machine in core."""
    allows = re.compile(rf"\b(allow|expect)\([^)]*\b{lint}\b")
    files = [path for folder in FOLDERS for path in folder.rglob("*.rs") if allows.search(path.read_text())]
    names = [str(path.relative_to(REPO)) for path in files]
    assert names, f"no file allows {lint}: the lint is unused"
    assert [name for name in names if not re.match(EXCEPTIONS[lint], name)] == []


def test_methods_are_named_in_their_own_files_only():
    """A campaign, the store and a report ask a method; a match on methods in shell is a second place to keep in step."""
    named = re.compile(r"\b(MethodConfig|Findings)::[A-Z]")
    for path in (path for room in of("shell") for path in (ROOMS[room] / "src").rglob("*.rs")):
        program = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
        assert not named.search(program), path.relative_to(REPO)


# Lists of hosts' control protocols and of headers, one for each crate or program that knows them.
PROTOCOL_LISTS = {
    "core/profile/src/protocols/mod.rs",
    "core/result/src/protocols/mod.rs",
    "core/wire/src/control.rs",
    "core/wire/src/protocols/mod.rs",
    "shell/engine/src/emulation/protocols.rs",
    "shell/otg/src/packet/mod.rs",
    "shell/otg/src/protocols/mod.rs",
    "web/src/protocols/list.tsx",
}
# Other files that name a protocol, and why.
LABS = {
    "core/profile/src/document/quantity.rs": "examples of names for 'punt'",
    "shell/lab/src/topology/mod.rs": "devices under test that run it",
    "shell/lab/src/topology/routing.rs": "devices under test that run it",
}
EMULATED = {"core/emulate/src/lib.rs": "the list of protocols in that crate"}
CLIENTS = {
    "core/profile/src/document/mod.rs": "names of clients in streams",
    "core/profile/src/document/session.rs": "names of clients as addresses of sessions",
    "core/profile/src/protocols/clients.rs": "the list of clients' protocols",
    "shell/agent/src/part.rs": "a refusal of clients",
    "shell/api/src/runs.rs": "names of clients in pings",
}
METHOD = dict.fromkeys(
    ["core/methods/src/" + name for name in ("leases.rs", "lib.rs", "list.rs", "outcome.rs", "settings.rs", "trial.rs")],
    "the method that measures the set-up rate of clients",
)
IN_SESSIONS = dict.fromkeys(
    [
        "core/neighbour/src/claim.rs",
        "core/neighbour/src/ping.rs",
        "core/profile/src/resolve/session/mod.rs",
        "core/profile/src/resolve/session/options.rs",
        "core/profile/src/resolve/session/tunnel.rs",
        "core/session/src/plan.rs",
        "core/tcp/src/group.rs",
        "core/wire/src/tunnel.rs",
        "core/wire/src/tunnel/decap.rs",
        "core/wire/src/tunnel/encap.rs",
        "shell/campaign/src/balancer/setup.rs",
        "shell/campaign/src/sessions/path.rs",
        "shell/engine/src/trial/hosts.rs",
        "shell/engine/src/trial/resolved.rs",
        "shell/engine/src/trial/tunnels.rs",
    ],
    "packets of flows and pings travel in its sessions",
)
LLDPD = dict.fromkeys(
    [
        "core/profile/src/document/protocol.rs",
        "core/profile/src/plan.rs",
        "core/profile/src/resolve/protocol.rs",
        "shell/engine/src/protocols/recipe.rs",
    ],
    "lldpd, a daemon beside the hosts",
)
COMMANDS = {"shell/cli/src/control.rs": "help of commands: whose hosts obey each"}
# Names of folders and files of a protocol that do not have its own.
MEMBERS = {"groups", "multicast"}
OTHER_NAMES = {"igmp": MEMBERS, "mld": MEMBERS}
FRAMES = {"core/emulate/src/frame.rs": "frames of hosts, in which its messages have a router alert option"}
NAMED_ELSEWHERE = {
    "isis": {},
    "ospf": LABS,
    "bgp": LABS | {"core/profile/src/document/flap.rs": "the name of its part in the profile's schema"},
    "vrrp": EMULATED,
    "lacp": EMULATED | COMMANDS | {"edge/script/src/library.rs": "the list of Lua's modules"},
    "lldp": EMULATED | COMMANDS | LLDPD,
    "bfd": {"core/profile/src/frr.rs": "FRRouting's daemons"},
    "dhcp": EMULATED
    | COMMANDS
    | CLIENTS
    | METHOD
    | {
        "core/emulate/src/router.rs": "DHCPv6 gives no router: it is found by neighbour discovery",
        "core/profile/src/document/quantity.rs": "names of clients as addresses of sessions",
        "core/wire/src/protocols/nd_router.rs": "flags of router advertisements",
        "shell/campaign/src/leases.rs": "the method that measures the set-up rate of clients",
        "shell/otg/src/translate/flow.rs": "refusals of flows of clients",
    },
    "pppoe": EMULATED
    | COMMANDS
    | CLIENTS
    | IN_SESSIONS
    | {
        "core/wire/src/protocols/ppp.rs": "the headers",
        "shell/server/src/kinds.rs": "a kind of run by its example",
    },
    "igmp": EMULATED
    | FRAMES
    | {
        "core/profile/src/frr.rs": "FRRouting's daemons",
        "core/tcp/src/frame.rs": "its number in IPv4 headers",
        "core/tcp/src/stack/inward.rs": "sessions do not refuse its packets",
        "shell/otg/src/packet/plain.rs": "fields of the model's headers",
        "shell/server/src/kinds.rs": "a kind of run by its example",
    },
    "mld": EMULATED | FRAMES | {"core/wire/src/protocols/ipv6_extensions.rs": "values of the router alert option"},
}


def program_files():
    """Paths and texts of all programs written by hand, without their tests: Rust, the Python client, the dashboard."""
    for room in of("core") + of("edge") + of("shell"):
        for path in (REPO / path for path, _ in code_of(room)):
            yield str(path.relative_to(REPO)), TEST_MODULE.split(path.read_text())[0]
    for path in [*(REPO / "clients/python/src").rglob("*.py"), *(REPO / "web/src").rglob("*.ts*")]:
        text = path.read_text()
        if not re.search(r"\b(not to be edited|do not edit)\b", text[:400]):
            yield str(path.relative_to(REPO)), text


@pytest.mark.parametrize("protocol", NAMED_ELSEWHERE)
def test_a_protocol_is_named_in_its_folders_and_the_lists_only(protocol):
    """A protocol's folders and files have its name. Any other file that names it must change with each new protocol."""
    spelling = protocol.replace("isis", "is-?is")
    name = re.compile(rf"(?<![A-Za-z])(?i:{spelling})|{protocol.capitalize()}")
    # Its versions for IPv6 are in folders and files such as 'dhcp6' and 'dhcpv6'.
    folders = {protocol} | OTHER_NAMES.get(protocol, set())
    own = lambda path: folders & {*re.sub(r"v?6?(\.rs|\.tsx)?(?=/|$)", "", path).split("/")}  # noqa: E731
    named = {path for path, text in program_files() if not own(path) and name.search(text)}
    assert named - PROTOCOL_LISTS - set(NAMED_ELSEWHERE[protocol]) == set()
    assert set(NAMED_ELSEWHERE[protocol]) - named == set(), "no longer needed"


def test_core_uses_no_dependency_that_touches_the_machine():
    """Libraries in core are for documents, file formats, ciphers, digests and encodings only."""
    pure = {"indexmap", "flate2", "pcap-file", "saphyr-parser", "schemars", "serde", "serde_json", "strsim", "thiserror"}
    pure |= {"base64", "des", "hmac", "md-5", "md4", "sha1", "sha2"}
    for room in of("core"):
        outside = set(MANIFESTS[ROOMS[room]].get("dependencies", {})) - set(ROOMS)
        assert outside <= pure, f"{room}: {outside - pure}"


# Files that say the name of a result's field as a text, and why.
SAID_ELSEWHERE = {
    "core/methods/src/mrr.rs": "rows of findings, documents of their own",
    "edge/afxdp/src/queue.rs": "the drivers' reason for a frame they refuse, which a stream's replay shares by chance",
    "edge/dpdk/src/queue.rs": "the drivers' reason for a frame they refuse, which a stream's replay shares by chance",
    "edge/packet/src/queue.rs": "the drivers' reason for a frame they refuse, which a stream's replay shares by chance",
    "shell/engine/src/trust/criteria.rs": "which figures are a share of which count, by their paths",
    "shell/engine/src/trust/holds.rs": "which figures hold, by their paths",
    "core/methods/src/outcome.rs": "rows of findings, documents of their own",
    "core/methods/src/sessions.rs": "rows of findings, documents of their own",
    "core/methods/src/sweep.rs": "rows of findings, documents of their own",
    "core/methods/src/throughput.rs": "rows of findings, documents of their own",
    "core/profile/src/flags/http.rs": "criteria of the profile that options make",
    "core/profile/src/protocols/lacp/resolve.rs": "keys of the profile",
    "core/profile/src/protocols/lldp/resolve.rs": "keys of the profile",
    "core/profile/src/resolve/session/app.rs": "keys of the profile",
    "shell/campaign/src/drive.rs": "variables of hooks",
    "shell/cli/src/ci/figures.rs": "figures that are compared unless others are named",
    "shell/cli/src/verdicts/of_run.rs": "names of properties",
    "shell/lab/src/hook.rs": "variables of hooks",
    "shell/otg/src/packet/cfm.rs": "fields of the model's headers",
    "shell/otg/src/packet/lacp.rs": "fields of the model's headers",
    "shell/otg/src/protocols/bgp.rs": "columns of the model",
    "shell/otg/src/protocols/dhcp.rs": "columns of the model",
    "shell/otg/src/protocols/isis.rs": "columns of the model",
    "shell/otg/src/protocols/lldp.rs": "columns of the model",
    "shell/otg/src/protocols/ospf.rs": "columns of the model",
    "shell/server/src/metrics/mod.rs": "statistics of the live latency",
    "shell/server/src/service.rs": "fields of the log",
    "shell/server/src/starting.rs": "keys of the profile and fields of the log",
    "shell/store/src/export/mod.rs": "columns of CSV and Parquet",
    "shell/store/src/export/trending.rs": "documents in the form of CSIT",
    "shell/store/src/report/machine.rs": "parts of the document shown as they are",
    "shell/store/src/report/side_by_side.rs": "a heading",
    "shell/store/src/write.rs": "columns of the store's tables",
}


TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod \w+ \{")
TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod (\w+);")


def code_of(room):
    """The Rust files of a room that are in the program, without comments and the tests within them."""
    paths = sorted((ROOMS[room] / "src").rglob("*.rs"))
    folder = lambda path: path.parent if path.stem in ("lib", "main", "mod") else path.with_suffix("")  # noqa: E731
    tests = {folder(path) / f"{name}.rs" for path in paths for name in TEST_FILE.findall(path.read_text())}
    for path in paths:
        if path not in tests and "tests" not in path.parts and not path.name.endswith("tests.rs"):
            source = TEST_MODULE.split(path.read_text())[0]
            yield str(path.relative_to(REPO)), re.sub(r"//[^\n]*", "", source)


@pytest.mark.parametrize(
    "name, pattern", [("Waits and timeouts", r"\bInstant::now\b"), ("Time of day", r"\bSystemTime::now\b")]
)
def test_readers_of_the_standard_librarys_clocks(name, pattern):
    """ARCHITECTURE.md lists the crates that read them; core does not, by its lints."""
    line = re.search(rf"^- {name}: (.*?) reads? ", (REPO / "ARCHITECTURE.md").read_text(), re.MULTILINE)[1]
    listed = set(re.findall(r"`(\w+)`", line))
    found = {room for room in ROOMS if any(re.search(pattern, code) for _, code in code_of(room))}
    assert listed == found


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_in_a_page_exist(page):
    """Each file and folder that it names, from the root of the repository."""
    text = re.sub(r"^```.*?^```", "", (REPO / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", text))
    assert named, "paths are found"
    assert [path for path in sorted(named) if not (REPO / path).exists()] == []


def test_fields_of_results_are_named_in_result_only():
    """Other rooms go through the types or the catalogue. A name without '_' is an everyday word and not looked for."""
    defined = r"^        (\w+): [^=\n]+ = [A-Z_]+[.;(]"
    names = {name for _, code in code_of("result") for name in re.findall(defined, code, re.MULTILINE) if "_" in name}
    assert {"latency_ns", "tx_packets", "failed_ratio"} <= names
    said = {}
    for path, code in (file for room in set(ROOMS) - {"result"} for file in code_of(room)):
        words = {word for text in re.findall(r'"([\w.]+)"', code) for word in text.split(".")}
        if words & names:
            said[path] = sorted(words & names)
    assert {path: words for path, words in said.items() if path not in SAID_ELSEWHERE} == {}
    assert set(SAID_ELSEWHERE) - set(said) == set(), "no longer needed"


# Files of shell that handle JSON without a type, and why. A folder stands for the files in it.
UNTYPED = {
    "shell/api/src/campaigns.rs": "settings that each method types itself; a profile as the caller wrote it",
    "shell/api/src/documents.rs": "JSON Schema",
    "shell/api/src/profiles.rs": "a profile as the caller wrote it: its reader reports all errors by place",
    "shell/api/src/runs.rs": "a profile as the caller wrote it: its reader reports all errors by place",
    "shell/campaign/src/about.rs": "what the doctor and the machine say: kept, not interpreted",
    "shell/campaign/src/choice.rs": "settings by path, of whichever method",
    "shell/campaign/src/document.rs": "JSON Schema",
    "shell/campaign/src/drive.rs": "trials become documents of the store",
    "shell/cli/src/bench/mod.rs": "settings by path, of whichever method",
    "shell/cli/src/ci/figures.rs": "the paths of all numbers of a document",
    "shell/cli/src/output.rs": "intervals, which the store keeps as documents",
    "shell/cli/src/path.rs": "a path document as it was written, kept without its secrets",
    "shell/cli/src/script/engine.rs": "results for Lua, which has no types",
    "shell/cli/src/script/report.rs": "what a script says its result is",
    "shell/counters/src/local/nft.rs": "what nft prints: a language of statements",
    "shell/otg/": "documents of Open Traffic Generator, whose places errors name",
    "shell/server/src/access.rs": "entries of a token file, each read by itself so that all errors are reported",
    "shell/server/src/otg/": "documents of Open Traffic Generator, over HTTP and gRPC",
    "shell/server/src/profiles.rs": "a profile as the caller wrote it",
    "shell/server/src/service.rs": "OpenAPI",
    "shell/server/src/starting.rs": "what is written into the store as it is",
    "shell/store/src/compare.rs": "documents stay as they were written",
    "shell/store/src/export/": "cells of any type; documents in the form of CSIT",
    "shell/store/src/model.rs": "documents stay as they were written, so archives of every version open",
    "shell/store/src/read.rs": "documents stay as they were written",
    "shell/store/src/report/": "shows parts of documents of every version as they are",
    "shell/store/src/stored.rs": "documents stay as they were written",
}


def test_untyped_json_has_a_reason():
    """The shell's common language is types: a file that needs JSON without one says why, above."""
    uses = re.compile(r"serde_json::(\{[^}]*)?\b(Value|Map)\b")
    named = {path for room in of("shell") for path, code in code_of(room) if uses.search(code)}
    reason = {path: next((place for place in UNTYPED if path.startswith(place)), None) for path in named}
    assert [path for path, place in reason.items() if place is None] == []
    assert set(UNTYPED) - set(reason.values()) == set(), "no longer needed"


def test_every_example_is_mentioned():
    """README.md or docs/ mention each file of examples/."""
    pages = [REPO / "README.md", *(REPO / "docs").rglob("*.md")]
    text = "\n".join(page.read_text() for page in pages if page.is_file())
    examples = sorted(path for path in (REPO / "examples").rglob("*") if path.is_file() and path.name != "README.md")
    assert examples, "examples/ is empty"
    unknown = [path.name for path in examples if f"examples/{path.relative_to(REPO / 'examples')}" not in text]
    assert not unknown, f"neither in README.md nor in docs/: {', '.join(unknown)}"


def test_the_engines_modules_form_a_tree():
    """No module uses another that, perhaps by way of others, uses it."""
    used = Crate(ROOMS["engine"] / "src").uses()
    assert ("trial", "resolved") in used[("session",)], "imports are read"
    assert circles(used) == []


def test_circles_of_modules_are_found(tmp_path):
    """What the test above rests on: re-exports and nested imports are followed to the file that has the item."""
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\npub use a::{inner::{Leaf as Twig}, Top};",
        "a.rs": "pub mod inner;\npub struct Top;\nfn f() { inner::g() }",
        "a/inner.rs": "use crate::b;\npub struct Leaf;",
        "b.rs": "fn f(_: crate::Top) {}",
        "c.rs": "use super::b;\n#[cfg(test)]\nmod tests { use crate::a; }",
    }
    (tmp_path / "a").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    used = Crate(tmp_path).uses()
    assert (used[("a", "inner")], used[("c",)]) == ({("b",)}, {("b",)})
    assert circles(used) == [["a", "a::inner", "b"]]


def test_every_crate_takes_part_in_the_house_rules():
    """Edition, license and lints come from the workspace."""
    for folder, manifest in MANIFESTS.items():
        assert manifest.get("lints", {}).get("workspace") is True, folder
        assert manifest["package"]["license"] == {"workspace": True}, folder
