"""Everything against a real server, over the in-process link. Needs the program `eagre`."""

import asyncio
import os
import re
import shutil
import time

import pytest

import eagre
from eagre import calls

if not (os.environ.get("EAGRE") or shutil.which("eagre")):
    pytest.skip("needs the program eagre", allow_module_level=True)


def profile(*, rate="20kpps", duration="1s", speed=None, **stream):
    return eagre.Profile(
        ports={
            "west": eagre.Port(device="ring:a", ip="10.0.0.1/24", speed=speed),
            "east": eagre.Port(device="ring:b", ip="10.0.0.2/24", speed=speed),
        },
        streams=[eagre.Stream(name="a", from_="west", to="east", packet=["ipv4", "udp"], size="64B", rate=rate, **stream)],
        load=eagre.Load(duration=duration, drain="50ms"),
    )


def test_the_server_says_what_it_is(eagre_client):
    assert eagre_client.version().api == "1"
    assert eagre_client.whoami().role == "admin"
    assert {check.status for check in eagre_client.doctor()} <= {"good", "note", "warning", "bad"}
    ports = {port.name: port for port in eagre_client.ports()}
    assert ports["ring:a"].kind == "in-process"
    assert ports["ring:a"].lease is None


def test_every_call_of_the_api_is_there(eagre_client):
    described = {
        (method.upper(), re.sub(r"{\w+}", "{}", path))
        for path, methods in eagre_client.openapi()["paths"].items()
        for method in methods
        if path.startswith("/api/v1/")
    }
    arguments = {
        "new_lease": (["p"],), "check": ("x",), "put_profile": ("{}", "x"), "set_rate": ("{}", "r"), "set_scale": ("{}", 1),
        "add_streams": ("{}", "x"), "remove_streams": ("{}",),
        "ping": ("{}", "p", "x"), "change_protocols": ("{}", "up"),
        "new_campaign": ("m",), "compare": ("a", "b"), "compare_report": ("a", "b"), "capture_path": ("{}", "{}"),
        "new_script": ("x", ["p"]), "script_file": ("{}", "{}"),
        **dict.fromkeys(("version", "openapi", "whoami", "doctor", "audit", "ports", "leases", "profiles", "runs"), ()),
        **dict.fromkeys(("new_run", "kinds", "methods", "campaigns", "results", "scripts"), ()),
    }  # fmt: skip
    one_id = (
        "renew_lease", "release_lease", "profile", "delete_profile", "run_info", "delete_run", "stop_run", "snapshot",
        "clear_counters", "protocols", "run_result", "run_events_path", "campaign_info", "stop_campaign", "campaign_result",
        "stored", "campaign_events_path", "delete_result", "report", "export", "script_info", "stop_script", "delete_script",
        "script_result",
    )  # fmt: skip
    ours = set()
    for name, given in (arguments | dict.fromkeys(one_id, ("{}",))).items():
        call = getattr(calls, name)(*given)
        method, path = ("GET", call) if isinstance(call, str) else (call.method, call.path)
        ours.add((method, path.replace("%7B%7D", "{}")))
    assert described - ours == set()
    assert ours - described == {("GET", "/api/v1/openapi.json")} - described


def test_a_run_has_a_result(eagre_client):
    result = eagre_client.run(profile(count=1000), keep=False)
    assert (result.streams["a"].tx, result.streams["a"].rx, result.streams["a"].lost) == (1000, 1000, 0)
    assert result.streams["a"].latency_ns.samples == 1000
    assert result.ports["east"].rx_packets >= 1000
    assert result.verdict.valid == result.valid


def test_what_is_given_beside_a_profile_is_in_its_place(eagre_client):
    run = eagre_client.start(profile(), rate="1kpps", duration_s=0.3, seed=7, name="small", keep=False)
    assert run.wait(timeout_s=20).state == "done"
    result = run.result()
    assert run.info.name == "small"
    assert (run.info.duration_s, result.typed.seed, run.info.seed) == (0.3, 7, 7)
    assert result.streams["a"].requested_pps == 1000


