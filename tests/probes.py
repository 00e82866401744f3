"""Requirements of a host, tested by hand-made packets: run in a namespace, it prints the findings of each probe as JSON.

    probes.py probe INTERFACE TARGET4 TARGET6    runs all probes at once
    probes.py serve                              echoes TCP and UDP on port 7, for a kernel as the target
    probes.py list                               the probes

Each probe is named after the section that requires it. A probe that fails runs up to two more times: a busy
machine may be late.
"""

import asyncio
import json
import socket
import struct
import sys
import threading

from probing import (
    ACK, ARP, CWR, ECE, FIN, ICMP, ICMPV6, PSH, RST, SACK_OK, SYN, TCP, UDP, URG,
    Failure, Wire, arp, fold, mss, must, options, packed, pseudo, sack, scale, times, with_sum,
)  # fmt: skip

PROBES = []
CLOSED = 9_999
ATTEMPTS = 3


def probe(rule, families=(4, 6)):
    def note(function):
        PROBES.extend((family, function.__name__, rule, function.__doc__.strip(), function) for family in families)
        return function

    return note


V4, V6 = (4,), (6,)


# TCP to a closed port, and to a listener.


async def opened(h, what="no SYN-ACK", port=7, flags=SYN, opts=None, **rest):
    sport = h.open_port()
    h.tcp(sport, port, 5_000, flags=flags, opts=options(mss(1460)) if opts is None else opts, **rest)
    return await h.segment(lambda one: one.dport == sport and one.flags & SYN, what)


async def unanswered(h, flags=SYN, port=7, what="an answer", opts=None, **rest):
    sport = h.open_port()
    h.tcp(sport, port, 5_000, ack=9_000, flags=flags, opts=options(mss(1460)) if opts is None else opts, **rest)
    await h.silence(lambda one: one.segment is not None and one.segment.dport == sport, what)


async def reset_by(h, port, flags, data=b"", ack=9_000):
    sport = h.open_port()
    h.tcp(sport, port, 5_000, ack=ack, flags=flags, data=data)
    answer = await h.segment(lambda one: one.dport == sport, "no answer")
    must(answer.flags & RST, f"no reset: {answer}")
    if flags & ACK:
        must(answer.seq == ack and not answer.flags & ACK, f"not at the acknowledgement: {answer}")
    else:
        span = len(data) + bool(flags & SYN) + bool(flags & FIN)
        must(answer.flags & ACK and answer.seq == 0 and answer.ack == 5_000 + span, f"not for the segment: {answer}")


@probe("RFC 9293 3.5")
async def syn_is_answered(h):
    """A SYN to a listener gets a SYN-ACK that acknowledges it."""
    answer = await opened(h)
    must(answer.flags & ACK and answer.ack == 5_001, f"{answer}")


@probe("RFC 9293 3.1, MUST-2")
async def checksums_are_right(h):
    """Segments have the right checksum."""
    must((await opened(h)).good, "wrong checksum")


@probe("RFC 9293 3.1, MUST-3")
async def wrong_checksums_are_dropped(h):
    """A SYN with a wrong checksum is dropped."""
    await unanswered(h, bad=True)


@probe("RFC 9293 3.7.1, MUST-14")
async def syn_ack_has_an_mss(h):
    """A SYN-ACK has the MSS option."""
    must(2 in (await opened(h)).options, "no MSS option")


@probe("RFC 9293 3.7.1, MUST-67")
async def mss_fits_the_mtu(h):
    """The MSS offered is that of the link, without options."""
    (size,) = struct.unpack("!H", (await opened(h)).options[2])
    must(size <= (1460 if h.family == 4 else 1440), f"MSS {size}")


@probe("RFC 9293 3.1, MUST-6")
async def unknown_options_are_ignored(h):
    """A SYN with an unknown option is answered."""
    await opened(h, opts=options(bytes([253, 6, 1, 2, 3, 4]), mss(1460)))


@probe("RFC 9293 3.1, MUST-4")
async def end_of_options_ends_them(h):
    """No-ops are passed over, and nothing behind the end of options counts."""
    answer = await opened(h, opts=b"\1\1" + mss(1460) + b"\0" + SACK_OK[:1])
    must(4 not in answer.options, "took an option behind the end")


@probe("RFC 9293 3.1, MUST-64")
async def options_need_no_alignment(h):
    """Options may begin at any byte."""
    answer = await opened(h, opts=b"\1" + mss(1460) + b"\1" + SACK_OK)
    must(4 in answer.options, "SACK was offered and not taken")


@probe("RFC 9293 3.1, MUST-7")
async def option_length_zero_harms_nothing(h):
    """After a SYN with an option of length 0 the host still serves."""
    h.tcp(h.open_port(), 7, 5_000, flags=SYN, opts=b"\xfd\0\0\0")
    await opened(h)


@probe("RFC 9293 3.1, MUST-7")
async def option_too_long_harms_nothing(h):
    """After a SYN with an option longer than the header the host still serves."""
    h.tcp(h.open_port(), 7, 5_000, flags=SYN, opts=b"\xfd\x28\0\0")
    await opened(h)


@probe("RFC 9293 3.1")
async def short_header_length_is_dropped(h):
    """A SYN whose header length is below 5 is dropped."""
    await unanswered(h, offset=4)


@probe("RFC 9293 3.1")
async def long_header_length_is_dropped(h):
    """A SYN whose header is longer than the segment is dropped."""
    await unanswered(h, offset=15)


@probe("RFC 9293 3.1")
async def reserved_bits_are_ignored(h):
    """A SYN with reserved bits set is answered."""
    await opened(h, reserved=0b0110)


@probe("RFC 9293 3.10.7.1")
async def closed_syn_is_reset(h):
    """A SYN to a closed port gets a reset that acknowledges it."""
    await reset_by(h, CLOSED, SYN)


@probe("RFC 9293 3.10.7.1")
async def closed_ack_is_reset(h):
    """An acknowledgement to a closed port gets a reset with its number."""
    await reset_by(h, CLOSED, ACK)


@probe("RFC 9293 3.10.7.1")
async def closed_data_is_reset(h):
    """Data without acknowledgement to a closed port gets a reset for all of it."""
    await reset_by(h, CLOSED, PSH, b"hello")


@probe("RFC 9293 3.10.7.1")
async def closed_fin_is_reset(h):
    """A FIN without acknowledgement to a closed port gets a reset for it."""
    await reset_by(h, CLOSED, FIN)


@probe("RFC 9293 3.10.7.1")
async def closed_reset_is_dropped(h):
    """A reset to a closed port gets nothing."""
    await unanswered(h, RST, CLOSED)


@probe("RFC 9293 3.10.7.2")
async def listener_resets_acks(h):
    """An acknowledgement to a listener gets a reset with its number."""
    await reset_by(h, 7, ACK)


@probe("RFC 9293 3.10.7.2")
async def listener_resets_syn_acks(h):
    """A SYN-ACK to a listener gets a reset."""
    await reset_by(h, 7, SYN | ACK)


@probe("RFC 9293 3.10.7.2")
async def listener_drops_resets(h):
    """A reset to a listener gets nothing."""
    await unanswered(h, RST)


@probe("RFC 9293 3.10.7.2")
async def listener_drops_syn_with_rst(h):
    """A SYN that is a reset too gets nothing."""
    await unanswered(h, SYN | RST)


@probe("RFC 9293 3.10.7.2")
async def listener_drops_fins(h):
    """A FIN without acknowledgement to a listener gets nothing."""
    await unanswered(h, FIN)


@probe("RFC 9293 3.10.7.2")
async def listener_drops_no_flags(h):
    """A segment without flags to a listener gets nothing."""
    await unanswered(h, 0)


@probe("RFC 9293 3.9.2.3, MUST-57")
async def syns_to_groups_are_dropped(h):
    """A SYN to a multicast address gets nothing."""
    to = "224.0.0.1" if h.family == 4 else "ff02::1"
    await unanswered(h, dst=packed(to))


@probe("RFC 9293 3.9.2.3, MUST-63")
async def syns_from_groups_are_dropped(h):
    """A SYN from a multicast address gets nothing."""
    group = "239.1.2.3" if h.family == 4 else "ff05::77"
    h.wire.watch(group, h.queue)
    await unanswered(h, src=packed(group))


@probe("RFC 9293 3.9.2.3, MUST-63")
async def syns_from_nowhere_are_dropped(h):
    """A SYN from the unspecified address gets nothing."""
    nowhere = "0.0.0.0" if h.family == 4 else "::"
    h.wire.watch(nowhere, h.queue)
    await unanswered(h, src=packed(nowhere))


@probe("RFC 9293 3.9.2.3, MUST-63", V4)
async def syns_from_everybody_are_dropped(h):
    """A SYN from the broadcast address gets nothing."""
    h.wire.watch("255.255.255.255", h.queue)
    await unanswered(h, src=packed("255.255.255.255"))


@probe("RFC 1122 2.4")
async def frames_to_others_are_dropped(h):
    """A SYN in a frame to another hardware address gets nothing."""
    await unanswered(h, to=b"\2\7\7\7\7\7")


# Opening.


@probe("RFC 9293 3.5")
async def connections_echo(h):
    """After the handshake data flow both ways."""
    conn = await h.connect()
    await conn.alive()


