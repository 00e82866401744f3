"""Documents as data classes, and back."""

import pytest
from documents import RESULT, RUN, SNAPSHOT

import eagre
from eagre.documents import decode
from eagre.profile import App, Client, Generator, Http, Server


def test_a_profile_is_written_as_the_server_reads_it():
    profile = eagre.Profile(
        ports={"west": eagre.Port(device="ring:a"), "east": {"device": "ring:b"}},
        streams=[
            eagre.Stream(
                name="a", from_="west", to="east", packet=["ipv4", {"udp": {"dst": 9}}], rate="1kpps",
                vary={"udp.src": Generator(from_=1, to=5)}, measure=False,
            )
        ],
        sessions=[
            eagre.Sessions(
                name="web", client=Client(port="west"), server=Server(port="east"),
                app=App(http=Http(response="1KB")), for_="2s",
            )
        ],
    )  # fmt: skip
    assert profile.document() == {
        "ports": {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}},
        "streams": [
            {
                "name": "a", "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"dst": 9}}], "rate": "1kpps",
                "vary": {"udp.src": {"from": 1, "to": 5}}, "measure": False,
            }
        ],
        "sessions": [
            {
                "name": "web", "client": {"port": "west"}, "server": {"port": "east"},
                "app": {"http": {"response": "1KB"}}, "for": "2s",
            }
        ],
    }  # fmt: skip


def test_a_part_takes_no_word_it_does_not_know():
    with pytest.raises(TypeError, match="speeed"):
        eagre.Port(device="ring:a", speeed="1Gbps")


def test_documents_are_read_with_types():
    run = decode(eagre.RunInfo, {**RUN, "newer": 1})
    assert run.names.streams == ["a"] and run.verdict is None and not run.has_ended
    look = decode(eagre.Snapshot, SNAPSHOT)
    assert look.total.streams["a"].latency_ns.p99 == 2500 and look.interval.streams["a"].lost is None
    assert eagre.Result(RESULT).typed.seed == 2**64 - 1


def test_words_of_a_newer_server_are_kept():
    assert decode(eagre.RunInfo, {**RUN, "state": "pondering"}).state == "pondering"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": {"ports": "west"}}, "names.ports is str, expected list"),
        ({"at_s": "soon"}, "at_s is str, expected int or float"),
        ({"captures": ["west", 5]}, r"captures\[1\] is int, expected str"),
        (
            {"verdict": {"valid": 1, "generator_limited": False, "disturbed": False, "reasons": []}},
            "verdict.valid is int, expected bool",
        ),
        ({"seed": True}, "seed is bool, expected int"),
    ],
)
def test_documents_that_are_not_what_they_should_be_are_named(change, says):
    with pytest.raises(eagre.DocumentError, match=says):
        decode(eagre.RunInfo, {**RUN, **change})


def test_what_is_missing_is_named():
    with pytest.raises(eagre.DocumentError, match="holder is missing"):
        decode(eagre.RunInfo, {key: value for key, value in RUN.items() if key != "holder"})