def test_a_run_is_watched_while_it_goes_on(eagre_client):
    run = eagre_client.start(profile(), keep=False)
    looks = list(run)
    assert len(looks) >= 4
    times = [look.at_s for look in looks]
    sent = [look.total.streams["a"].tx for look in looks]
    assert times == sorted(times)
    assert sent == sorted(sent)
    assert sent[0] < sent[-1]
    assert run.info.state == "done"
    assert run.info.verdict == run.result().verdict
    assert sent[-1] <= run.result().streams["a"].tx
    rows = run.result().rows("intervals")
    assert {(row["kind"], row["name"]) for row in rows} == {("port", "west"), ("port", "east"), ("stream", "a")}


def test_a_snapshot_can_be_asked_for_at_any_time(eagre_client):
    with eagre_client.start(profile(duration="20s"), keep=False) as run:
        assert eagre_client.snapshot(run.id).id == run.id
        assert eagre_client.run_of(run.id).info.names.streams == ["a"]
    assert run.info.state == "stopped"
    assert run.result().typed.interrupted


def test_a_rate_change_is_seen_in_the_rates(eagre_client):
    def comes(looks, low, high):
        """Waits for half a second at this rate: a busy machine may need several."""
        seen, end = [next(looks)], time.monotonic() + 10
        while time.monotonic() < end:
            seen.append(next(looks))
            first = max(
                (look for look in seen if look.at_s <= seen[-1].at_s - 0.5), key=lambda look: look.at_s, default=None
            )
            if first and low <= (seen[-1].streams.tx[0] - first.streams.tx[0]) / (seen[-1].at_s - first.at_s) <= high:
                return True
        return False

    with eagre_client.start(profile(rate="5kpps", duration="60s"), keep=False) as run:
        looks = run.live(every_s=0.1)
        assert comes(looks, 4_500, 5_500)
        run.rate("20kpps", stream="a")
        assert comes(looks, 18_000, 22_000)
        run.scale(0.5)
        assert comes(looks, 2_250, 11_000)
        run.pause()
        assert comes(looks, 0, 0)
        run.resume()
        assert comes(looks, 4_500, 22_000)
        assert len(run.refresh().rate_changes) == 4
        looks.close()


def test_streams_join_and_leave_a_run(eagre_client):
    with eagre_client.start(profile(duration="60s"), keep=False) as run:
        more = profile(duration="60s").document()
        more["streams"][0]["name"] = "b"
        assert run.add_streams(more).names.streams == ["a", "b"]
        with pytest.raises(eagre.Problem, match="'b' already"):
            run.add_streams(more)
        time.sleep(0.5)
        with pytest.raises(eagre.Problem, match="at least one name"):
            run.remove_streams([])
        run.remove_streams(["b"])
        time.sleep(0.2)
    rows = run.result().typed.streams
    assert rows["b"].added_s < rows["b"].removed_s
    assert rows["b"].tx > 0 and rows["b"].lost == 0 and rows["a"].lost == 0
    assert rows["a"].added_s is None


def test_a_port_pings_while_traffic_is_sent(eagre_client):
    with eagre_client.start(profile(duration="20s"), keep=False) as run:
        pinged = run.ping("west", "10.0.0.2")
        assert (pinged.answered, pinged.from_, pinged.via, pinged.reason) == (True, "10.0.0.1", "10.0.0.2", None)
        assert pinged.rtt_ns > 0
        nobody = run.ping("east", "10.0.0.9", attempts=1, timeout_s=0.1)
        assert (nobody.answered, nobody.rtt_ns, nobody.sent) == (False, None, 0)
        assert nobody.reason == "10.0.0.9 did not reply to ARP within 0.1 s"


def test_changes_that_make_no_sense_are_refused(eagre_client):
    with eagre_client.start(profile(duration="20s"), keep=False) as run:
        with pytest.raises(eagre.Problem) as caught:
            run.rate("2 apples")
        assert 400 <= caught.value.status < 500
        with pytest.raises(eagre.Problem, match="no stream 'zebra'"):
            run.rate("1kpps", stream="zebra")
    with pytest.raises(eagre.Problem) as caught:
        run.rate("1kpps")
    assert caught.value.status == 409