@probe("RFC 9293 3.4.1, MUST-8 MUST-9")
async def initial_numbers_are_not_guessed(h):
    """Initial sequence numbers of ports next to each other are not a line."""
    numbers = [(await opened(h)).seq for _ in range(5)]
    steps = {(b - a) & 0xFFFFFFFF for a, b in zip(numbers, numbers[1:])}
    must(len(steps) > 2 and max(steps) > 1 << 20, f"{numbers}")


@probe("RFC 9293 3.5")
async def a_repeated_syn_gets_the_same(h):
    """A SYN that comes again gets the same SYN-ACK."""
    sport = h.open_port()
    found = []
    for _ in range(2):
        h.tcp(sport, 7, 5_000, flags=SYN, opts=options(mss(1460)))
        found.append(await h.segment(lambda one: one.dport == sport and one.flags & SYN, "no SYN-ACK"))
    must(found[0].seq == found[1].seq, "another initial number")


@probe("RFC 6298 2.1")
async def syn_acks_are_repeated(h):
    """A SYN-ACK that is not acknowledged is sent again, not before a second."""
    conn_port = h.open_port()
    h.tcp(conn_port, 7, 5_000, flags=SYN, opts=options(mss(1460)))
    loop = asyncio.get_running_loop()
    await h.segment(lambda one: one.dport == conn_port and one.flags & SYN, "no SYN-ACK")
    at = loop.time()
    await h.segment(lambda one: one.dport == conn_port and one.flags & SYN, "not repeated", 4)
    must(loop.time() - at > 0.8, f"after {loop.time() - at:.2f} s")


@probe("RFC 9293 3.10.7.4")
async def resets_end_half_open(h):
    """A reset of a half-open connection ends it: its SYN-ACK is not sent again."""
    conn = Half(h)
    await conn.open()
    h.tcp(conn.sport, 7, 5_001, flags=RST)
    await h.silence(lambda one: one.segment is not None and one.segment.dport == conn.sport, "another SYN-ACK", 2.5)


class Half:
    """A connection whose SYN-ACK is not acknowledged."""

    def __init__(self, h):
        self.h, self.sport = h, h.open_port()

    async def open(self):
        self.h.tcp(self.sport, 7, 5_000, flags=SYN, opts=options(mss(1460)))
        self.answer = await self.h.segment(lambda one: one.dport == self.sport and one.flags & SYN, "no SYN-ACK")


@probe("RFC 9293 3.10.7.4")
async def wrong_acks_of_syn_acks_are_reset(h):
    """An acknowledgement of unsent data, in reply to a SYN-ACK, gets a reset with its number."""
    conn = Half(h)
    await conn.open()
    wrong = (conn.answer.seq + 7_777) & 0xFFFFFFFF
    h.tcp(conn.sport, 7, 5_001, ack=wrong, flags=ACK)
    answer = await h.segment(lambda one: one.dport == conn.sport and one.flags & RST, "no reset")
    must(answer.seq == wrong, f"{answer}")


@probe("RFC 9293 3.10.7.4")
async def data_with_the_last_handshake_count(h):
    """Data on the segment that acknowledges the SYN-ACK are taken."""
    conn = Half(h)
    await conn.open()
    h.tcp(conn.sport, 7, 5_001, ack=conn.answer.seq + 1, flags=ACK | PSH, data=b"early")
    got = await h.segment(lambda one: one.dport == conn.sport and one.data, "no echo")
    must(got.data == b"early", f"{got}")


# Options of the handshake.


@probe("RFC 9293 3.7.1, MUST-16")
async def segments_keep_to_the_mss(h):
    """No segment is longer than the MSS that was offered."""
    conn = await h.connect(opts=options(mss(600)))
    for _ in range(4):
        await conn.say(b"x" * 500)
    longest, got = 0, 0
    while got < 2_000:
        one = await conn.any(lambda one: one.data, f"{got} of 2000 bytes")
        longest, got = max(longest, len(one.data)), got + len(one.data)
        conn.put(ack=one.seq + len(one.data))
    must(longest <= 600, f"{longest} bytes")


@probe("RFC 9293 3.7.1, MUST-15")
async def without_an_mss_segments_are_short(h):
    """To a peer that offers no MSS full segments have 536 bytes, with IPv6 1220."""
    conn = await h.connect(opts=b"")
    await conn.say(b"x" * 1_400)
    full = 536 if h.family == 4 else 1_220
    one = await conn.any(lambda one: one.data, "no echo")
    must(len(one.data) == full, f"{len(one.data)} bytes")


@probe("RFC 7323 3.2")
async def timestamps_are_taken(h):
    """To a SYN with timestamps the SYN-ACK has some, and echoes."""
    answer = await opened(h, opts=options(mss(1460), SACK_OK, times(777_777)))
    must(8 in answer.options, "no timestamps")
    must(struct.unpack("!II", answer.options[8])[1] == 777_777, "another echo")


@probe("RFC 7323 3.2")
async def timestamps_are_not_forced(h):
    """To a SYN without timestamps there are none."""
    must(8 not in (await opened(h)).options, "timestamps")


@probe("RFC 7323 3.2")
async def timestamps_are_on_all_segments(h):
    """Once agreed on, all segments but resets have timestamps."""
    conn = await stamped(h)
    await conn.say(b"hello")
    for _ in range(2):
        one = await conn.any(lambda one: True, "no answer")
        must(8 in one.options, f"none on {one}")
        if one.data:
            break


async def stamped(h, **rest):
    """A connection with timestamps and SACK."""
    conn = await h.connect(opts=options(mss(1460), SACK_OK, times(100_000)), stamp=100_000, **rest)
    must(8 in conn.answer.options, "no timestamps")
    return conn


@probe("RFC 7323 4.3")
async def the_last_timestamp_is_echoed(h):
    """The timestamp of the last segment in order is echoed."""
    conn = await stamped(h)
    conn.stamp += 500
    await conn.say(b"hello")
    one = await conn.any(lambda one: one.ack == conn.seq, "no acknowledgement")
    must(struct.unpack("!II", one.options[8])[1] == conn.stamp, "another echo")


@probe("RFC 7323 5.3")
async def old_timestamps_are_dropped(h):
    """A segment with a timestamp of before is acknowledged and not taken (PAWS)."""
    conn = await stamped(h)
    conn.stamp += 5_000
    await conn.alive()
    conn.stamp -= 4_000
    conn.put(ACK | PSH, b"old news")
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(one.ack == conn.seq and not one.data, f"took it: {one}")


@probe("RFC 7323 3.2")
async def resets_need_no_timestamp(h):
    """A reset without timestamps counts."""
    conn = await stamped(h)
    conn.put(RST, opts=b"")
    conn.put(ACK)
    await conn.any(lambda one: one.flags & RST, "the connection is still there")


@probe("RFC 7323 2.2")
async def scaling_is_taken(h):
    """To a SYN with a window scale the SYN-ACK has one."""
    must(3 in (await opened(h, opts=options(mss(1460), scale(7)))).options, "no window scale")


@probe("RFC 7323 2.2")
async def scaling_is_not_forced(h):
    """To a SYN without a window scale there is none."""
    must(3 not in (await opened(h)).options, "a window scale")


@probe("RFC 7323 2.3")
async def large_scales_count_as_14(h):
    """A window scale above 14 counts as 14."""
    conn = await h.connect(opts=options(mss(1460), scale(15)), window=1)
    await conn.say(b"x" * 1_000)
    must(len(await conn.read(1_000)) == 1_000, "no echo")


@probe("RFC 7323 2.3")
async def scaled_windows_are_kept_to(h):
    """No more is sent than the scaled window allows."""
    conn = await h.connect(opts=options(mss(1460), scale(8)))
    conn.window = 4
    for _ in range(3):
        await conn.say(b"x" * 1_000)
    sent = 0
    while True:
        one = await h.next(lambda one: one.segment and conn.is_ours(one.segment) and one.segment.data, 0.5)
        if not one:
            break
        sent = max(sent, (one.segment.seq + len(one.segment.data) - conn.ack) & 0xFFFFFFFF)
    must(0 < sent <= 1_024, f"{sent} bytes")


@probe("RFC 2018 2")
async def sack_is_taken(h):
    """To a SYN that permits SACK the SYN-ACK does as well."""
    must(4 in (await opened(h, opts=options(mss(1460), SACK_OK))).options, "not permitted")


@probe("RFC 2018 2")
async def sack_is_not_forced(h):
    """To a SYN that does not permit SACK there is none, then or later."""
    conn = await h.connect()
    must(4 not in conn.answer.options, "permitted")
    conn.put(ACK, b"late", seq=conn.seq + 100)
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(5 not in one.options, "a SACK")


@probe("RFC 3168 6.1.1")
async def ecn_is_negotiated_or_not(h):
    """A SYN that offers ECN is answered, and data flow."""
    conn = await h.connect(opts=options(mss(1460)))
    answer = await opened(h, flags=SYN | ECE | CWR)
    must(not answer.flags & CWR, f"{answer}")
    await conn.alive()


# Data coming in.


@probe("RFC 9293 3.8.6.3, MUST-40")
async def data_are_acknowledged_in_time(h):
    """Data are acknowledged within half a second."""
    conn = await h.connect()
    await conn.say(b"hello")
    await conn.any(lambda one: one.ack == conn.seq, "not within 0.5 s", 0.5)


