"""Files that commands write: a command that is refused or killed leaves earlier files as they were."""

import gzip
import json
import os
import signal
from pathlib import Path

import pytest
from lab import pair, stream, wait_until

EARLIER = "an earlier result\n"
# Options that name a file, by command; each command is refused below.
WRITERS = {
    "run": ["--json", "--jsonl", "--report", "--junit", "--ctrf", "--summary-md", "--out"],
    "sim": ["--json", "--jsonl", "--report", "--junit", "--ctrf", "--summary-md", "--out", "--pcap"],
    "bench": ["--json", "--report", "--junit", "--ctrf", "--summary-md"],
    "ci": ["--json", "--report", "--junit", "--ctrf", "--summary-md", "--baseline"],
}


def profile(lab, duration="300ms", **rest):
    ports = {name: {**port, "speed": "1Gbps"} for name, port in pair().items()}
    return lab.profile(ports, [stream("s", "west", "east", rate="1kpps")], load={"duration": duration, "drain": "50ms"}, **rest)


def content(folder):
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def earlier(lab, options):
    """A folder with an earlier file for each option."""
    folder, arguments = lab.folder(), []
    for option in options:
        path = folder / option.strip("-")
        if option == "--out":
            path.mkdir()
            for name in ("result.json", "intervals.jsonl", "profile.yaml"):
                (path / name).write_text(EARLIER)
        else:
            path.write_text(json.dumps({"schema": "eagre.baseline/1", "version": "", "profiles": {}}) if option == "--baseline" else EARLIER)
        arguments += [option, path]
    return folder, arguments


def command_of(lab, command, path):
    if command == "bench":
        return ["bench", "throughput", path, "--store", lab.folder() / "results.db"]
    return [command, path]


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize("why", ["profile", "machine"])
def test_a_refusal_touches_nothing(lab, command, why):
    """Neither a profile with a mistake nor a machine without 256 cores empties a file or leaves another."""
    folder, arguments = earlier(lab, WRITERS[command])
    before = content(folder)
    path = profile(lab, **({"bogus": 1} if why == "profile" else {}))
    more = ["--cores", 256] if why == "machine" and command != "sim" else ["--seed", "x"] if why == "machine" else []
    done = lab.eagre(*command_of(lab, command, path), *arguments, *more)
    assert done.exit in (2, 3), str(done)
    assert content(folder) == before


def test_a_refusal_leaves_no_folder(lab):
    out = lab.folder() / "out"
    lab.eagre("run", profile(lab), "--out", out, "--cores", 256).refused(3)
    assert not out.exists()


def test_a_bad_path_is_reported_before_traffic(lab):
    for option in WRITERS["run"]:
        done = lab.eagre("run", profile(lab, "60s"), option, "/proc/nowhere/file")
        assert done.exit == 2 and "/proc/nowhere" in done.err and done.seconds < 20, str(done)


@pytest.mark.parametrize("command", WRITERS)
def test_files_are_replaced_at_the_end(lab, command):
    """All of them, and nothing else is left beside them."""
    folder, arguments = earlier(lab, WRITERS[command])
    before = set(content(folder))
    quick = ["--quick", "--sim", "--trial", "10ms", "--sizes", "64B", "--set", "resolution=0.2"] if command == "bench" else []
    quick += ["--sim", "--update-baseline"] if command == "ci" else []
    done = lab.eagre(*command_of(lab, command, profile(lab)), *arguments, *quick)
    assert done.ended, str(done)
    after = content(folder) if command != "sim" else {str(p.relative_to(folder)): "" for p in folder.rglob("*") if p.is_file()}
    assert set(after) == before
    assert EARLIER not in after.values()


@pytest.mark.parametrize("command", WRITERS)
def test_no_output_replaces_the_profile(lab, command):
    """Refused before traffic, by whatever name the file is called."""
    path = profile(lab)
    text = path.read_text()
    link = path.parent / "link"
    link.symlink_to(path)
    for option in WRITERS[command]:
        if option not in ("--out", "--baseline"):
            done = lab.eagre(*command_of(lab, command, path), option, link if option == "--json" else path)
            done.refused(2, "is read by this command")
    assert path.read_text() == text and not list(path.parent.glob(".eagre-*"))


