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


def play(lab, tls, version=1.1, command="sim", arguments=(), count=3):
    entry = {
        "name": "web",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 443},
        "app": {"http": {"path": "/tide", "version": version}},
        "tls": tls,
        "open": "100/s",
        "count": count,
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
    assert [row["unverified"] for row in of(done, "web")["client"]["tls"]] == [True]
    assert not any("unverified" in row for row in of(done, "web")["server"]["tls"])
    assert not any("'verify: nothing'" in note for note in play(lab, {"verify": "none"}).json["verdict"].get("notes", []))


@pytest.mark.parametrize("version", [1.1, 3], ids=["tcp", "quic"])
@pytest.mark.parametrize("group", ["x25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768"])
def test_a_key_share_serves_several_handshakes(lab, version, group):
    """As an analyser sees it: of seven handshakes three in a row have the same share, of the client only."""
    need("tshark")
    pcap = lab.folder() / "out.pcapng"
    tls = {"versions": [1.3], "groups": group, "verify": "nothing", "key_share": {"reuse": 3}}
    done = play(lab, tls, version, arguments=["--pcap", pcap], count=7)
    one = of(done, "web")
    assert one["client"]["completed"] == 7, one["client"]
    assert [row["key_share_reuse"] for row in one["client"]["tls"]] == [3]
    assert not any("key_share_reuse" in row for row in one["server"]["tls"])
    assert any("'key_share: {reuse: 3}'" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]
    field = "tls.handshake.extensions_key_share_key_exchange"
    clients, servers = (
        call("tshark", "-r", pcap, "-Y", f"tls.handshake.type == {kind}", "-T", "fields", "-e", field).split()
        for kind in (1, 2)
    )
    assert [len(clients), len(servers)] == [7, 7]
    # The first may have served before: settings are tried out when a run begins.
    counts = [Counter(clients)[share] for share in dict.fromkeys(clients)]
    assert len(counts) == 3 and counts[1] == 3 and max(counts) == 3, clients
    assert len(set(servers)) == 7, "a server has another each time"


def test_key_shares_are_of_clients_that_run_here(lab):
    entry = {"name": "web", "server": {"port": "east"}, "app": "http", "tls": {"key_share": {"reuse": 3}}}
    for text, sessions in (
        ("sessions[0].tls.key_share: applies to emulated clients only", entry),
        ("key_share.reuse", {**entry, "client": {"port": "west"}, "concurrent": 1, "tls": {"key_share": {"reuse": 1}}}),
        ("key_share.reuse", {**entry, "client": {"port": "west"}, "concurrent": 1, "tls": {"key_share": {"reuse": 1_000_001}}}),
    ):
        lab.eagre("check", lab.profile(pair(), None, sessions=[sessions], load={"duration": "1s"})).refused(2, text)


def test_a_server_writes_no_file_for_its_clients(lab):
    keys = lab.folder() / "keys.txt"
    tls = {"key_log": str(keys)}
    entry = {"name": "web", "client": {"port": "west"}, "server": {"port": "east"}, "app": "http", "tls": tls, "concurrent": 1}
    profile = lab.profile(pair(), None, sessions=[entry], load={"duration": "1s"})
    answer = Server(lab).ask("POST", "/api/v1/runs", {"profile": profile.read_text()})
    assert answer.status == 403 and "tls.key_log: a server writes no secrets to files" in answer.detail, answer
    assert not keys.exists()
