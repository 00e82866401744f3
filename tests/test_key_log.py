"""Secrets of sessions' connections in a file: an analyser decrypts with it what a capture has."""

from collections import Counter

import pytest
from lab import call, need, pair
from server import Server
from sessions import of

OF_13 = {
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_TRAFFIC_SECRET_0",
    "EXPORTER_SECRET",
    "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "SERVER_TRAFFIC_SECRET_0",
}


def play(lab, tls, version=1.1, command="sim", arguments=()):
    entry = {
        "name": "web",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 443},
        "app": {"http": {"path": "/tide", "version": version}},
        "tls": tls,
        "open": "100/s",
        "count": 3,
    }
    load = {"duration": "5s", "drain": "300ms"}
    profile = lab.profile(pair(), None, sessions=[entry], load=load)
    return lab.eagre(command, profile, "--json", "-", *arguments)


@pytest.mark.parametrize(
    ("version", "versions", "labels", "field"),
    [
        (1.1, "1.2", {"CLIENT_RANDOM"}, "http.request.uri"),
        (1.1, "1.3", OF_13, "http.request.uri"),
        (3, "1.3", OF_13, "quic.stream_data"),
    ],
    ids=["tls-1.2", "tls-1.3", "http3"],
)
def test_an_analyser_decrypts_with_the_secrets(lab, version, versions, labels, field):
    need("tshark")
    keys, pcap = lab.folder() / "keys.txt", lab.folder() / "out.pcapng"
    tls = {"versions": [versions], "key_log": str(keys)}
    done = play(lab, tls, version, arguments=["--pcap", pcap])
    assert of(done, "web")["client"]["completed"] == 3
    assert keys.stat().st_mode & 0o777 == 0o600
    lines = keys.read_text().splitlines()
    assert Counter(line.split()[0] for line in lines) == dict.fromkeys(labels, 3)
    note = f"{len(lines)} secrets of encrypted connections were appended to {keys}"
    assert any(note in text for text in done.json["verdict"]["notes"]), done.json["verdict"]
    read = ("tshark", "-r", pcap, "-Y", field, "-T", "fields", "-e", field)
    assert call(*read).split() == [], "without secrets nothing can be read"
    found = call(*read, "-o", f"tls.keylog_file:{keys}").split()
    assert found.count("/tide") == 3 if version != 3 else len(found) >= 6, found


def test_a_file_is_appended_to(lab):
    keys = lab.folder() / "keys.txt"
    keys.write_text("# of another program\n")
    play(lab, {"key_log": str(keys)}, command="run").ok()
    lines = keys.read_text().splitlines()
    assert lines[0] == "# of another program" and len(lines) == 1 + 3 * len(OF_13)


def test_a_file_that_can_not_be_written(lab):
    play(lab, {"key_log": "/nonexistent/keys.txt"}).refused(2, "key_log: /nonexistent/keys.txt: No such file")
    notes = play(lab, {"key_log": "/dev/full"}, command="run").ok().json["verdict"]["notes"]
    assert any("/dev/full lacks 15 secrets: No space left on device" in note for note in notes), notes


def test_a_client_that_verifies_nothing_is_named(lab):
    done = play(lab, {"verify": "nothing"})
    assert of(done, "web")["client"]["completed"] == 3
    assert any("'verify: nothing'" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]
    assert not any("'verify: nothing'" in note for note in play(lab, {"verify": "none"}).json["verdict"].get("notes", []))


def test_a_server_writes_no_file_for_its_clients(lab):
    keys = lab.folder() / "keys.txt"
    tls = {"key_log": str(keys)}
    entry = {"name": "web", "client": {"port": "west"}, "server": {"port": "east"}, "app": "http", "tls": tls, "concurrent": 1}
    profile = lab.profile(pair(), None, sessions=[entry], load={"duration": "1s"})
    answer = Server(lab).ask("POST", "/api/v1/runs", {"profile": profile.read_text()})
    assert answer.status == 403 and "tls.key_log: a server writes no secrets to files" in answer.detail, answer
    assert not keys.exists()