def test_a_capture_is_read_by_scapy_while_it_grows(eagre_client, tmp_path):
    scapy = pytest.importorskip("scapy.all")
    captured = profile(rate="1kpps", duration="2s", measure=False)
    captured.ports["east"].capture = eagre.Capture(file="east.pcapng")
    packet = scapy.Ether() / scapy.IP(tos=0xB8) / scapy.UDP(sport=4000, dport=5000) / (b"hello, eagre" * 4)
    captured.streams[0].packet, captured.streams[0].size = eagre.from_scapy(packet), None
    run = eagre_client.start(captured, keep=False)
    pieces = run.capture("east")
    assert next(pieces).startswith(b"\n\r\r\n")
    assert not run.refresh().has_ended, "the first piece came at the end only"
    assert sum(map(len, pieces)) > 10_000
    file = run.save_capture("east", tmp_path / "east.pcapng")
    seen = scapy.rdpcap(str(file))
    result = run.result()
    assert len(seen) == result.captures["east"].captured == result.streams["a"].tx
    assert all(one[scapy.UDP].dport == 5000 and one[scapy.IP].tos == 0xB8 for one in seen)
    assert all(bytes(one[scapy.UDP].payload) == b"hello, eagre" * 4 for one in seen)
    again = scapy.Ether(bytes(seen[0]))
    del again[scapy.IP].chksum, again[scapy.UDP].chksum
    assert bytes(again) == bytes(seen[0]), "Scapy computes other checksums"
    with pytest.raises(eagre.Problem, match="this run has no capture on port 'west'"):
        run.save_capture("west", tmp_path / "west.pcapng")


def test_every_byte_of_a_raw_template_is_sent(eagre_client, tmp_path):
    scapy = pytest.importorskip("scapy.all")
    macs = {"src": "02:00:00:00:00:0a", "dst": "02:00:00:00:00:0b"}
    packets = {
        "dns": scapy.Ether(**macs) / scapy.IP(src="10.0.0.1", dst="10.0.0.2", chksum=1) / scapy.UDP() / scapy.DNS(),
        "odd": scapy.Ether(**macs, type=0x22F0) / scapy.Raw(bytes(range(64))),
    }
    for raw in (True, False):
        wanted = profile(measure=False)
        wanted.streams = [
            eagre.Stream(
                name=name,
                from_="west",
                to="east",
                packet=eagre.from_scapy(packet, raw=raw),
                rate="1kpps",
                count=3,
                measure=False,
            )
            for name, packet in packets.items()
        ]
        wanted.ports["east"].capture = eagre.Capture(file="east.pcapng")
        with eagre_client.start(wanted, keep=False) as run:
            file = run.save_capture("east", tmp_path / "east.pcapng")
        seen = [bytes(one) for one in scapy.rdpcap(str(file))]
        for packet in packets.values():
            sent = bytes(packet)
            assert seen.count(sent + bytes(max(0, 60 - len(sent)))) == 3, (packet, raw)


def test_leased_ports_are_refused_to_others(eagre_server, eagre_client):
    with eagre_server.client() as second, eagre_client.lease("ring:a", "ring:b", ttl_s=2, holder="night run") as lease:
        with pytest.raises(eagre.Problem, match="night run") as caught, second.lease("ring:b"):
            pass
        assert caught.value.status == 409
        with pytest.raises(eagre.Problem) as caught:
            second.start(profile())
        assert caught.value.status == 409
        assert eagre_client.run(profile(count=10), lease=lease, keep=False).streams["a"].tx == 10
        time.sleep(2.5)
        (held,) = [port.lease for port in second.ports() if port.name == "ring:a"]
        assert "night run" in held.holder, "the lease was not renewed"
    assert eagre_client.leases() == []
    assert eagre_client.run(profile(count=10), keep=False).streams["a"].tx == 10


def test_a_lease_that_somebody_ended_is_told(eagre_client):
    with pytest.raises(eagre.Lost), eagre_client.lease("ring:a", ttl_s=1) as lease:
        eagre_client.release_lease(lease.id)
        end = time.monotonic() + 5
        while lease.lost is None and time.monotonic() < end:
            time.sleep(0.02)


