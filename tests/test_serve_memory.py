"""`eagre serve` has memory for what it runs: jobs reserve it, are refused otherwise, and give it back."""

import resource
from concurrent.futures import ThreadPoolExecutor

import pytest
from lab import wait_until
from server import Server
from test_serve_hostile import resident

LIMIT = 2 << 30


def profile(number, streams, duration="2s"):
    """A run of many equal streams over a link of its own."""
    ports = {side: {"device": f"ring:n{number}.{side}", "ip": f"10.0.0.{end}/24"} for side, end in (("a", 1), ("b", 2))}
    one = {"name": "s", "from": "a", "to": "b", "packet": ["ipv4", "udp"], "rate": "0.01pps", "copies": streams}
    return {"ports": ports, "streams": [one], "load": {"duration": duration, "drain": "10ms"}}


@pytest.fixture
def small(lab):
    """A server that may take 2 GiB."""
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))}
    return Server(lab, process=limits)


def test_runs_that_do_not_fit_together_are_refused_and_end_nothing(small):
    """Ten at once, of 60,000 to 240,000 streams: those for which there is memory go on, the others hear why not."""
    sizes = [60_000 + 20_000 * number for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        post = lambda number: small.ask("POST", "/api/v1/runs", {"profile": profile(number, sizes[number]), "keep": False}, timeout=120)
        answers = list(pool.map(post, range(10)))
    begun = [answer.json() for answer in answers if answer.status == 201]
    refused = [answer.detail for answer in answers if answer.status != 201]
    assert begun and refused and small.process.poll() is None
    assert {answer.status for answer in answers} <= {201, 422, 503}
    for reason in refused:
        assert "memory" in reason and "MB" in reason, reason
    for run in begun:
        ended = small.ended(run, 120)
        assert ended["state"] == "done", ended
    # What they had is free for the next.
    assert small.ended(small.start(profile=profile(11, 20_000, "100ms"), keep=False), 120)["state"] == "done"


def test_streams_that_are_added_reserve_memory_too(small):
    run = small.start(profile=profile(1, 10, "60s"), keep=False)
    small.sends(run, 0)
    more = lambda streams: {"profile": profile(1, streams) | {"streams": [profile(1, streams)["streams"][0] | {"name": f"more{streams}"}]}}
    answer = small.ask("POST", f"/api/v1/runs/{run['id']}/streams", more(400_000), timeout=120)
    assert answer.status in (422, 503) and "memory" in answer.detail, answer
    assert small.run(run)["state"] in ("starting", "running")


def test_memory_goes_back_after_checks(lab):
    """And after profiles that are stored, and those that are refused."""
    server = Server(lab)
    before = resident(server)
    large = profile(1, 200_000)
    broken = large | {"criteria": {"streams.s.colour": "== 0"}}
    wanted = [("POST", "/api/v1/profiles/check", large), ("PUT", "/api/v1/profiles/large", large), ("POST", "/api/v1/profiles/check", broken)]
    for method, path, document in wanted * 3:
        answer = server.ask(method, path, {"profile": document}, timeout=60)
        assert answer.status == 200, answer
    answer = server.ask("POST", "/api/v1/runs", {"profile": broken}, timeout=60)
    assert answer.status == 422
    wait_until(lambda: resident(server) < before + 60, f"memory below {before} and 60 MB: {resident(server)}", 5)


def test_a_runs_document_has_the_last_changes(lab):
    """Each change carries it, so it must not grow with them."""
    server = Server(lab)
    run = server.start(profile=profile(1, 2, "60s"), keep=False)
    server.sends(run, 0)
    for number in range(120):
        answer = server.ask("POST", f"/api/v1/runs/{run['id']}/rate", {"rate": f"{1 + number}pps"})
        assert answer.status == 200, answer
    document = server.run(run)
    assert len(document["rate_changes"]) == 100 and document["rate_changes_in_all"] == 120
    assert document["rate_changes"][-1] == "all streams at 120pps"
    assert (document["refused_changes"], document["refused_changes_in_all"]) == ([], 0)