@probe("RFC 5681 4.2")
async def every_second_segment_is_acknowledged(h):
    """Of two full segments at least one is acknowledged at once."""
    conn = await h.connect()
    await conn.say(b"a" * 1_400)
    await conn.say(b"b" * 1_400)
    await conn.any(lambda one: one.ack == conn.seq, "not at once", 0.3)


@probe("RFC 5681 4.2")
async def gaps_are_acknowledged_at_once(h):
    """A segment ahead of a gap gets a duplicate acknowledgement at once."""
    conn = await h.connect()
    conn.put(ACK, b"late", seq=conn.seq + 100)
    one = await conn.any(lambda one: True, "not at once", 0.3)
    must(one.ack == conn.seq, f"{one}")


@probe("RFC 5681 4.2, RFC 9293 3.10.7.4")
async def filled_gaps_are_acknowledged_at_once(h):
    """Data ahead of a gap are kept, and acknowledged at once when the gap is filled."""
    conn = await h.connect()
    conn.put(ACK | PSH, b"world", seq=conn.seq + 5)
    conn.put(ACK | PSH, b"hello")
    await conn.any(lambda one: one.ack == conn.seq + 10, "not at once", 0.3)


@probe("RFC 9293 3.10.7.4")
async def order_is_restored(h):
    """Segments out of order are echoed in order."""
    conn = await h.connect()
    first = conn.seq
    for at in (10, 5, 0):
        conn.put(ACK | PSH, b"0123456789abcde"[at : at + 5], seq=first + at)
    conn.seq += 15
    must(await conn.read(15) == b"0123456789abcde", "another order")


@probe("RFC 9293 3.10.7.4")
async def repeats_are_acknowledged(h):
    """A segment that comes again is acknowledged and not taken."""
    conn = await h.connect()
    before = conn.seq
    await conn.alive(b"once")
    conn.put(ACK | PSH, b"once", seq=before)
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(one.ack == conn.seq and not one.data, f"{one}")


@probe("RFC 9293 3.10.7.4")
async def old_parts_are_cut_off(h):
    """Of a segment that is known in part the rest is taken."""
    conn = await h.connect()
    before = conn.seq
    await conn.alive(b"once")
    conn.put(ACK | PSH, b"once more", seq=before)
    conn.seq += 5
    must(await conn.read(5) == b" more", "another rest")


@probe("RFC 9293 3.10.7.4")
async def data_beyond_the_window_are_dropped(h):
    """A segment beyond the window is acknowledged and not taken."""
    conn = await h.connect()
    conn.put(ACK | PSH, b"far", seq=conn.seq + 0x2000_0000)
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(one.ack == conn.seq and not one.flags & RST, f"{one}")
    await conn.alive()


@probe("RFC 9293 3.10.7.4")
async def data_without_ack_are_dropped(h):
    """A segment without acknowledgement is not taken once the connection is open."""
    conn = await h.connect()
    conn.put(PSH, b"rude")
    await conn.nothing(lambda one: one.data or one.ack != conn.seq, "took it")
    await conn.alive()


@probe("RFC 9293 3.8.4")
async def keep_alives_are_answered(h):
    """A segment one before the window, without data, is acknowledged."""
    conn = await h.connect()
    await conn.alive()
    conn.put(ACK, seq=conn.seq - 1)
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(one.ack == conn.seq, f"{one}")


@probe("RFC 9293 3.8.4")
async def keep_alives_with_a_byte_are_answered(h):
    """A segment one before the window, with a byte, is acknowledged."""
    conn = await h.connect()
    await conn.alive()
    conn.put(ACK, b"?", seq=conn.seq - 1)
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(one.ack == conn.seq and not one.data, f"{one}")


@probe("RFC 9293 3.8.5, MUST-30 MUST-31")
async def urgent_data_do_no_harm(h):
    """Urgent data are acknowledged, and the connection continues."""
    conn = await h.connect()
    await conn.say(b"urgent", ACK | PSH | URG, urgent=6)
    await conn.any(lambda one: one.ack == conn.seq, "not acknowledged")


@probe("RFC 2018 4")
async def sacks_tell_what_is_held(h):
    """An acknowledgement of data ahead of a gap has their block."""
    conn = await sacking(h)
    conn.put(ACK, b"late", seq=conn.seq + 100)
    one = await conn.any(lambda one: 5 in one.options, "no SACK")
    must(struct.unpack("!II", one.options[5][:8]) == (conn.seq + 100, conn.seq + 104), "another block")


async def sacking(h):
    conn = await h.connect(opts=options(mss(1460), SACK_OK))
    must(4 in conn.answer.options, "SACK is not permitted")
    return conn


@probe("RFC 2018 4")
async def the_latest_block_comes_first(h):
    """The first block is the one that the latest segment belongs to, the others follow."""
    conn = await sacking(h)
    for at in (100, 300):
        conn.put(ACK, b"late", seq=conn.seq + at)
    conn.put(ACK, b"next", seq=conn.seq + 104)
    wanted = (conn.seq + 100, conn.seq + 108, conn.seq + 300, conn.seq + 304)
    await conn.any(lambda one: 5 in one.options and struct.unpack(f"!{len(one.options[5]) // 4}I", one.options[5]) == wanted, "another order")


@probe("RFC 2883 4")
async def repeats_are_reported(h):
    """With SACK, data that came twice are reported by the first block."""
    conn = await sacking(h)
    before = conn.seq
    await conn.alive(b"once")
    conn.put(ACK | PSH, b"once", seq=before)
    one = await conn.any(lambda one: True, "no acknowledgement")
    must(5 in one.options and struct.unpack("!II", one.options[5][:8]) == (before, before + 4), "not reported")


@probe("RFC 2883 4")
async def repeats_above_a_gap_are_reported(h):
    """Data that came twice ahead of a gap are reported, and behind them the block they belong to."""
    conn = await sacking(h)
    conn.put(ACK, b"latelate", seq=conn.seq + 100)
    await conn.any(lambda one: 5 in one.options, "no SACK")
    conn.put(ACK, b"late", seq=conn.seq + 100)
    one = await conn.any(lambda one: 5 in one.options, "no SACK")
    blocks = struct.unpack(f"!{len(one.options[5]) // 4}I", one.options[5])
    must(blocks == tuple(conn.seq + at for at in (100, 104, 100, 108)), f"{[b - conn.seq for b in blocks]}")


# Resets, SYNs and acknowledgements that are not what they seem.


@probe("RFC 9293 3.10.7.4")
async def a_reset_ends_the_connection(h):
    """A reset at the next number ends the connection."""
    conn = await h.connect()
    conn.put(RST)
    conn.put(ACK)
    await conn.any(lambda one: one.flags & RST, "the connection is still there")


@probe("RFC 5961 3.2")
async def a_reset_in_the_window_is_challenged(h):
    """A reset in the window, but not at its beginning, gets an acknowledgement and ends nothing."""
    conn = await h.connect()
    conn.put(RST, seq=conn.seq + 100)
    one = await conn.any(lambda one: True, "no challenge")
    must(one.flags & ACK and not one.flags & RST and one.ack == conn.seq, f"{one}")
    await conn.alive()


@probe("RFC 9293 3.10.7.4")
async def a_reset_out_of_the_window_is_dropped(h):
    """A reset out of the window gets nothing and ends nothing."""
    conn = await h.connect()
    conn.put(RST, seq=conn.seq + 0x4000_0000)
    await conn.nothing()
    await conn.alive()


@probe("RFC 5961 4.2")
async def a_syn_in_the_window_is_challenged(h):
    """A SYN in the window of an open connection gets an acknowledgement and ends nothing."""
    conn = await h.connect()
    conn.put(SYN, seq=conn.seq + 10)
    one = await conn.any(lambda one: True, "no challenge")
    must(one.flags & ACK and not one.flags & RST and one.ack == conn.seq, f"{one}")
    await conn.alive()


@probe("RFC 5961 4.2")
async def a_syn_out_of_the_window_is_challenged(h):
    """A SYN out of the window of an open connection gets an acknowledgement and ends nothing."""
    conn = await h.connect()
    conn.put(SYN, seq=conn.seq + 0x5000_0000)
    one = await conn.any(lambda one: True, "no challenge")
    must(one.flags & ACK and not one.flags & RST and one.ack == conn.seq, f"{one}")
    await conn.alive()


@probe("RFC 5961 5.2")
async def acks_of_the_future_are_challenged(h):
    """Data that acknowledge unsent data are dropped and get an acknowledgement."""
    conn = await h.connect()
    conn.put(ACK | PSH, b"future", ack=conn.ack + 100_000)
    one = await conn.any(lambda one: True, "no answer")
    must(one.flags & ACK and one.ack == conn.seq and not one.data, f"{one}")
    await conn.alive()


@probe("RFC 5961 5.2")
async def acks_of_long_ago_are_dropped(h):
    """Data that acknowledge what is older than any window are dropped."""
    conn = await h.connect()
    conn.put(ACK | PSH, b"past", ack=conn.ack - 0x2000_0000)
    await conn.nothing(lambda one: one.data or one.ack != conn.seq, "took them")
    await conn.alive()


