"""Requests on the wire and the reading of responses; the server is a function here."""

import asyncio
import json
import time

import httpx
import pytest
from documents import CAMPAIGN, LEASE, LIVE, RESULT, RUN, SNAPSHOT, point

import eagre
from eagre import calls, events


class Wire:
    """A server with prepared responses that records its requests."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    @property
    def bodies(self):
        return [json.loads(request.content or "null") for request in self.asked]


def client(wire, **options):
    return eagre.Client("http://tester:8443/", transport_=httpx.MockTransport(wire), **options)


def async_client(wire):
    return eagre.AsyncClient("http://tester:8443", transport_=httpx.MockTransport(wire))


def stream(*events):
    text = ": hello\n\n" + "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    return httpx.Response(200, text=text, headers={"Content-Type": "text/event-stream"})


DONE = {**RUN, "state": "done"}


def test_a_call_has_path_parameters_body_and_token():
    wire = Wire([])
    client(wire, token="secret").results(method="throughput", limit=3)
    asked = wire.asked[0]
    assert (asked.method, str(asked.url)) == ("GET", "http://tester:8443/api/v1/results?method=throughput&limit=3")
    assert asked.headers["Authorization"] == "Bearer secret"
    wire = Wire(RUN)
    client(wire).start("text", rate="1Mpps", tags=["a=b"], keep=False)
    assert wire.bodies == [{"profile": "text", "rate": "1Mpps", "tags": ["a=b"], "keep": False}]


def test_ids_are_escaped():
    assert calls.run_info("../x?y").path == "/api/v1/runs/..%2Fx%3Fy"


def test_a_file_is_sent_as_text(tmp_path):
    (tmp_path / "p.yaml").write_text("ports: {}  # ä\n", encoding="utf-8")
    assert calls.new_run(tmp_path / "p.yaml").body == {"profile": "ports: {}  # ä\n"}


def test_a_problem_has_its_places():
    document = {
        "type": "about:blank", "title": "Unprocessable Content", "status": 422, "detail": "the profile has 2 errors",
        "errors": [{"path": "streams[0].rate", "line": 7, "reason": "no rate"}, {"path": "", "reason": "no ports"}],
    }  # fmt: skip
    with pytest.raises(eagre.Problem) as caught:
        client(Wire(httpx.Response(422, json=document))).start("x")
    problem = caught.value
    assert (problem.status, problem.errors[0].path, problem.errors[0].line) == (422, "streams[0].rate", 7)
    assert str(problem).splitlines()[1:] == ["  line 7: streams[0].rate: no rate", "  no ports"]


def test_a_server_that_does_not_run_is_named():
    """Which one, and how to start it: only here."""
    nothing = Wire(httpx.ConnectError("[Errno 111] Connection refused"))
    with pytest.raises(httpx.ConnectError, match=r"^http://tester:8443: \[Errno 111\] Connection refused$"):
        client(nothing).runs()
    with pytest.raises(httpx.ConnectError, match=r"^http://127.0.0.1:1: .* eagre.serve\(\) starts a server$"):
        eagre.Client("http://127.0.0.1:1").runs()
    with pytest.raises(httpx.ConnectError, match=r"^http://tester:8443: "):
        asyncio.run(async_client(nothing).runs())


def test_a_problem_that_is_no_document_is_quoted():
    with pytest.raises(eagre.Problem, match="502 Bad Gateway: <html>"):
        client(Wire(httpx.Response(502, text="<html>"))).ports()


def test_a_run_is_followed_to_its_end():
    wire = Wire(RUN, stream(("run", RUN), ("full", SNAPSHOT), ("result", RESULT), ("run", DONE)), RESULT)
    run = client(wire).start("x")
    assert [look.at_s for look in run] == [0.5]
    assert run.info.state == "done"
    assert wire.asked[1].url.params["form"] == "full"
    result = run.result()
    assert (result.id, len(result.rows("intervals"))) == (RUN["id"], 2)


def test_live_figures_have_the_names_of_their_columns():
    wire = Wire(RUN, stream(("run", RUN), ("live", LIVE), ("run", DONE)))
    (look,) = client(wire).start("x").live()
    assert look.names.streams == ["a"] and look.streams.rx == [None]


def test_a_stream_of_events_that_breaks_is_opened_again(monkeypatch):
    monkeypatch.setattr(events, "PAUSE_S", 0)
    broken = httpx.ReadError("gone")
    wire = Wire(RUN, stream(("run", RUN), ("full", SNAPSHOT)), broken, stream(("full", SNAPSHOT), ("run", DONE)))
    assert len(list(client(wire).start("x"))) == 2
    wire = Wire(RUN, *[broken] * events.ATTEMPTS)
    with pytest.raises(httpx.ReadError):
        list(client(wire).start("x"))
    assert len(wire.asked) == 1 + events.ATTEMPTS


def test_a_campaign_gives_each_point_once(monkeypatch):
    monkeypatch.setattr(events, "PAUSE_S", 0)
    first = stream(("campaign", CAMPAIGN), ("point", point(1)))
    again = stream(
        ("point", point(1)), ("point", point(2)), ("campaign", {**CAMPAIGN, "state": "done", "found": ["64B: 1 Mpps"]})
    )
    campaign = client(Wire(CAMPAIGN, first, again)).start_campaign("throughput", "x", quick=True, set={"resolution": "0.1"})
    assert [one.number for one in campaign] == [1, 2]
    assert campaign.info.found == ["64B: 1 Mpps"]


def test_a_run_that_failed_has_no_result():
    wire = Wire({**RUN, "state": "failed", "reason": "veth0 is down"})
    with pytest.raises(eagre.Failed, match="failed: veth0 is down"):
        client(wire).run("x")


def test_a_run_goes_on_no_longer_than_its_with():
    wire = Wire(RUN, RUN, RUN, DONE)
    with pytest.raises(ZeroDivisionError), client(wire).start("x"):
        1 / 0  # noqa: B018
    assert wire.asked[2].url.path.endswith("/stop")


def test_waiting_for_a_run_has_an_end():
    with pytest.raises(TimeoutError, match="is running after"):
        client(Wire(RUN)).start("x").wait(0.05)


def test_changes_of_rate():
    wire = Wire(RUN)
    run = client(wire).start("x")
    run.rate("2Mpps", stream="a")
    run.scale(0.5)
    run.pause()
    run.resume(stream="a")
    assert wire.bodies[1:] == [{"stream": "a", "rate": "2Mpps"}, {"scale": 0.5}, {"scale": 0}, {"stream": "a", "scale": 1}]


def test_a_ping():
    wire = Wire(RUN, {"port": "p", "from": "10.0.0.1", "to": "10.0.0.2", "answered": True, "sent": 1, "rtt_ns": 5000})
    pinged = client(wire).start("x").ping("p", "10.0.0.2", from_="10.0.0.1", attempts=2)
    assert (pinged.answered, pinged.from_, pinged.rtt_ns, pinged.reason) == (True, "10.0.0.1", 5000, None)
    assert wire.asked[1].url.path == f"/api/v1/runs/{RUN['id']}/pings"
    assert wire.bodies[1] == {"port": "p", "to": "10.0.0.2", "attempts": 2, "from": "10.0.0.1"}


def test_a_lease_is_renewed_and_released():
    wire = Wire(LEASE)
    with client(wire).lease("ring:a", ttl_s=0.15) as lease:
        assert lease.id == "secret"
        time.sleep(0.25)
    paths = [request.url.path.removeprefix("/api/v1/leases") for request in wire.asked]
    assert paths.count("/secret/renew") >= 2
    assert (wire.asked[-1].method, paths[-1]) == ("DELETE", "/secret")


def test_a_lease_that_is_lost_is_told():
    gone = httpx.Response(404, json={"title": "Not Found", "status": 404, "detail": "there is no such lease"})
    with (
        pytest.raises(eagre.Lost, match="ring:a was lost: 404"),
        client(Wire(LEASE, gone)).lease("ring:a", ttl_s=0.06) as lease,
    ):
        time.sleep(0.2)
        assert lease.lost


def test_a_lease_that_has_not_begun_starts_nothing():
    with pytest.raises(eagre.EagreError, match="was not taken"):
        client(Wire(LEASE)).start("x", lease=client(Wire(LEASE)).lease("ring:a"))


def test_a_capture_is_streamed(tmp_path):
    run = client(Wire(RUN, httpx.Response(200, content=b"\n\r\r\n" * 1000))).start("x")
    assert run.save_capture("west", tmp_path / "c.pcapng").stat().st_size == 4000


def test_what_is_on_this_machine_is_not_asked_through_a_proxy():
    from eagre.transport import is_local

    assert all(is_local(f"http://{host}:1") for host in ("127.0.0.1", "127.9.9.9", "[::1]", "localhost"))
    assert not any(is_local(f"http://{host}") for host in ("10.0.0.1", "tester", "localhost.example"))


def test_the_same_is_awaited():
    async def everything():
        wire = Wire(RUN, stream(("run", RUN), ("full", SNAPSHOT), ("run", DONE)), RESULT)
        async with async_client(wire) as it:
            run = await it.start("x", seed=1)
            looks = [look.at_s async for look in run]
            result = await run.result()
        wire = Wire(LEASE)
        async with async_client(wire) as it, it.lease("ring:a", ttl_s=0.15) as lease:
            await asyncio.sleep(0.1)
            assert lease.id == "secret"
        with pytest.raises(eagre.Problem, match="418"):
            await async_client(Wire(httpx.Response(418, json={"detail": "no"}))).ports()
        return looks, result.valid, [request.method for request in wire.asked]

    assert asyncio.run(everything()) == ([0.5], True, ["POST", "POST", "DELETE"])


def test_both_clients_have_every_call():
    public = {
        name for name, value in vars(calls).items() if callable(value) and getattr(value, "__module__", "") == calls.__name__
    }
    public -= {"Call", "Leased", "kind_of", "nothing", "at", "given", "id_of", "written"}
    on_handles = {"pause", "resume"}
    missing = {name for name in public if not name.endswith("_path")} - set(dir(eagre.Client)) - on_handles
    assert missing == set()
    assert eagre.Client.ports.__doc__ == "Ports and their leases."