def test_errors_have_their_places(eagre_client):
    ports = 'ports:\n  west: {device: "ring:a"}\n  east: {device: "ring:b", speeed: 1Gbps}\n'
    text = ports + "streams:\n  - {name: a, from: north}\n"
    check = eagre_client.check(text)
    assert not check.good
    places = {place.path: place for place in check.errors}
    assert places["ports.east.speeed"].line == 3
    with pytest.raises(eagre.Problem) as caught:
        eagre_client.start(text)
    assert caught.value.status == 422
    assert {place.path for place in caught.value.errors} == set(places)
    with pytest.raises(eagre.Problem) as caught:
        eagre_client.start(
            {"ports": {"west": {"device": "ring:a"}}, "streams": [{"name": "a", "from": "west", "rate": "fast"}]}
        )
    assert "streams[0].rate" in [place.path for place in caught.value.errors]
    with pytest.raises(eagre.Problem) as caught:
        eagre_client.run_info("20000101-000000-000000")
    assert caught.value.status == 404


def test_profiles_are_kept(eagre_client, tmp_path):
    assert eagre_client.check(profile()).good
    file = tmp_path / "mine.yaml"
    file.write_text("# Mine\n" + 'ports: {w: {device: "ring:a"}, e: {device: "ring:b"}}\nstreams: []\n')
    assert eagre_client.put_profile("mine", file).profile.startswith("# Mine")
    entries = {entry.name: entry for entry in eagre_client.profiles()}
    assert not entries["mine"].built_in
    assert entries["demo"].built_in
    assert eagre_client.profile("demo").profile.count("ring:") == 2
    result = eagre_client.run(profile_name="demo", duration_s=0.2, rate="1kpps", keep=False)
    assert {"west-ipv4", "east-ipv6"} <= set(result.streams)
    eagre_client.delete_profile("mine")
    assert "mine" not in {entry.name for entry in eagre_client.profiles()}


@pytest.fixture(scope="module")
def kept(eagre_server):
    """Two runs in the store."""
    with eagre_server.client() as client:
        found = []
        for rate in ("1kpps", "2kpps"):
            run = client.start(profile(duration="300ms", rate=rate), name="kept", tags=["dut=none", rate])
            found.append(run.wait(20).id)
        return found


def test_results_are_kept(eagre_client, kept):
    found = eagre_client.results(tag="dut=none", name="kept")
    assert [entry.id for entry in found] == kept[::-1]
    assert len(eagre_client.results(limit=1)) == 1
    stored = eagre_client.stored(kept[0])
    assert (stored.id, stored.campaign["state"]) == (kept[0], "done")
    (trial,) = stored.trials
    assert trial.streams["a"].tx == stored.rows("trials")[0]["tx"] > 0
    assert eagre_client.export(kept[0]).splitlines()[0].startswith("campaign,")


def test_reports_and_comparisons(eagre_client, kept, tmp_path):
    page = eagre_client.save_report(kept[0], tmp_path / "report.html").read_text()
    assert kept[0] in page
    assert "<html" in page
    assert [campaign.id for campaign in eagre_client.compare(*kept).campaigns] == kept
    assert "<html" in eagre_client.compare_report(*kept)


def test_results_are_deleted(eagre_client):
    run = eagre_client.start(profile(count=1), tags=["gone"])
    run.wait(20)
    eagre_client.delete_result(run.id)
    assert eagre_client.results(tag="gone") == []
    eagre_client.delete_run(run.id)
    assert run.id not in {other.id for other in eagre_client.runs()}
    assert any(run.id in entry.what for entry in eagre_client.audit())


def test_a_campaign_gives_its_points(eagre_client):
    assert "throughput" in {method.name for method in eagre_client.methods()}
    with eagre_client.start_campaign(
        "throughput",
        profile(rate=None, speed="10Mbps"),
        quick=True,
        trial_s=0.1,
        sizes=["512B"],
        set={"resolution": "0.2"},
        seed=3,
    ) as campaign:
        points = list(campaign)
        result = campaign.result()
    assert points
    assert {point.frame for point in points} == {"512B"}
    assert campaign.info.state == "done"
    assert (campaign.info.fraction, campaign.info.trials_done) == (1.0, len(points))
    assert campaign.info.found
    assert "throughput" in {finding["goal"] for finding in result.findings}
    assert len(result.trials) == len(points)
    assert eagre_client.campaign_result(campaign.id).results[0].summary == campaign.info.found
    assert result.rows()[0]["frame"] == "512B"
    assert eagre_client.campaign_of(campaign.id).info.points == points


