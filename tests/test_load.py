"""The requested load is delivered, or the result states the shortfall.

Over the in-process pair, so that nothing but the tester is the limit. No rate is asserted: the limit is measured first.
"""

import os

import pytest
from lab import CORE_SHARE_MIN, EAGRE, LONG, core_share, need, pair, settled, stream, sums

DELIVERED = 0.999
DURATION_S, LONGER_S = 0.3, 1.0
STEPS = 20 if LONG else 10


def offer(lab, rate, copies, seconds=DURATION_S, core=None):
    """A run at `rate` in all, over so many streams; on `core` alone, if that is given."""
    more = {"copies": copies} if copies > 1 else {}
    profile = lab.profile(
        pair(),
        [stream("s", "west", "east", size="64B", rate="1pps", **more)],
        load={"duration": f"{seconds}s", "drain": "100ms"},
    )
    each = "max" if rate is None else f"{rate / copies:.6f}pps"
    bound = () if core is None else ("taskset", "-c", core)
    return lab.finish(lab.start(*bound, EAGRE, "run", profile, "--rate", each, "--json", "-")).overload()


def limit(lab, copies):
    """What the worker can send at set instants and receive, packets per second, with its core to itself.

    A stream that is sent as fast as the port takes has no instants to keep and so a higher limit: no rate beyond it can
    be met, and what leaves when one is asked for is the limit of the others.
    """
    greedy = offer(lab, None, copies)
    assert greedy["verdict"]["generator_limited"], "rate max and no loss is the tester's own limit"
    most = greedy["ports"]["west"]["tx_pps"] / core_share(greedy)
    best = 0.0
    for _ in range(3):
        result = offer(lab, 1.5 * most, copies)
        best = max(best, result["ports"]["west"]["tx_pps"] / core_share(result))
        if core_share(result) >= CORE_SHARE_MIN:
            break
    return best


def check(result, rate, copies, seconds, must_deliver):
    """All that is due is either sent or said to be unsent, and nothing of it is lost."""
    tx, unsent = sums(result, "tx"), result["ports"]["west"]["tx_unsent"]
    verdict, due = result["verdict"], rate * seconds
    assert abs(tx + unsent - due) <= copies, f"{tx} + {unsent} of {due}"
    assert sums(result, "lost") == 0 and verdict["valid"], verdict
    assert sum(s["requested_pps"] for s in result["streams"].values()) == pytest.approx(rate, rel=1e-3)
    delivered = tx / max(tx + unsent, 1)
    if must_deliver:
        share = core_share(result)
        assert delivered >= DELIVERED, f"{delivered:.5f} of {rate:.0f} pps delivered, core share {share:.3f}"
    if delivered < DELIVERED:
        assert unsent > 0 and verdict["generator_limited"], verdict
        assert any(str(unsent) in reason.replace(",", "") and "not sent" in reason for reason in verdict["reasons"]), verdict
        # The shortfall is told in the rates, too: what was offered is what left while the traffic lasted.
        assert result["ports"]["west"]["tx_pps"] < rate
    else:
        assert not verdict["generator_limited"], verdict


@pytest.mark.alone
@pytest.mark.unsteady("asks for shares of a limit measured before; a busy neighbour moves the limit")
@pytest.mark.parametrize("copies", [1, 1000])
def test_what_is_asked_for_is_delivered_or_the_shortfall_stated(lab, copies):
    """Rates from 1 kpps to twice the worker's limit."""
    most = 2 * limit(lab, copies)
    rates = [1000 * (most / 1000) ** (step / (STEPS - 1)) for step in range(STEPS)]
    failed = []
    for rate in rates:
        comfortable = rate <= 0.7 * most / 2
        for left in (2, 1, 0):
            result = offer(lab, rate, copies)
            has_core = core_share(result) >= CORE_SHARE_MIN
            try:
                # Whatever the machine does, nothing is silently wrong; all of it is due only with the core to itself.
                check(result, rate, copies, DURATION_S, comfortable and has_core)
                if not comfortable or has_core:
                    break
            except AssertionError as wrong:
                if not left or not has_core:
                    failed.append(f"{rate:.0f} pps: {wrong}")
                    break
    assert not failed, "\n".join(failed)


@pytest.mark.alone
@pytest.mark.unsteady("asks for shares of a limit measured before; a busy neighbour moves the limit")
@pytest.mark.parametrize("copies", [1, 1000])
def test_the_same_when_something_else_takes_half_the_core(lab, copies):
    """A busy loop on the worker's core: up to a share of the limit nothing is missing, beyond it nothing is hidden."""
    need("taskset")
    free = limit(lab, copies)
    core = offer(lab, 1000, copies)["workers"][0]["core"]
    hog = lab.start("taskset", "-c", core, "/usr/bin/python3", "-c", "while True: pass")
    try:
        for share in (0.01, 0.1, 0.2, 2.0):
            for left in (2, 1, 0):
                result = offer(lab, share * free, copies, LONGER_S, core)
                try:
                    check(result, share * free, copies, LONGER_S, share <= 0.2 and core_share(result) >= 0.4)
                    break
                except AssertionError:
                    if not left:
                        raise
        assert core_share(result) < 0.9, "the other process took nothing"
    finally:
        hog.kill()


def test_a_count_is_sent_to_the_packet(lab):
    """No more and no less, in every pattern."""
    for pattern in ("continuous", {"bursts": 7}):
        streams = [stream("s", "west", "east", rate="100kpps", count=12_345, pattern=pattern)]
        profile = lab.profile(pair(), streams, load={"duration": "2s", "drain": "100ms"})
        result = lab.whole("run", profile).result()
        assert (sums(result, "tx"), sums(result, "rx")) == (12_345, 12_345)
        assert result["duration_s"] < 1


@pytest.mark.unsteady("a worker that loses its core for milliseconds sends late")
def test_streams_take_turns(lab):
    """1,000 streams of 100 pps are interleaved smoothly: in each instant all have sent the same, give or take one."""
    streams = [stream("s", "west", "east", rate="100pps", copies=1000)]
    profile = lab.profile(pair(), streams, load={"duration": "105ms", "drain": "20ms"})
    sent = [one["tx"] for one in lab.eagre("sim", profile, "--json", "-").result()["streams"].values()]
    assert max(sent) - min(sent) <= 1 and sum(sent) == 10_500


@pytest.mark.unsteady("a worker that loses its core for milliseconds sends late")
def test_two_workers_look_like_one_sender(lab):
    """The same packets, none lost, none reordered, on as many cores as there are (two at most)."""
    cores = min(2, len(os.sched_getaffinity(0)))
    profile = lab.profile(
        pair(), [stream("s", "west", "east", rate="20kpps", copies=3)], load={"duration": "500ms", "drain": "200ms"}
    )

    def check(done):
        result = done.result()
        assert len(result["workers"]) == cores and ("core_skew_ns" in result["clock"]) == (cores > 1)
        for one in result["streams"].values():
            assert (one["tx"], one["lost"], one["reordered"], one["duplicates"]) == (10_000, 0, 0, 0)

    settled(lambda: lab.eagre("run", profile, "--cores", cores, "--json", "-"), check)