def test_no_output_replaces_a_capture_or_a_store(lab):
    folder = lab.folder()
    capture, store = folder / "sent.pcap", folder / "results.db"
    lab.eagre("sim", profile(lab, "10ms"), "--pcap", capture).ok()
    before = capture.read_bytes()
    replay = lab.profile(pair(), [{"name": "s", "from": "west", "to": "east", "replay": {"file": str(capture)}}])
    lab.eagre("sim", replay, "--pcap", capture).refused(2, "sent.pcap", "is read by this command")
    lab.eagre("replay", capture, "--port", "ring:a", "--to", "ring:b", "--json", capture).refused(2, "is read by this command")
    assert capture.read_bytes() == before
    lab.eagre("sim", profile(lab, "10ms"), "--out", folder / "out").ok()
    lab.eagre("results", "--store", store, "add", folder / "out").ok()
    before = store.read_bytes()
    for command in (["report", "latest"], ["export", "latest"], ["profile", "latest"]):
        lab.eagre("results", "--store", store, *command, "-o", store).refused(2, "is read by this command")
    method = ["bench", "mrr", profile(lab), "--sim", "--quick", "--trial", "10ms", "--sizes", "64B"]
    lab.eagre(*method, "--store", store, "--report", store).refused(2, "is read by this command")
    new = folder / "new.db"
    lab.eagre(*method, "--store", new, "--report", new).refused(2, "two outputs")
    assert store.read_bytes() == before and not new.exists()


def test_outputs_have_names_of_their_own(lab):
    """Devices may be named twice; a folder's profile is written again by a run of it."""
    folder = lab.folder()
    same = folder / "same"
    lab.eagre("sim", profile(lab, "10ms"), "--json", same, "--jsonl", folder / "." / "same").refused(2, "two outputs")
    lab.eagre("sim", profile(lab, "10ms"), "--report", "-", cwd=folder).refused(2, "'./-'")
    assert not list(folder.iterdir())
    lab.eagre("sim", profile(lab, "10ms"), "--json", "/dev/null", "--report", "/dev/null").ok()
    lab.eagre("sim", profile(lab, "10ms"), "--out", folder).ok()
    before = (folder / "profile.yaml").read_text()
    lab.eagre("sim", folder / "profile.yaml", "--out", folder).ok()
    assert (folder / "profile.yaml").read_text() == before


def test_a_full_disk_costs_one_file(lab):
    """The others are written."""
    folder, arguments = lab.folder(), []
    for option in ("--jsonl", "--report", "--junit", "--ctrf"):
        arguments += [option, folder / option.strip("-")]
    for full in ("--json", "--summary-md"):
        lab.eagre("sim", profile(lab, "10ms"), full, "/dev/full", *arguments).refused(3, "/dev/full")
        assert all(path.stat().st_size for path in folder.iterdir()) and len(list(folder.iterdir())) == 4
        [path.unlink() for path in folder.iterdir()]


def test_a_result_can_be_compressed(lab):
    """By its name: the same document in a fraction of the space, which the commands that read results read as well."""
    folder, many = lab.folder(), stream("s", "west", "east", rate="10pps", copies=2_000)
    path = lab.profile({name: {**port, "speed": "1Gbps"} for name, port in pair().items()}, [many], load={"duration": "1s", "drain": "50ms"})
    plain, packed = folder / "result.json", folder / "result.json.gz"
    for file in (plain, packed):
        lab.eagre("sim", path, "--seed", 1, "--json", file).ok()
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert len(json.loads(plain.read_bytes())["streams"]) == 2_000
    assert 5 * packed.stat().st_size < plain.stat().st_size
    assert lab.eagre("explain", packed).ok().out == lab.eagre("explain", plain).ok().out
    packed.write_bytes(packed.read_bytes()[:1_000])
    lab.eagre("explain", packed).refused(2, "result.json.gz")
    full = folder / "full.json.gz"
    full.symlink_to("/dev/full")
    for file in ("/dev/full", full):
        lab.eagre("sim", path, "--json", file).refused(3, str(file))
    table = folder / "table.json.gz"
    lab.eagre("ci", path, "--sim", "--json", table).ok()
    assert json.loads(gzip.decompress(table.read_bytes()))


