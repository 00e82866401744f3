"""Distinct packets, each looked at: a small C program goes through the capture. `make soak` looks at 16,777,216 of them."""

import shutil
import tempfile
from pathlib import Path

import pytest
from lab import LONG, PREFIX, call, missing, need

COUNT = 1 << (24 if LONG else 20)
LAST = f"10.{(COUNT >> 16) - 1}.255.255"
PACKET = [
    {"ethernet": {"dst": "02:00:00:00:00:07", "src": "02:00:00:00:00:08"}},
    {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}},
    "udp",
]
# A bit for each address of 10.0.0.0/8. All else of the packets is the same but the two checksums, which are verified.
LOOK = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static uint8_t seen[1 << 21];

static uint32_t sum(const uint8_t *p, int n) {
    uint32_t s = 0;
    for (int i = 0; i < n; i += 2) s += p[i] << 8 | p[i + 1];
    return s;
}

static int wrong(uint32_t s) {
    s = (s & 0xffff) + (s >> 16);
    s = (s & 0xffff) + (s >> 16);
    return s != 0xffff;
}

int main(int argc, char **argv) {
    int f = open(argv[1], O_RDONLY);
    struct stat st;
    if (argc != 2 || f < 0 || fstat(f, &st)) return 1;
    const uint8_t *base = mmap(0, st.st_size, PROT_READ, MAP_SHARED, f, 0), *p = base + 24, *first = p;
    uint64_t n = 0, distinct = 0, bad = 0, other = 0, ordered = 0, repeat = 0;
    for (; p + 76 <= base + st.st_size; p += 76, n++) {
        uint32_t len, dst;
        memcpy(&len, p + 8, 4);
        const uint8_t *e = p + 16, *ip = e + 14, *udp = ip + 20;
        if (len != 60 || memcmp(e, first + 16, 24) || memcmp(ip + 12, first + 42, 5) || memcmp(udp, first + 50, 6)
            || memcmp(udp + 8, first + 58, 18)) { other++; continue; }
        bad += wrong(sum(ip, 20)) || wrong(sum(udp, 26) + sum(ip + 12, 8) + 17 + 26);
        dst = ip[17] << 16 | ip[18] << 8 | ip[19];
        ordered += dst == n % COUNT;
        if (seen[dst >> 3] >> (dst & 7) & 1) { if (!repeat) repeat = n; }
        else { seen[dst >> 3] |= 1 << (dst & 7); distinct++; }
    }
    printf("%lu %lu %lu %lu %lu %lu %d\n", n, distinct, bad, other, ordered, repeat, p == base + st.st_size);
}
"""


@pytest.fixture(scope="module")
def look(shared):
    need("gcc")
    source = shared.folder() / "look.c"
    source.write_text(LOOK)
    program = source.with_suffix("")
    call("gcc", "-O2", "-Wall", "-Werror", f"-DCOUNT={COUNT}", "-o", program, source)

    def looked(capture):
        names = ("packets", "distinct", "bad", "other", "ordered", "repeat", "whole")
        return dict(zip(names, map(int, call(program, capture).split())))

    return looked


@pytest.fixture
def big():
    """A file in memory, of 80 bytes for each packet."""
    room = 192 * COUNT
    if not Path("/dev/shm").is_dir() or shutil.disk_usage("/dev/shm").free < room:
        missing(f"needs {room >> 20} MB in /dev/shm")
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/dev/shm"))
    yield folder / "sent.pcap"
    shutil.rmtree(folder)


def profile(lab, device, rate):
    one = {
        "name": "s",
        "from": "west",
        "packet": PACKET,
        "size": "64B",
        "rate": rate,
        "count": COUNT + 1,
        "measure": False,
        "vary": {"ipv4.dst": f"10.0.0.0..{LAST}"},
    }
    return lab.profile({"west": {"device": device}}, [one], load={"duration": "100s", "drain": "1ms"}, seed=1)


def all_there(seen):
    print(seen)
    assert seen["packets"] == COUNT + 1 and seen["whole"] == 1
    assert (seen["bad"], seen["other"]) == (0, 0)
    assert (seen["distinct"], seen["repeat"]) == (COUNT, COUNT), "the packet behind the last is the first again"


@pytest.mark.parametrize("cores", [1, 2])
def test_packets_differ(lab, look, big, cores):
    """In virtual time, on one worker and on two: the same union, in the same order."""
    lab.eagre("sim", profile(lab, "ring:a", "10Mpps"), "--pcap", big, "--cores", cores, timeout=120).ok()
    seen = look(big)
    all_there(seen)
    assert seen["ordered"] == COUNT + 1


def test_packets_differ_in_real_time(lab, look, big):
    """As fast as a capture file takes them."""
    done = lab.eagre("run", profile(lab, f"pcap:,{big}", "max"), "--json", "-", timeout=120).ok()
    assert done.json["streams"]["s"]["tx"] == COUNT + 1
    all_there(look(big))