@probe("RFC 5961 7")
async def challenges_are_limited(h):
    """Of 3,000 wrong SYNs on a connection not all get a reply."""
    conn = await h.connect()
    for _ in range(30):
        for _ in range(100):
            conn.put(SYN, seq=conn.seq + 10)
        await asyncio.sleep(0.002)
    count = 0
    while await h.next(lambda one: one.segment and conn.is_ours(one.segment), 0.3):
        count += 1
    must(count < 2_900, f"{count} answers")


# Closing.


@probe("RFC 9293 3.6")
async def fins_are_answered(h):
    """A FIN is acknowledged, and the echo server's own follows."""
    conn = await h.connect()
    await conn.say(b"", ACK | FIN)
    one = await conn.any(lambda one: one.flags & FIN, "no FIN")
    must(one.ack == conn.seq, f"{one}")


@probe("RFC 9293 3.6")
async def data_before_a_fin_are_echoed(h):
    """Data with a FIN are accepted, and the response arrives before the server's FIN."""
    conn = await h.connect()
    await conn.say(b"last words", ACK | PSH | FIN)
    must(await conn.read(10) == b"last words", "another echo")


@probe("RFC 9293 3.10.7.4")
async def fins_ahead_of_a_gap_wait(h):
    """A FIN ahead of a gap counts when the gap is filled."""
    conn = await h.connect()
    conn.put(ACK | FIN, b"world", seq=conn.seq + 5)
    await conn.nothing(lambda one: one.flags & FIN, "a FIN before the gap was filled")
    conn.put(ACK | PSH, b"hello")
    conn.seq += 11
    must(await conn.read(10) == b"helloworld", "another echo")


@probe("RFC 9293 3.10.7.4")
async def nothing_follows_a_fin(h):
    """Data behind a FIN are not taken."""
    conn = await h.connect()
    await conn.say(b"", ACK | FIN)
    await conn.any(lambda one: one.ack == conn.seq, "no acknowledgement")
    conn.put(ACK | PSH, b"more")
    await conn.nothing(lambda one: one.data or one.ack == conn.seq + 4, "took them")


@probe("RFC 9293 3.8.1, RFC 6298 5")
async def fins_are_repeated(h):
    """A FIN that is not acknowledged is sent again."""
    conn = await h.connect()
    await conn.say(b"", ACK | FIN)
    await conn.any(lambda one: one.flags & FIN, "no FIN")
    await conn.any(lambda one: one.flags & FIN, "not repeated", 4)


@probe("RFC 9293 3.10.7.1")
async def after_the_end_there_is_nobody(h):
    """When both FINs are acknowledged, more data get a reset."""
    conn = await h.connect()
    await conn.say(b"", ACK | FIN)
    fin = await conn.any(lambda one: one.flags & FIN, "no FIN")
    conn.ack = fin.seq + 1
    conn.put(ACK)
    conn.put(ACK | PSH, b"anybody?")
    await conn.any(lambda one: one.flags & RST, "no reset")


# Data going out.


async def owed(h, size=10, opts=None, window=60_000):
    """A connection with an echo of `size` bytes that is not acknowledged."""
    conn = await h.connect(opts=opts, window=window)
    for at in range(0, size, 1_400):
        await conn.say(b"x" * min(1_400, size - at))
    return conn


@probe("RFC 6298 5, RFC 9293 3.8.1")
async def data_are_repeated(h):
    """Data that are not acknowledged are sent again, the same."""
    conn = await owed(h)
    first = await conn.any(lambda one: one.data, "no echo")
    again = await conn.any(lambda one: one.data, "not repeated", 4)
    must((again.seq, again.data) == (first.seq, first.data), f"{first} and {again}")


@probe("RFC 6298 5.5, MUST-19")
async def time_outs_double(h):
    """Each time data are sent again the time until the next doubles."""
    conn = await owed(h)
    loop, at = asyncio.get_running_loop(), []
    for _ in range(5):
        await conn.any(lambda one: one.data, "not repeated", 8)
        at.append(loop.time())
    first, second = at[3] - at[2], at[4] - at[3]
    must(1.5 < second / first < 2.7, f"{first:.2f} s, then {second:.2f} s")


@probe("RFC 6298 5.2")
async def acknowledged_data_are_not_repeated(h):
    """Acknowledged data are not sent again."""
    conn = await h.connect()
    await conn.alive()
    await conn.nothing(lambda one: one.data, "sent again", 1.0)


@probe("RFC 5681 3.2")
async def three_duplicates_are_a_loss(h):
    """After three duplicate acknowledgements the segment is sent again at once."""
    conn = await owed(h, 8 * 1_400)
    for _ in range(6):
        await conn.any(lambda one: one.data, "no echo")
    for _ in range(4):
        conn.put(ACK)
    await conn.any(lambda one: one.data and one.seq == conn.ack, "not before a time-out", 0.19)


@probe("RFC 6675 5")
async def what_is_held_is_not_repeated(h):
    """Data covered by SACK are not sent again, missing data are."""
    conn = await owed(h, 8 * 1_400, opts=options(mss(1_400), SACK_OK))
    for _ in range(6):
        await conn.any(lambda one: one.data, "no echo")
    start = conn.ack
    for last in range(2, 6):
        conn.put(ACK, opts=options(b"\1\1", sack((start + 1_400, start + last * 1_400))))
    one = await conn.any(lambda one: one.data and one.seq == start, "not before a time-out", 0.19)
    conn.ack = start + 5 * 1_400
    conn.put(ACK)
    more = await h.next(lambda one: one.segment and conn.is_ours(one.segment) and one.segment.data, 0.2)
    must(len(one.data) == 1_400, f"{one}")
    must(not more or (more.segment.seq - start) & 0xFFFFFFFF >= 5 * 1_400, "sent again what was held")


@probe("RFC 8985 7")
async def lost_tails_are_probed(h):
    """Without any acknowledgement the last segment is sent again first; a time-out would begin with the first."""
    conn = await owed(h, 3 * 1_400, opts=options(mss(1_400), SACK_OK))
    tail = conn.ack + 2 * 1_400
    await conn.any(lambda one: one.data and one.seq == tail, "no echo")
    again = await conn.any(lambda one: one.data, "nothing again", 4)
    must(again.seq == tail, f"{again}")


@probe("RFC 5681 3.1")
async def the_first_window_is_small(h):
    """No more than ten segments are sent before the first acknowledgement (RFC 6928)."""
    conn = await h.connect(opts=options(mss(500)))
    conn.put(ACK)
    for _ in range(20):
        await conn.say(b"x" * 500, ack=conn.ack)
    seen = set()
    while one := await h.next(lambda one: one.segment and conn.is_ours(one.segment) and one.segment.data, 0.15):
        seen.add(one.segment.seq)
    must(0 < len(seen) <= 11, f"{len(seen)} segments")


@probe("RFC 9293 3.8.6.1, MUST-36")
async def closed_windows_are_probed(h):
    """A closed window is probed."""
    conn = await h.connect()
    await conn.say(b"hello", window=0)
    await conn.any(lambda one: one.ack == conn.seq, "not acknowledged")
    one = await conn.any(lambda one: True, "no probe", 4)
    must(len(one.data) <= 1, f"{one}")


@probe("RFC 9293 3.8.6.1, MUST-37")
async def closed_windows_may_stay_closed(h):
    """As long as probes get replies the connection stays."""
    conn = await h.connect()
    conn.window = 0
    await conn.say(b"hello")
    await conn.any(lambda one: one.ack == conn.seq, "not acknowledged")
    for _ in range(3):
        await conn.any(lambda one: True, "no probe", 5)
        conn.put(ACK)
    conn.window = 60_000
    conn.put(ACK)
    must(await conn.read(5) == b"hello", "another echo")


@probe("RFC 9293 3.8.6")
async def opened_windows_are_used_at_once(h):
    """When a closed window opens, data come at once."""
    conn = await h.connect()
    await conn.say(b"hello", window=0)
    await conn.any(lambda one: one.ack == conn.seq, "not acknowledged")
    conn.put(ACK)
    await conn.any(lambda one: one.data, "not at once", 0.15)


@probe("RFC 9293 3.8.6, MUST-34")
async def windows_may_shrink(h):
    """A window that shrinks ends nothing: what was sent beyond it comes when it opens."""
    conn = await owed(h, 4 * 1_400)
    await conn.any(lambda one: one.data, "no echo")
    conn.put(ACK, window=100)
    await asyncio.sleep(0.1)
    conn.put(ACK)
    must(len(await conn.read(4 * 1_400, 4)) == 4 * 1_400, "not all")


@probe("RFC 9293 3.9.1.2, MUST-61")
async def the_last_segment_is_pushed(h):
    """The last segment of what is sent has PSH."""
    conn = await h.connect()
    await conn.say(b"hello")
    one = await conn.any(lambda one: one.data, "no echo")
    must(one.flags & PSH, f"{one}")


# ICMP about TCP.


def quoted(h, conn, seq, size=8):
    """A segment of the target, as an error quotes it."""
    body = struct.pack("!HHI", 7, conn.sport, seq & 0xFFFFFFFF) + b"\0" * (size - 8)
    if h.family == 4:
        return h.packet(TCP, body, src=h.target, dst=h.address)
    return h.packet(TCP, body.ljust(20, b"\0"), src=h.target, dst=h.address)


