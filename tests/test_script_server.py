"""Scripts over HTTP: off by default, for admins only, confined, ended at their deadline."""

import json
import time

import pytest
from lab import wait_until
from server import Server
from test_serve_security import SECRET, token_file

PATH = "/api/v1/scripts"
UDP = """
local device, memory = require "device", require "memory"
function master(n)
    local dev = device.config{port = 0}
    local bufs = memory.createMemPool(function(buf)
        buf:getUdpPacket():fill{pktLength = 60, ethDst = "02:00:00:00:00:09", ip4Dst = "10.0.0.2", udpDst = 7}
    end):bufArray(10)
    for _ = 1, tonumber(n) / 10 do
        bufs:alloc(60)
        bufs:offloadUdpChecksums()
        dev:getTxQueue(0):send(bufs)
    end
    local file = io.open("counts.csv", "w")
    file:write("sent," .. n .. "\\n")
    file:close()
    print("sent " .. n)
    eagre.result{sent = tonumber(n)}
end
"""


def new(text, **more):
    return {"text": text, "ports": ["ring:a"], "deadline_s": 20} | more


@pytest.fixture(scope="module")
def server(shared):
    return Server(shared, "--allow-scripts", "--tokens", token_file(shared), token=SECRET["root"])


LONG = """
local device, memory = require "device", require "memory"
function master()
    local pool = memory.createMemPool(function(buf) buf:getUdpPacket():fill{pktLength = 9014} end)
    local bufs = pool:bufArray(10)
    bufs:alloc(9014)
    eagre.result{sent = device.config{port = 0}:getTxQueue(0):send(bufs)}
end
"""


def start(server, text, **more):
    answer = server.ask("POST", PATH, new(text, **more))
    assert answer.status == 201, answer
    return answer.json()


def ended(server, script, timeout=30):
    def over():
        now = server.get(f"{PATH}/{script['id']}")
        return now if now["ended"] else None

    return wait_until(over, "the end of the script", timeout, 0.05)


def test_a_script_runs_and_has_a_result(server):
    """What it printed, its result, the file it wrote; then it can be removed, with its folder."""
    script = start(server, UDP, ports=["ring:a"], arguments=["200"], name="two hundred")
    assert script["state"] in ("starting", "running", "done") and script["holder"] == "root", script
    script = ended(server, script)
    assert (script["state"], script["reason"], script["ports"]) == ("done", None, ["ring:a"]), script
    assert "sent 200" in script["output"] and script["output_skipped"] == 0, script
    assert script["files"] == [{"name": "counts.csv", "bytes": 9}], script
    result = server.get(f"{PATH}/latest/result")
    assert (result["schema"], result["outcome"], result["result"]) == ("eagre.script/1", "done", {"sent": 200}), result
    assert result["ports"][0]["tx_packets"] == 200, result
    assert server.ask("GET", f"{PATH}/latest/files/counts.csv").body == b"sent,200\n"
    assert server.ask("GET", f"{PATH}/latest/files/..%2Fscript.lua").status == 404
    assert server.get(PATH)[0]["output"] == "" and server.get(PATH)[0]["id"] == script["id"]
    folder = server.folder / "serve/runs" / script["id"]
    assert folder.is_dir() and folder.stat().st_mode & 0o77 == 0
    assert server.ask("DELETE", f"{PATH}/{script['id']}").status == 204
    assert not folder.exists() and server.ask("GET", f"{PATH}/{script['id']}").status == 404