def test_a_campaign_that_is_left_is_stopped(eagre_client):
    with eagre_client.start_campaign("throughput", profile(rate=None, speed="10Mbps"), sizes=["64B"]) as campaign:
        assert campaign.info.state in ("starting", "running")
    assert campaign.info.state == "stopped"
    assert "stopped by local" in campaign.info.reason


def test_the_same_is_awaited(eagre_server):
    async def everything():
        async with eagre.AsyncClient(eagre_server.url) as client, client.lease("ring:a", "ring:b") as lease:
            ports, version = await asyncio.gather(client.ports(), client.version())
            assert version.api == "1"
            assert all(port.lease for port in ports if port.name in ("ring:a", "ring:b"))
            with pytest.raises(eagre.Problem, match="409"):
                await client.start(profile())
            async with await client.start(profile(duration="60s"), lease=lease, keep=False) as run:
                seen = 0
                async for look in run.snapshots(every_s=0.05):
                    seen += 1
                    if look.total.streams["a"].tx > 1000:
                        break
                await run.rate("1kpps")
            assert run.info.state == "stopped"
            result = await run.result()
            assert result.streams["a"].tx > 1000
            whole = await client.run(profile(count=5), lease=lease, keep=False)
            assert whole.streams["a"].rx == 5
            campaign = await client.start_campaign(
                "mrr", profile(rate=None, speed="10Mbps"), lease=lease, quick=True, trial_s=0.1, sizes=["64B"]
            )
            points = [point async for point in campaign]
            # Disturbed trials are run again.
            assert len(points) == len((await campaign.result()).trials) >= 3
        async with eagre.AsyncClient(eagre_server.url) as client:
            assert await client.leases() == []

    asyncio.run(asyncio.wait_for(everything(), 60))


def test_who_may_do_what(tmp_path):
    tokens = tmp_path / "tokens.yaml"
    names = {"looker": "watch", "runner": "run", "boss": "admin"}
    words = {name: f"{name}-token-that-nobody-guesses-0123456789" for name in names}
    tokens.write_text("".join(f"- {{name: {name}, role: {role}, token: {words[name]}}}\n" for name, role in names.items()))
    tokens.chmod(0o600)
    with eagre.Server(arguments=["--tokens", str(tokens)], token=words["boss"]) as server:
        with server.client(token=None) as nobody, pytest.raises(eagre.Problem) as caught:
            nobody.version()
        assert caught.value.status == 401
        with server.client(token=words["looker"]) as looker, server.client(token=words["runner"]) as runner:
            assert (looker.whoami().name, runner.whoami().role) == ("looker", "run")
            with pytest.raises(eagre.Problem) as caught:
                looker.start(profile())
            assert caught.value.status == 403
            run = runner.start(profile(duration="60s"))
            assert looker.run_info(run.id).holder == "runner"
            with server.client() as boss:
                boss.stop_run(run.id)
                assert runner.run_of(run.id).wait(20).state == "stopped"
                assert {entry.who for entry in boss.audit()} >= {"looker", "runner", "boss"}


def test_a_server_of_ones_own_ends_with_its_with(tmp_path):
    with eagre.serve() as client:
        url = client.url
        assert client.runs() == []
    with pytest.raises(Exception, match=r"[Cc]onnect"):
        eagre.Client(url).version()
    with pytest.raises(eagre.ServeError, match="nonsense"), eagre.Server(arguments=["--nonsense"]):
        pass
    with pytest.raises(eagre.ServeError, match="no such file"):
        os.environ["EAGRE"], was = str(tmp_path / "eagre"), os.environ.get("EAGRE")
        try:
            eagre.Server()
        finally:
            os.environ.pop("EAGRE")
            if was is not None:
                os.environ["EAGRE"] = was