async def survives(h, kind, code, seq=0, rest=b"\0\0\0\0"):
    """An ICMP error about data in flight ends nothing."""
    conn = await owed(h)
    await conn.any(lambda one: one.data, "no echo")
    h.icmp(kind, code, rest + quoted(h, conn, conn.ack + seq, 20))
    await conn.nothing(lambda one: one.flags & RST, "a reset", 0.1)
    await conn.read(10, 4)
    await conn.alive()


@probe("RFC 9293 3.9.2.2, MUST-56")
async def unreachable_networks_end_nothing(h):
    """"Network unreachable" ends no open connection."""
    await survives(h, *((3, 0) if h.family == 4 else (1, 0)))


@probe("RFC 9293 3.9.2.2, MUST-56")
async def time_exceeded_ends_nothing(h):
    """"Time exceeded" ends no open connection."""
    await survives(h, *((11, 0) if h.family == 4 else (3, 0)))


@probe("RFC 9293 3.9.2.2, MUST-56")
async def parameter_problems_end_nothing(h):
    """"Parameter problem" ends no open connection."""
    await survives(h, *((12, 0) if h.family == 4 else (4, 1)))


@probe("RFC 9293 3.9.2.2, MUST-55", V4)
async def source_quench_is_discarded(h):
    """Source quench ends no open connection, nor holds it up."""
    await survives(h, 4, 0)


@probe("RFC 5927 4.1, 5.2")
async def forged_hard_errors_end_nothing(h):
    """"Port unreachable" about what is not in flight ends nothing."""
    await survives(h, *((3, 3) if h.family == 4 else (1, 4)), seq=500_000)


@probe("RFC 5927 5.2")
async def hard_errors_end_no_open_connection(h):
    """"Port unreachable" ends no open connection."""
    await survives(h, *((3, 3) if h.family == 4 else (1, 4)))


def too_big(h, conn, seq, size):
    if h.family == 4:
        h.icmp(3, 4, struct.pack("!HH", 0, size) + quoted(h, conn, seq, 20))
    else:
        h.icmp(2, 0, struct.pack("!I", size) + quoted(h, conn, seq, 20))


async def repeated_size(conn):
    """Bytes of the first segment, sent again."""
    one = await conn.any(lambda one: one.data and one.seq == conn.ack, "not repeated", 4)
    return len(one.data)


@probe("RFC 1191 3, RFC 8201 4")
async def shorter_paths_get_shorter_segments(h):
    """"Too big" about data in flight makes segments shorter."""
    conn = await owed(h, 4 * 1_400)
    await conn.any(lambda one: one.data, "no echo")
    while await h.next(lambda one: one.segment and conn.is_ours(one.segment), 0.05):
        pass
    size = 1_000 if h.family == 4 else 1_290
    too_big(h, conn, conn.ack, size)
    most = size - (40 if h.family == 4 else 60)
    must(await repeated_size(conn) <= most, "no shorter")


@probe("RFC 5927 7.2")
async def forged_path_mtus_are_ignored(h):
    """"Too big" about what is not in flight changes nothing."""
    conn = await owed(h, 4 * 1_400)
    await conn.any(lambda one: one.data, "no echo")
    while await h.next(lambda one: one.segment and conn.is_ours(one.segment), 0.05):
        pass
    too_big(h, conn, conn.ack + 500_000, 700 if h.family == 4 else 1_280)
    must(await repeated_size(conn) >= 1_300, "shorter")


@probe("RFC 8201 4", V6)
async def paths_are_not_narrower_than_1280(h):
    """"Too big" with less than 1280 bytes makes no segment shorter than what fits 1280."""
    conn = await owed(h, 4 * 1_400)
    await conn.any(lambda one: one.data, "no echo")
    while await h.next(lambda one: one.segment and conn.is_ours(one.segment), 0.05):
        pass
    too_big(h, conn, conn.ack, 600)
    must(await repeated_size(conn) >= 1_200, "shorter")


# IP.


@probe("RFC 1122 3.2.1.1", V4)
async def other_versions_are_dropped(h):
    """An IPv4 packet with another version is dropped."""
    await unanswered(h, version=5)


@probe("RFC 1122 3.2.1.2", V4)
async def wrong_header_checksums_are_dropped(h):
    """A packet with a wrong header checksum is dropped."""
    sport = h.open_port()
    h.tcp(sport, 7, 5_000, flags=SYN, bad=False)
    await h.segment(lambda one: one.dport == sport, "no SYN-ACK")
    body = with_sum(h.address, h.target, TCP, struct.pack("!HHIIBBHHH", sport + 500, 7, 1, 0, 0x50, SYN, 6_000, 0, 0), 16)
    h.send(TCP, body, bad=True)
    await h.silence(lambda one: one.segment and one.segment.dport == sport + 500, "an answer")


@probe("RFC 791 3.1, RFC 8200 3")
async def packets_longer_than_their_frame_are_dropped(h):
    """A packet with a length beyond its frame is dropped."""
    sport = h.open_port()
    body = struct.pack("!HHIIBBHHH", sport, 7, 1, 0, 0x50, SYN, 6_000, 0, 0)
    body = with_sum(h.address, h.target, TCP, body + b"x" * 60, 16)
    h.send(TCP, body, **({"total": 500} if h.family == 4 else {"length": 500}))
    await h.silence(lambda one: one.segment and one.segment.dport == sport, "an answer")


@probe("RFC 894, RFC 2464")
async def padding_is_no_data(h):
    """Bytes behind a packet in its frame are not data."""
    conn = await h.connect()
    conn.put(ACK)
    packet = h.packet(TCP, with_sum(h.address, h.target, TCP, struct.pack("!HHIIBBHHH", conn.sport, 7, conn.seq, conn.ack, 0x50, ACK | PSH, 60_000, 0, 0) + b"hi", 16))
    h.frame(packet + b"padding" * 10)
    conn.seq += 2
    must(await conn.read(2) == b"hi", "took the padding")
    await conn.nothing(lambda one: one.data, "took the padding")


@probe("RFC 1122 3.2.1.7, RFC 8200 3")
async def the_last_hop_counts(h):
    """A packet whose TTL or hop limit is 1 is taken."""
    await opened(h, ttl=1)


@probe("RFC 1122 3.2.1.6, RFC 8200 7")
async def any_class_of_service_is_served(h):
    """A packet with any type of service or traffic class is taken."""
    await opened(h, tos=0xB8)


@probe("RFC 9293 3.9.2, MUST-50", V4)
async def ip_options_are_passed_over(h):
    """A SYN with IP options is answered."""
    sport = h.open_port()
    body = struct.pack("!HHIIBBHHH", sport, 7, 1, 0, 0x50, SYN, 6_000, 0, 0)
    h.send(TCP, with_sum(h.address, h.target, TCP, body, 16), opts=b"\1\1\1\0")
    await h.segment(lambda one: one.dport == sport and one.flags & SYN, "no SYN-ACK")


@probe("RFC 9293 3.9.2, MUST-50", V4)
async def unknown_ip_options_are_passed_over(h):
    """A SYN with an unknown IP option is answered."""
    sport = h.open_port()
    body = struct.pack("!HHIIBBHHH", sport, 7, 1, 0, 0x50, SYN, 6_000, 0, 0)
    h.send(TCP, with_sum(h.address, h.target, TCP, body, 16), opts=bytes([30, 4, 0, 0]))
    await h.segment(lambda one: one.dport == sport and one.flags & SYN, "no SYN-ACK")