LOOP = "function master() print('ready') while true do end end"
HOSTILE = {
    "loop": (LOOP, "did not stop by its deadline"),
    "null": ("local ffi = require 'ffi' function master() ffi.cast('int *', 0)[0] = 1 end", "memory that is not its own"),
    "memory": ("local ffi = require 'ffi' function master() local t = {} for i = 1, 1e4 do t[i] = ffi.new('char[1048576]') end end", "memory"),
    "endless output": ("function master() while true do print(('x'):rep(4000)) end end", "did not stop by its deadline"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_script_ends_and_the_server_goes_on(server, kind):
    """At its deadline at the latest; then its port is free, and the result says why."""
    text, why = HOSTILE[kind]
    begin = time.monotonic()
    script = start(server, text, ports=["ring:h.a"], deadline_s=2 if "deadline" in why else 20)
    while not server.get(f"{PATH}/{script['id']}")["ended"]:
        assert server.ask("GET", "/healthz").status == 200
        assert time.monotonic() - begin < 25
        time.sleep(0.1)
    script = server.get(f"{PATH}/{script['id']}")
    assert script["state"] == "failed" and why in script["reason"], script
    assert server.get(f"{PATH}/{script['id']}/result")["reason"] == script["reason"]
    assert len(script["output"]) <= 256 << 10
    if kind == "endless output":
        assert script["output_skipped"] > 0 and "x\neagre: " in script["output"], script["output"][-100:]
    assert server.get("/api/v1/leases") == []
    again = ended(server, start(server, UDP, ports=["ring:h.a"], arguments=["10"]))
    assert again["state"] == "done", again


def test_it_is_confined_to_its_folder(server):
    """Arguments that name files give no right to read them."""
    text = """
    local ffi = require "ffi"
    function master(path)
        eagre.result{named = io.open(path) ~= nil, execute = os.execute("true") == true, up = io.open("../x", "w") ~= nil,
            own = io.open("own.txt", "w") ~= nil, link = ffi.C.symlink("/etc/shadow", "link")}
    end
    ffi.cdef "int symlink(const char*, const char*);"
    """
    script = ended(server, start(server, text, arguments=["/etc/passwd"]))
    assert script["state"] == "done", script
    found = server.get(f"{PATH}/{script['id']}/result")["result"]
    assert found == {"named": False, "execute": False, "up": False, "own": True, "link": -1}
    assert [file["name"] for file in script["files"]] == ["own.txt"]


def test_stopping(server):
    """A script that looks at `running` ends by itself; one that does not is killed. Its port belongs to it until then."""
    polite = "local mg = require 'moongen' function master() print('ready') while mg.running() do mg.sleepMillis(10) end print('bye') end"
    for text, said in ((polite, "bye"), (LOOP, "")):
        script = start(server, text, ports=["ring:s.a"], deadline_s=60)
        wait_until(lambda now=script: server.get(f"{PATH}/{now['id']}")["output"] == "ready\n", "it runs")
        taken = server.ask("POST", "/api/v1/runs", {"profile": one_port("ring:s.a")})
        assert taken.status == 409 and "ring:s.a" in taken.detail, taken
        assert server.ask("DELETE", f"{PATH}/{script['id']}").status == 409
        assert server.ask("POST", f"{PATH}/{script['id']}/stop").status == 200
        over = ended(server, script)
        assert (over["state"], over["reason"]) == ("stopped", "stopped by root") and said in over["output"], over


def one_port(device):
    packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"dst": "10.0.0.2"}}, "udp"]
    stream = {"name": "s", "from": "p", "packet": packet, "rate": "100pps"}
    return {"ports": {"p": {"device": device, "ip": "10.0.0.1/24"}}, "streams": [stream], "load": {"duration": "1s"}}


def test_who_may(server, lab):
    """Admins only, and only where the operator said so: 403 otherwise, noted among the refused."""
    answer = server.ask("POST", PATH, new(UDP, ports=["ring:w.a"]), token=SECRET["hand"])
    assert answer.status == 403 and "admin" in answer.detail, answer
    refused = (server.folder / "serve/refused.jsonl").read_text().splitlines()
    last = json.loads(refused[-1])
    assert (last["who"], last["what"], last["status"]) == ("hand", f"POST {PATH}", 403), last
    plain = Server(lab)
    answer = plain.ask("POST", PATH, new(UDP))
    assert answer.status == 403 and "--allow-scripts" in answer.detail, answer
    capped = Server(lab, "--allow-scripts", "--max-rate", "1kpps")
    answer = capped.ask("POST", PATH, new(UDP))
    assert answer.status == 403 and "1,000pps" in answer.detail.replace("1kpps", "1,000pps"), answer


@pytest.mark.parametrize("more, sent", [({"frame_length": 9018}, 10), ({}, 0)])
def test_frames_are_as_long_as_asked_for(server, more, sent):
    """9,018 bytes with FCS leave whole, and without the option none of them does."""
    script = ended(server, start(server, LONG, ports=["ring:long.a"], **more))
    result = server.get(f"{PATH}/{script['id']}/result")
    port = result["ports"][0]
    assert result["result"] == {"sent": sent}, result
    assert (port["tx_bytes"], port["tx_unsent"]) == (9018 * sent, 10 - sent), result


@pytest.mark.parametrize(
    "wrong, status, says",
    [
        ({"text": ""}, 422, "text"),
        ({"deadline_s": None}, 422, "must have an end"),
        ({"deadline_s": 0}, 422, "deadline_s"),
        ({"arguments": ["a\0b"]}, 422, "arguments[0]"),
        ({"ports": ["lo"]}, 403, "loopback"),
        ({"ports": ["nonsense:x"]}, 422, "nonsense"),
        ({"ports": []}, 422, "ports"),
        ({"frame_length": 1517}, 422, "1518 to 9600"),
        ({"frame_length": 9601}, 422, "frame_length"),
        ({"unknown": 1}, 422, "unknown"),
    ],
)
def test_bad_input(server, wrong, status, says):
    answer = server.ask("POST", PATH, new(UDP) | wrong)
    assert answer.status == status and says in answer.body.decode(), answer


@pytest.mark.parametrize("text, says", [("x = = 1", "unexpected symbol"), ("error('no luck')", "no luck")])
def test_a_script_that_fails_says_why(server, text, says):
    script = ended(server, start(server, text))
    assert script["state"] == "failed" and says in script["reason"], script
