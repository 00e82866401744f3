"""What the README and docs/ tell people to type works.

Each ```sh block has a comment before it. <!-- test -->: each command is run as it is, and must begin with
./target/release/eagre. <!-- test: router -->: the same in a namespace whose veth0 and veth1 lead to a router.
<!-- test: trex -->: the same with a Python that has Scapy.
<!-- test: root -->: the block is one script, run by root where the namespaces it makes are nobody else's.
<!-- test: skip WHY -->: not run; targets of make must exist. A block without such a comment fails.
"""

import re
import shlex
import time
from collections import Counter

import pytest
import trex
from lab import CANNOT_JUDGE, EAGRE, REPO, need

PAGES = sorted(
    page for page in [REPO / "README.md", *(REPO / "docs").rglob("*.md"), REPO / "examples/README.md"] if page.is_file()
)
LINKED = sorted({*PAGES, *REPO.glob("*.md"), REPO / "clients/python/README.md"})
FENCE = re.compile(r"^(?P<before>[^\n]*)\n+```(?P<language>\w*)[^\n]*\n(?P<text>.*?)\n```", re.DOTALL | re.MULTILINE)
MARKER = re.compile(r"<!-- test(?:: *(?P<how>\w+) *(?P<why>.*?))? *-->$")
PROGRAM = "./target/release/eagre"
# It searches for limits close to those of the tester, for half a minute.
SEARCHES = re.compile(rf"{PROGRAM} bench nat ")


def blocks():
    """Each block of shell commands: where it is, how to test it, its text."""
    for page in PAGES:
        text = "\n" + page.read_text()
        for found in FENCE.finditer(text):
            if found["language"] in ("sh", "bash", "shell", "console"):
                line = text.count("\n", 0, found.start("text"))
                marker, script = found["before"].strip(), found["text"]
                marks = [pytest.mark.quiet] if SEARCHES.search(script) else []
                yield pytest.param(marker, script, id=f"{page.relative_to(REPO)}:{line}", marks=marks)


def commands(text):
    """Lines of a block, continued ones joined, without comments."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    return [line for line in (re.sub(r"(^|\s)#.*$", "", line).strip() for line in joined.splitlines()) if line]


def targets():
    return set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))


@pytest.fixture
def clone(lab):
    """A folder that looks like the repository, so that what a command writes is not left there."""
    folder = lab.folder()
    for name in ("examples", "docs", "clients", "tests", "README.md", "Makefile"):
        if (REPO / name).exists():
            (folder / name).symlink_to(REPO / name)
    (folder / "target/release").mkdir(parents=True)
    (folder / "target/release/eagre").symlink_to(EAGRE)
    return folder


# A script has a network of its own, unless it fetches something. Namespaces have their names in a folder, and labs their state; in a mount namespace of its
# own they can be other ones. What a script leaves running ends with it.
APART = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
BASH = ["bash", "-euo", "pipefail", "-c"]
# All of /run: a folder there that somebody removes outside would take with it what is mounted on it in here.
OWN_NAMES = "mount -t tmpfs none /run; mkdir /run/netns /run/eagre\n"
OWN_NETWORK = "mount -t sysfs none /sys; ip link set lo up\n"


# A verdict that another process took the tester's core says nothing about the page.
DISTURBED = re.compile(r"worker \d+ (stalled|waited .* for its core)|tester was disturbed")
# The kernel takes its time to remove the links of a block that has ended.
STILL_THERE = "RTNETLINK answers: File exists"
# A device may be as fast as the tester of this machine, which then can't judge all of it; nor can one that others keep from its core. What
# follows is to work all the same, and nothing may end in another way.
LIMITED, GO_ON = "the tester limited the throughput", f"set +e; trap '[ $? = {CANNOT_JUDGE} ] || exit' ERR\n"


def shell(lab, script, folder, namespace=None, apart=False, **env):
    """Runs what people are told to type; again if the tester was disturbed, then with outcomes that can't be judged."""
    command = [*BASH, script]
    if apart and "pip install" in script:
        command = [*APART, *BASH, OWN_NAMES + script]
    elif apart:
        command = ["unshare", "--net", *APART, *BASH, OWN_NAMES + OWN_NETWORK + script]
    for left in reversed(range(4)):
        process = lab.start(*command, ns=namespace, cwd=folder, env={"HOME": str(folder), **env})
        done = lab.finish(process, timeout=180)
        disturbed = DISTURBED.search(done.out + done.err)
        if done.exit in (0, CANNOT_JUDGE) or not left or not (STILL_THERE in done.err or disturbed):
            break
        time.sleep(0.5)
    if done.exit == CANNOT_JUDGE and (disturbed or LIMITED in done.out + done.err) and GO_ON not in script:
        return shell(lab, f"{GO_ON}{script}\n:", folder, namespace, apart, **env)
    assert done.exit == 0, str(done)


def test_there_is_a_readme():
    """With commands in it."""
    assert (REPO / "README.md").is_file(), "there is no README.md"
    assert list(blocks())


@pytest.mark.unsteady("devices in the examples drop frames while something else has their core")
@pytest.mark.parametrize("marker, text", blocks())
def test_what_people_are_told_to_type_works(lab, clone, marker, text):
    """Every block is either run or says why not."""
    found = MARKER.match(marker)
    assert found, f"no <!-- test --> before this block, but: {marker!r}"
    how = found["how"]
    assert how in (None, "root", "router", "skip", "trex"), f"'{how}' is no way to test a block"
    if how == "skip":
        assert found["why"], "say why: <!-- test: skip WHY -->"
        made = [shlex.split(command)[1] for command in commands(text) if command.startswith("make ")]
        assert set(made) <= targets()
    elif how == "root":
        need("ip", "unshare")
        shell(lab, text, clone, apart=True)
    else:
        namespace = lab.router().tester if how == "router" else None
        env = {"EAGRE_PYTHON": str(trex.interpreter())} if how == "trex" else {}
        for command in commands(text):
            assert command.startswith(PROGRAM), f"can't be run here, mark the block with 'root' or 'skip': {command}"
            shell(lab, command, clone, namespace, **env)


def anchors(page):
    """The anchors GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    seen = Counter()
    for heading in re.findall(r"^#+ +(.*?) *#*$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        yield f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor
        seen[anchor] += 1


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(REPO)))
def test_links_lead_somewhere(page):
    """Files that a page links to exist, and so do the headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"no such heading: {target}"


def test_every_page_is_linked_from_the_readme():
    """A reader finds each page of docs/ from the front page."""
    linked = re.findall(r"\]\((docs/[^)#]+\.md)", (REPO / "README.md").read_text())
    assert set(linked) == {str(page.relative_to(REPO)) for page in (REPO / "docs").rglob("*.md")}


def test_every_page_is_in_the_sites_summary():
    """`make docs` makes the site of these pages; a page that is missing there would be linked and not be there."""
    listed = re.findall(r"\]\((.+?)\)$", (REPO / "packaging/site/SUMMARY.md").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed)) and all((REPO / page).is_file() for page in listed)
    assert {str(page.relative_to(REPO)) for page in (REPO / "docs").rglob("*.md")} <= set(listed)


def test_commands_are_found_in_a_block():
    """What the tests above rest on."""
    assert commands("# first\n./a b \\\n   c  # why\n\nmake test\n") == ["./a b c", "make test"]
    assert MARKER.match("<!-- test: skip takes an hour -->")["why"] == "takes an hour"
    assert MARKER.match("<!-- test -->")["how"] is None