def pieces(h, proto, body, cut, ident):
    """Sends a packet in two fragments."""
    if h.family == 4:
        h.send(proto, body[:cut], fragment=0x2000, ident=ident)
        h.send(proto, body[cut:], fragment=cut // 8, ident=ident)
    else:
        h.send(44, struct.pack("!BBHI", proto, 0, 1, ident) + body[:cut])
        h.send(44, struct.pack("!BBHI", proto, 0, cut, ident) + body[cut:])


@probe("RFC 1122 3.3.2, RFC 8200 4.5")
async def fragments_of_datagrams_are_joined(h):
    """A UDP datagram in two fragments is served."""
    body = h.datagram(h.open_port(), 7, b"d" * 1_000)
    pieces(h, UDP, body, 504, 77)
    must(await h.next(lambda one: one.proto == UDP and len(one.body) == 1_008), "no echo")


@probe("RFC 1122 3.3.2, RFC 8200 4.5")
async def fragments_of_echoes_are_joined(h):
    """An echo request in two fragments is answered."""
    kind = 8 if h.family == 4 else 128
    body = h.icmp_message(kind, 0, struct.pack("!HH", 4_711, 1) + b"e" * 1_000)
    pieces(h, ICMP if h.family == 4 else ICMPV6, body, 504, 78)
    must(await h.echoed(4_711), "no reply")


@probe("RFC 1122 3.3.2, RFC 8200 4.5")
async def fragments_of_segments_are_joined(h):
    """A TCP segment in two fragments is taken."""
    conn = await h.connect()
    body = struct.pack("!HHIIBBHHH", conn.sport, 7, conn.seq, conn.ack, 0x50, ACK | PSH, 60_000, 0, 0) + b"f" * 1_000
    pieces(h, TCP, with_sum(h.address, h.target, TCP, body, 16), 504, 79)
    conn.seq += 1_000
    must(len(await conn.read(1_000)) == 1_000, "no echo")


# UDP.


async def udp_echo(h, data=b"hello", wanted=True, **rest):
    sport = h.open_port()
    h.udp(sport, 7, data, **rest)
    ours = lambda one: one.proto == UDP and struct.unpack("!HH", one.body[:4]) == (7, sport)
    if not wanted:
        return await h.silence(ours, "an answer")
    answer = await h.next(ours)
    must(answer, "no echo")
    must(answer.body[8:] == data, "another echo")
    return answer


@probe("RFC 768")
async def datagrams_are_echoed(h):
    """A datagram is served."""
    await udp_echo(h)


@probe("RFC 1122 4.1.3.4, RFC 8200 8.1")
async def answers_have_a_checksum(h):
    """The reply has a checksum, and it is right."""
    answer = await udp_echo(h)
    must(answer.body[6:8] != b"\0\0", "none")
    must(fold(pseudo(answer.src, answer.dst, UDP, len(answer.body)) + answer.body) == 0xFFFF, "a wrong one")


@probe("RFC 1122 4.1.3.5")
async def answers_come_from_the_address_asked(h):
    """The reply comes from the requested address."""
    must((await udp_echo(h)).src == h.target, "another one")


@probe("RFC 1122 4.1.3.4")
async def wrong_udp_checksums_are_dropped(h):
    """A datagram with a wrong checksum is dropped."""
    await udp_echo(h, sum_=0x1234, wanted=False)


@probe("RFC 768", V4)
async def no_checksum_is_fine(h):
    """Over IPv4 a datagram needs no checksum."""
    await udp_echo(h, sum_=0)


@probe("RFC 8200 8.1", V6)
async def no_checksum_is_dropped(h):
    """Over IPv6 a datagram without checksum is dropped."""
    await udp_echo(h, sum_=0, wanted=False)


@probe("RFC 768")
async def short_udp_lengths_are_dropped(h):
    """A datagram whose length is below 8 is dropped."""
    await udp_echo(h, length=4, wanted=False)


@probe("RFC 768")
async def long_udp_lengths_are_dropped(h):
    """A datagram with a length beyond its packet is dropped."""
    await udp_echo(h, length=400, wanted=False)


@probe("RFC 8085 3.4")
async def large_datagrams_are_echoed(h):
    """A datagram of the whole MTU is served."""
    await udp_echo(h, b"x" * 1_440)


UNREACHABLE = {4: (3, 3), 6: (1, 4)}


async def port_error(h, data=b"anybody?", **rest):
    sport = h.open_port()
    h.udp(sport, CLOSED, data, **rest)
    return sport, await h.error(*UNREACHABLE[h.family])


@probe("RFC 1122 4.1.3.1, RFC 4443 3.1")
async def closed_ports_are_told(h):
    """A datagram to a closed port gets "port unreachable"."""
    _, answer = await port_error(h)
    must(answer, "no error")
    must(answer.src == h.target, "from another address")


@probe("RFC 1122 3.2.2, RFC 4443 2.4")
async def errors_repeat_the_packet(h):
    """An error repeats the packet's header and at least eight bytes behind it."""
    sport, answer = await port_error(h)
    must(answer, "no error")
    head = 20 if h.family == 4 else 40
    must(answer.body[8 + head : 8 + head + 4] == struct.pack("!HH", sport, CLOSED), "another packet")


@probe("RFC 4443 2.4 (c)", V6)
async def errors_repeat_all_that_fits(h):
    """An error repeats as much of the packet as fits 1280 bytes."""
    _, answer = await port_error(h, b"x" * 1_300)
    must(answer, "no error")
    must(len(answer.body) + 40 == 1_280, f"{len(answer.body) + 40} bytes")


@probe("RFC 1812 4.3.2.3", V4)
async def errors_repeat_more_than_eight_bytes(h):
    """An error repeats as much of the packet as fits 576 bytes."""
    _, answer = await port_error(h, b"x" * 1_000)
    must(answer, "no error")
    must(500 <= len(answer.body) + 20 <= 576, f"{len(answer.body) + 20} bytes")


@probe("RFC 792, RFC 4443 2.3")
async def errors_have_a_right_checksum(h):
    """The checksum of an error is right."""
    _, answer = await port_error(h)
    must(answer, "no error")
    whole = answer.body if h.family == 4 else pseudo(answer.src, answer.dst, ICMPV6, len(answer.body)) + answer.body
    must(fold(whole) == 0xFFFF, "it is wrong")


@probe("RFC 1122 3.2.2, RFC 4443 2.4 (e.3)")
async def groups_get_no_errors(h):
    """A datagram to a closed port of a multicast address gets no error."""
    group = packed("224.0.0.1" if h.family == 4 else "ff02::1")
    to = b"\1\0\x5e\0\0\1" if h.family == 4 else b"\x33\x33\0\0\0\1"
    h.udp(h.open_port(), CLOSED, b"anybody?", dst=group, to=to)
    await silent_icmp(h)


@probe("RFC 1122 3.2.2", V4)
async def broadcasts_get_no_errors(h):
    """A datagram to a closed port in a broadcast frame gets no error."""
    h.udp(h.open_port(), CLOSED, b"anybody?", dst=packed("255.255.255.255"), to=b"\xff" * 6)
    await silent_icmp(h)


async def silent_icmp(h, seconds=0.4):
    errors = {4: {3, 4, 11, 12}, 6: {1, 2, 3, 4}}[h.family]
    proto = ICMP if h.family == 4 else ICMPV6
    await h.silence(lambda one: one.proto == proto and one.body[0] in errors, "an error", seconds)


@probe("RFC 1122 3.2.2, RFC 4443 2.4 (e.1)")
async def errors_get_no_errors(h):
    """An ICMP error gets no error, whatever it is about."""
    inner = h.packet(UDP, h.datagram(1, CLOSED, b"x" * 20, src=h.target, dst=h.address), src=h.target, dst=h.address)
    h.icmp(*UNREACHABLE[h.family], b"\0\0\0\0" + inner)
    await silent_icmp(h)


@probe("RFC 1122 3.2.2", V4)
async def later_fragments_get_no_errors(h):
    """A fragment that is not the first gets no error."""
    h.send(UDP, b"x" * 64, fragment=100, ident=99)
    await silent_icmp(h)


# ICMP.


@probe("RFC 1122 3.2.2.6, RFC 4443 4.2")
async def echoes_are_answered(h):
    """An echo request is answered."""
    h.ping(101)
    answer = await h.echoed(101)
    must(answer, "no reply")
    must(answer.src == h.target, "from another address")


@probe("RFC 1122 3.2.2.6, RFC 4443 4.2")
async def echoes_have_the_same_data(h):
    """The reply has the request's identifier, number and data."""
    data = bytes(range(256)) * 4
    h.ping(102, data)
    answer = await h.echoed(102)
    must(answer, "no reply")
    must(answer.body[4:] == struct.pack("!HH", 102, 7) + data, "others")


@probe("RFC 792, RFC 4443 4.2")
async def replies_have_a_right_checksum(h):
    """The reply's checksum is right."""
    h.ping(103)
    answer = await h.echoed(103)
    must(answer, "no reply")
    whole = answer.body if h.family == 4 else pseudo(answer.src, answer.dst, ICMPV6, len(answer.body)) + answer.body
    must(fold(whole) == 0xFFFF, "it is wrong")


@probe("RFC 1122 3.2.2, RFC 4443 2.3")
async def wrong_icmp_checksums_are_dropped(h):
    """An echo request with a wrong checksum is dropped."""
    h.ping(104, bad=True)
    must(not await h.echoed(104, 0.4), "a reply")


@probe("RFC 1122 3.2.2.6, RFC 4443 4.2")
async def large_echoes_are_answered(h):
    """An echo request of the whole MTU is answered."""
    h.ping(105, b"x" * 1_440)
    must(await h.echoed(105), "no reply")


@probe("RFC 792, RFC 4443 4.2")
async def empty_echoes_are_answered(h):
    """An echo request without data is answered."""
    h.ping(106, b"")
    must(await h.echoed(106), "no reply")


@probe("RFC 1122 3.2.2, RFC 4443 2.4 (b)")
async def unknown_icmp_is_dropped(h):
    """An ICMP message of an unknown type gets no reply, and echoes continue."""
    h.icmp(100 if h.family == 4 else 200, 0, b"\0" * 20)
    await silent_icmp(h)
    h.ping(107)
    must(await h.echoed(107), "no reply")


@probe("RFC 1122 3.2.2.1", V4)
async def unknown_protocols_are_told(h):
    """A packet of an unknown protocol gets "protocol unreachable"."""
    h.send(253, b"x" * 40)
    answer = await h.error(3, 2)
    must(answer, "no error")
    must(answer.body[8 + 9] == 253, "about another packet")


@probe("RFC 4443 3.4", V6)
async def unknown_next_headers_are_told(h):
    """A packet with an unknown next header gets "parameter problem" 1, which points at it."""
    h.send(253, b"x" * 40)
    answer = await h.error(4, 1)
    must(answer, "no error")
    must(struct.unpack("!I", answer.body[4:8])[0] == 6, "points elsewhere")


@probe("RFC 1122 3.2.2", V4)
async def nobody_hears_of_group_protocols(h):
    """A packet of an unknown protocol to a multicast address gets nothing."""
    h.send(253, b"x" * 40, dst=packed("224.0.0.1"), to=b"\1\0\x5e\0\0\1")
    await silent_icmp(h)


# IPv6 headers.


def option_header(next_header, *parts):
    body = b"".join(parts)
    size = -(2 + len(body)) % 8
    if size:
        body += b"\0" if size == 1 else bytes([1, size - 2]) + b"\0" * (size - 2)
    return bytes([next_header, (2 + len(body)) // 8 - 1]) + body


async def behind(h, proto, *headers, ident=300, wanted=True):
    """An echo request behind extension headers."""
    message = h.icmp_message(128, 0, struct.pack("!HH", ident, 1) + b"x" * 8)
    h.send(proto, b"".join(headers) + message)
    if wanted:
        must(await h.echoed(ident), "no reply")


HOP, ROUTING, FRAGMENT, NONE, DESTINATION = 0, 43, 44, 59, 60


@probe("RFC 8200 4.6", V6)
async def destination_options_are_passed_over(h):
    """Destination options of padding are passed over."""
    await behind(h, DESTINATION, option_header(ICMPV6), ident=301)


@probe("RFC 8200 4.3", V6)
async def hop_by_hop_options_are_passed_over(h):
    """Hop-by-hop options of padding are passed over."""
    await behind(h, HOP, option_header(ICMPV6), ident=302)


@probe("RFC 8200 4.1", V6)
async def many_headers_are_passed_over(h):
    """Hop-by-hop options, destination options and a finished routing header are passed over in a row."""
    routing = struct.pack("!BBBBI", DESTINATION, 0, 250, 0, 0)
    await behind(h, HOP, option_header(ROUTING), routing, option_header(ICMPV6), ident=303)


@probe("RFC 8200 4.2", V6)
async def options_to_skip_are_skipped(h):
    """An unknown option whose two highest bits are 00 is passed over."""
    await behind(h, DESTINATION, option_header(ICMPV6, b"\x1e\2ab"), ident=304)


@probe("RFC 8200 4.2", V6)
async def options_to_drop_are_dropped(h):
    """An unknown option whose two highest bits are 01 makes the packet dropped, without a word."""
    await behind(h, DESTINATION, option_header(ICMPV6, b"\x5e\2ab"), ident=305, wanted=False)
    must(not await h.echoed(305, 0.4), "a reply")
    await silent_icmp(h, 0.1)


async def told_of_option(h, kind, where):
    await behind(h, where, option_header(ICMPV6, bytes([kind, 2]) + b"ab"), ident=306, wanted=False)
    answer = await h.error(4, 2)
    must(answer, "no error")
    must(struct.unpack("!I", answer.body[4:8])[0] == 42, "points elsewhere")


@probe("RFC 8200 4.2", V6)
async def options_to_tell_of_are_told(h):
    """An unknown option whose two highest bits are 10 gets "parameter problem" 2, which points at it."""
    await told_of_option(h, 0x9E, DESTINATION)


@probe("RFC 8200 4.2", V6)
async def options_to_tell_of_alone_are_told(h):
    """An unknown option whose two highest bits are 11 gets the same if the packet was to this host alone."""
    await told_of_option(h, 0xDE, DESTINATION)


@probe("RFC 8200 4.2", V6)
async def hop_by_hop_options_are_told(h):
    """An unknown hop-by-hop option whose two highest bits are 10 gets "parameter problem" 2."""
    await told_of_option(h, 0x9E, HOP)


@probe("RFC 8200 4.4", V6)
async def unknown_routes_that_go_on_are_told(h):
    """A routing header of an unknown type that is not at its end gets "parameter problem" 0, which points at the type."""
    await behind(h, ROUTING, struct.pack("!BBBBI", ICMPV6, 0, 250, 1, 0), ident=307, wanted=False)
    answer = await h.error(4, 0)
    must(answer, "no error")
    must(struct.unpack("!I", answer.body[4:8])[0] == 42, "points elsewhere")


@probe("RFC 8200 4.4", V6)
async def unknown_routes_at_their_end_are_passed_over(h):
    """A routing header of an unknown type at its end is passed over."""
    await behind(h, ROUTING, struct.pack("!BBBBI", ICMPV6, 0, 250, 0, 0), ident=308)


@probe("RFC 5095 3", V6)
async def type_0_routes_are_told(h):
    """A routing header of type 0 is as one of an unknown type."""
    route = struct.pack("!BBBBI", ICMPV6, 2, 0, 1, 0) + packed("2001:2:9::1:99")
    await behind(h, ROUTING, route, ident=309, wanted=False)
    must(await h.error(4, 0), "no error")


@probe("RFC 8200 4.1", V6)
async def late_hop_by_hop_options_are_told(h):
    """Hop-by-hop options behind another header get "parameter problem" 1."""
    await behind(h, DESTINATION, option_header(HOP), option_header(ICMPV6), ident=310, wanted=False)
    must(await h.error(4, 1), "no error")


@probe("RFC 8200 4.7", V6)
async def nothing_follows_no_next_header(h):
    """A packet with no next header gets nothing."""
    h.send(NONE, b"x" * 20)
    await silent_icmp(h)


@probe("RFC 6946 4", V6)
async def atomic_fragments_are_whole(h):
    """A fragment that is the whole packet is taken by itself."""
    await behind(h, FRAGMENT, struct.pack("!BBHI", ICMPV6, 0, 0, 5), ident=311)


@probe("RFC 8200 4.5", V6)
async def overlapping_fragments_are_dropped(h):
    """Of fragments that overlap nothing is taken."""
    message = h.icmp_message(128, 0, struct.pack("!HH", 312, 1) + b"o" * 1_000)
    h.send(FRAGMENT, struct.pack("!BBHI", ICMPV6, 0, 1, 6) + message[:504])
    h.send(FRAGMENT, struct.pack("!BBHI", ICMPV6, 0, 496 | 1, 6) + message[496:600])
    h.send(FRAGMENT, struct.pack("!BBHI", ICMPV6, 0, 600, 6) + message[600:])
    must(not await h.echoed(312, 0.5), "a reply")


@probe("RFC 8200 4.5", V6)
async def odd_fragments_are_told(h):
    """A fragment with more behind it whose length is no multiple of 8 gets "parameter problem" 0 about the length."""
    h.send(FRAGMENT, struct.pack("!BBHI", ICMPV6, 0, 1, 7) + b"x" * 101)
    answer = await h.error(4, 0)
    must(answer, "no error")
    must(struct.unpack("!I", answer.body[4:8])[0] == 4, "points elsewhere")


@probe("RFC 8200 4.5", V6)
async def fragments_beyond_the_end_are_told(h):
    """A fragment that would make a packet longer than 65,535 bytes gets "parameter problem" 0 about the offset."""
    h.send(FRAGMENT, struct.pack("!BBHI", ICMPV6, 0, 65_528, 8) + b"x" * 64)
    answer = await h.error(4, 0)
    must(answer, "no error")
    must(struct.unpack("!I", answer.body[4:8])[0] == 42, "points elsewhere")


@probe("RFC 8200 6", V6)
async def any_flow_label_is_served(h):
    """A packet with a flow label is taken."""
    h.ping(313, flow=0xABCDE)
    must(await h.echoed(313), "no reply")


# ARP.


async def arp_reply(h, seconds=2.0, asked=None):
    return await h.next(lambda one: one.proto == ARP and one.body[6:8] == b"\0\2" and (asked is None or one.src == asked), seconds)


def ask(h, op=1, sender=None, sender_ip=None, asked=None, **rest):
    h.wire.send(arp(h.mac, op, sender or h.mac, h.address if sender_ip is None else sender_ip, b"\0" * 6, asked or h.target, **rest))


@probe("RFC 826", V4)
async def arp_requests_are_answered(h):
    """A request for the host's address is answered with its hardware address."""
    ask(h)
    answer = await arp_reply(h)
    must(answer, "no reply")
    must(answer.body[8:14] == answer.mac and answer.body[14:18] == h.target, "another address")


@probe("RFC 826", V4)
async def arp_replies_name_the_asker(h):
    """The reply names the requester, and goes to it alone."""
    ask(h)
    answer = await arp_reply(h)
    must(answer, "no reply")
    must(answer.body[18:24] == h.mac and answer.body[24:28] == h.address and answer.to_mac == h.mac, "somebody else")


@probe("RFC 826", V4)
async def arp_requests_for_others_are_not_answered(h):
    """A request for another address gets nothing."""
    ask(h, asked=packed("10.9.77.77"))
    must(not await arp_reply(h, 0.4), "a reply")


@probe("RFC 1122 2.3.2.1", V4)
async def arp_requests_to_one_are_answered(h):
    """A request to the host's own hardware address is answered (unicast poll)."""
    ask(h, to=h.wire.target_mac)
    must(await arp_reply(h), "no reply")


@probe("RFC 5227 2.1.1", V4)
async def arp_probes_are_answered(h):
    """A probe, whose sender has no address yet, is answered."""
    h.wire.watch("0.0.0.0", h.queue)
    ask(h, sender_ip=b"\0" * 4)
    answer = await h.next(lambda one: one.proto == ARP and one.body[6:8] == b"\0\2" and one.body[18:24] == h.mac)
    must(answer, "no reply")


@probe("RFC 826", V4)
async def other_hardware_is_not_answered(h):
    """A request of another kind of hardware gets nothing."""
    ask(h, hardware=7)
    must(not await arp_reply(h, 0.4), "a reply")


@probe("RFC 826", V4)
async def other_arp_protocols_are_not_answered(h):
    """A request for another protocol gets nothing."""
    ask(h, protocol=0x0BAD)
    must(not await arp_reply(h, 0.4), "a reply")


@probe("RFC 826", V4)
async def other_arp_lengths_are_not_answered(h):
    """A request with addresses of another length gets nothing."""
    ask(h, lengths=(8, 4))
    must(not await arp_reply(h, 0.4), "a reply")


@probe("RFC 826", V4)
async def other_arp_operations_are_not_answered(h):
    """An unknown operation gets nothing."""
    ask(h, op=9)
    must(not await arp_reply(h, 0.4), "a reply")


@probe("RFC 826", V4)
async def arp_replies_are_not_answered(h):
    """An unsolicited reply gets no reply."""
    ask(h, op=2)
    must(not await arp_reply(h, 0.4), "a reply")


# Neighbour discovery.


def solicitation(h, target=None, option=None, src=None, dst=None, ttl=255, code=0, bad=False, cut=None, to=None):
    target = h.target if target is None else target
    group = packed("ff02::1:ff00:0")[:13] + target[13:]
    dst, src = group if dst is None else dst, h.address if src is None else src
    rest = b"\0" * 4 + target + (b"\1\1" + h.mac if option is None else option)
    if cut is not None:
        rest = rest[:cut]
    to = b"\x33\x33" + dst[12:] if to is None else to
    h.icmp(135, code, rest, src=src, dst=dst, ttl=ttl, bad=bad, to=to)


async def advertised(h, seconds=2.0, target=None):
    return await h.next(lambda one: one.proto == ICMPV6 and one.body[:1] == b"\x88" and one.body[8:24] == (target or h.target), seconds)


@probe("RFC 4861 7.2.4", V6)
async def solicitations_are_answered(h):
    """A solicitation for the host's address is answered."""
    solicitation(h)
    must(await advertised(h), "no advertisement")


@probe("RFC 4861 7.2.4", V6)
async def advertisements_are_solicited(h):
    """The advertisement goes to the requester, with the flag "solicited"."""
    solicitation(h)
    answer = await advertised(h)
    must(answer, "no advertisement")
    must(answer.body[4] & 0x40 and answer.dst == h.address and not answer.body[4] & 0x80, f"flags {answer.body[4]:#x}")


@probe("RFC 4861 7.2.4", V6)
async def advertisements_name_the_hardware(h):
    """The advertisement has the host's hardware address."""
    solicitation(h)
    answer = await advertised(h)
    must(answer, "no advertisement")
    must(answer.body[24:26] == b"\2\1" and answer.body[26:32] == answer.mac, "no such option")


@probe("RFC 4861 7.1.2", V6)
async def advertisements_come_from_the_link(h):
    """The advertisement's hop limit is 255, and its checksum right."""
    solicitation(h)
    answer = await advertised(h)
    must(answer, "no advertisement")
    must(answer.ttl == 255, f"hop limit {answer.ttl}")
    must(fold(pseudo(answer.src, answer.dst, ICMPV6, len(answer.body)) + answer.body) == 0xFFFF, "wrong checksum")


@probe("RFC 4861 7.2.8", V6)
async def solicitations_to_one_are_answered(h):
    """A solicitation to the host's own address is answered."""
    solicitation(h, dst=h.target, to=h.wire.target_mac)
    must(await advertised(h), "no advertisement")


async def unadvertised(h, **rest):
    """A solicitation like this gets nothing."""
    solicitation(h, **rest)
    must(not await advertised(h, 0.4), "an advertisement")


@probe("RFC 4861 7.2.3", V6)
async def solicitations_for_others_are_not_answered(h):
    """A solicitation for another address gets nothing."""
    other = packed("2001:2:9::77")
    solicitation(h, target=other)
    must(not await advertised(h, 0.4, other), "an advertisement")


@probe("RFC 4861 7.1.1", V6)
async def solicitations_from_afar_are_dropped(h):
    """A solicitation whose hop limit is not 255 is dropped."""
    await unadvertised(h, ttl=254)


@probe("RFC 4861 7.1.1", V6)
async def solicitations_with_wrong_sums_are_dropped(h):
    """A solicitation with a wrong checksum is dropped."""
    await unadvertised(h, bad=True)


@probe("RFC 4861 7.1.1", V6)
async def solicitations_with_codes_are_dropped(h):
    """A solicitation whose code is not 0 is dropped."""
    await unadvertised(h, code=1)


@probe("RFC 4861 7.1.1", V6)
async def short_solicitations_are_dropped(h):
    """A solicitation of less than 24 bytes is dropped."""
    await unadvertised(h, cut=16)


@probe("RFC 4861 7.1.1", V6)
async def empty_options_are_dropped(h):
    """A solicitation with an option of length 0 is dropped."""
    await unadvertised(h, option=b"\1\0" + h.mac)


@probe("RFC 4861 7.1.1", V6)
async def solicitations_for_groups_are_dropped(h):
    """A solicitation for a multicast address gets nothing."""
    group = packed("ff02::1")
    solicitation(h, target=group)
    must(not await advertised(h, 0.4, group), "an advertisement")


NOWHERE, ALL = b"\0" * 16, packed("ff02::1")


@probe("RFC 4862 5.4, RFC 4861 7.2.4", V6)
async def duplicates_are_told(h):
    """Duplicate address detection of another host gets an advertisement to all nodes, without "solicited"."""
    queue = h.queue
    h.wire.watch("ff02::1", queue)
    solicitation(h, src=NOWHERE, option=b"")
    answer = await h.next(lambda one: one.proto == ICMPV6 and one.body[:1] == b"\x88" and one.body[8:24] == h.target and one.dst == ALL)
    must(answer, "no advertisement")
    must(not answer.body[4] & 0x40, "solicited")


@probe("RFC 4861 7.1.1", V6)
async def nobody_has_no_hardware_address(h):
    """A solicitation from the unspecified address with a hardware address is dropped."""
    h.wire.watch("ff02::1", h.queue)
    await unadvertised(h, src=NOWHERE)


@probe("RFC 4861 7.1.1", V6)
async def nobody_asks_one(h):
    """A solicitation from the unspecified address to the host's own address is dropped."""
    h.wire.watch("ff02::1", h.queue)
    await unadvertised(h, src=NOWHERE, option=b"", dst=h.target, to=h.wire.target_mac)


@probe("RFC 4861 6.2.6", V6)
async def hosts_answer_no_router_solicitations(h):
    """A router solicitation gets nothing from a host."""
    h.icmp(133, 0, b"\0" * 4, dst=packed("ff02::2"), ttl=255, to=b"\x33\x33\0\0\0\2")
    await h.silence(lambda one: one.proto == ICMPV6 and one.body[:1] == b"\x86", "an advertisement")


@probe("RFC 4861 7.2.5", V6)
async def advertisements_are_not_answered(h):
    """An unsolicited advertisement gets no reply."""
    h.icmp(136, 0, struct.pack("!I", 0x20000000) + h.address + b"\2\1" + h.mac, ttl=255)
    await h.silence(lambda one: one.proto == ICMPV6 and one.body[0] in (135, 136) and one.body[8:24] != h.address, "an answer")


# Running them.


async def run_one(wire, number, family, function):
    """The fault; `None` without one."""
    said = None
    for attempt in range(ATTEMPTS):
        host = wire.host(family, number + attempt * 400)
        try:
            await asyncio.wait_for(function(host), 25)
            return None
        except Failure as failure:
            said = str(failure)
        except (asyncio.TimeoutError, TimeoutError):
            said = "no end"
    return said


async def run_all(interface, target4, target6):
    wire = Wire(interface, target4, target6)
    await wire.begin()
    # Initial resolution of neighbours.
    gate = asyncio.Semaphore(40)

    async def guarded(number, family, function):
        async with gate:
            return await run_one(wire, number, family, function)

    found = await asyncio.gather(*(guarded(number, one[0], one[4]) for number, one in enumerate(PROBES, 2)))
    return [[*one[:2], said] for one, said in zip(PROBES, found)]


def serve():
    """Echoes, as a program on a kernel does."""

    def echo(conn):
        with conn:
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                while data := conn.recv(65_536):
                    conn.sendall(data)
            except OSError:
                pass

    def datagrams(sock):
        while True:
            data, peer = sock.recvfrom(65_536)
            sock.sendto(data, peer)

    for family in (socket.AF_INET, socket.AF_INET6):
        udp = socket.socket(family, socket.SOCK_DGRAM)
        tcp = socket.socket(family, socket.SOCK_STREAM)
        for one in (udp, tcp):
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(("", 7))
        tcp.listen(1_000)
        threading.Thread(target=datagrams, args=(udp,), daemon=True).start()

        def accept(tcp=tcp):
            while True:
                threading.Thread(target=echo, args=(tcp.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    elif sys.argv[1] == "list":
        json.dump([one[:4] for one in PROBES], sys.stdout)
    else:
        json.dump(asyncio.run(run_all(*sys.argv[2:5])), sys.stdout)