def test_a_folder_may_have_its_result_compressed(lab):
    """By its own tool, after the run."""
    folder, store = lab.folder(), lab.folder() / "store.db"
    path = lab.profile(pair(), [stream("s", "west", "east", rate="10pps")], load={"duration": "1s", "drain": "50ms"})
    lab.eagre("sim", path, "--seed", 1, "--out", folder).ok()
    plain, packed = folder / "result.json", folder / "result.json.gz"
    said = lab.eagre("explain", folder).ok().out
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert lab.eagre("explain", folder).ok().out == said
    added = lab.eagre("results", "--store", store, "add", folder).ok().out.strip()
    assert added in lab.eagre("results", "--store", store, "list").ok().out
    page = folder / "page.html"
    lab.eagre("results", "report", "--run", folder, "--output", page).ok()
    assert page.read_text().startswith("<!")
    packed.unlink()
    lab.eagre("results", "--store", store, "add", folder).refused(2, str(plain))


def test_a_killed_run_destroys_nothing(lab):
    """Only the file of intervals can be followed; the earlier one is beside it."""
    folder, arguments = earlier(lab, WRITERS["run"])
    before = content(folder)
    process = lab.start_eagre("run", profile(lab, "60s"), *arguments, "--interval", "50ms")
    lines = folder / "jsonl"
    wait_until(lambda: EARLIER not in lines.read_text() and lines.read_text().count("\n") >= 2, "intervals")
    process.send_signal(signal.SIGKILL)
    process.wait()
    after = content(folder)
    assert after["jsonl.old"] == EARLIER
    assert {name: text for name, text in after.items() if name in before and name != "jsonl"} == {
        name: text for name, text in before.items() if name != "jsonl"
    }
    # The next run does not take the rest of this one for the earlier file.
    lab.eagre("run", profile(lab), "--jsonl", lines).ok()
    assert (folder / "jsonl.old").read_text() == EARLIER and "streams" in lines.read_text()


def test_intervals_can_be_followed(lab):
    folder = lab.folder()
    lines = folder / "lines.jsonl"
    process = lab.start_eagre("run", profile(lab, "60s"), "--jsonl", lines, "--interval", "50ms")
    wait_until(lambda: lines.exists() and lines.read_text().count("\n") >= 3, "intervals")
    process.send_signal(signal.SIGINT)
    lab.finish(process)
    assert [path.name for path in folder.iterdir()] == ["lines.jsonl"]


def test_a_capture_is_replaced_by_its_first_packets(lab):
    """A refused capture touches nothing; one that is killed leaves the earlier file beside the new one."""
    folder = lab.folder()
    file = folder / "c.pcapng"
    file.write_text(EARLIER)
    lab.eagre("capture", "--port", "ring:a", "--file", file, "--cores", 256).refused(3)
    lab.eagre("capture", "--port", "nosuchport0", "--file", file)
    assert content(folder) == {"c.pcapng": EARLIER}
    ports = pair()
    ports["east"]["capture"] = {"file": str(file)}
    path = lab.profile(ports, [stream("s", "west", "east", rate="1kpps")], load={"duration": "60s"})
    process = lab.start_eagre("run", path)
    wait_until(lambda: file.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a", "packets")
    assert (folder / "c.pcapng.old").read_text() == EARLIER
    process.send_signal(signal.SIGINT)
    lab.finish(process)
    assert [entry.name for entry in folder.iterdir()] == ["c.pcapng"]


def test_links_modes_and_devices_are_kept(lab):
    folder = lab.folder()
    target, link = folder / "target.json", folder / "link.json"
    target.write_text(EARLIER)
    target.chmod(0o640)
    link.symlink_to("target.json")
    lab.eagre("sim", profile(lab), "--json", link).ok()
    assert link.is_symlink() and json.loads(target.read_text())["streams"] and target.stat().st_mode & 0o777 == 0o640
    lab.eagre("sim", profile(lab), "--json", "/dev/null").ok()
    assert Path("/dev/null").is_char_device()
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    process = lab.start_eagre("sim", profile(lab), "--json", fifo)
    assert json.loads(fifo.read_text())["streams"]
    assert lab.finish(process).exit == 0


@pytest.mark.parametrize("what", ["report", "export"])
def test_stored_results_are_written_whole(lab, what):
    folder, store = lab.folder(), lab.folder() / "results.db"
    output = folder / "file"
    output.write_text(EARLIER)
    words = ["--output", output, "--store", store]
    assert lab.eagre("results", what, "nothing", *words).exit in (2, 3)
    assert content(folder) == {"file": EARLIER}
    run = lab.folder() / "run"
    lab.eagre("sim", profile(lab), "--out", run).ok()
    lab.eagre("results", "add", run, "--store", store).ok()
    lab.eagre("results", what, "latest", *words).ok()
    assert list(content(folder)) == ["file"] and EARLIER not in output.read_text()
