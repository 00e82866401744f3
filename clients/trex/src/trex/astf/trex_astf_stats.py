"""Counters of sessions under TRex's names. Those that Eagre does not count are absent."""

# TRex's name: what it counts, and Eagre's counters under `tcp` of a side that make it up; with a star TRex sees an error.
TCP = {
    "tcps_connattempt": ("connections initiated", "opened_active"),
    "tcps_accepts": ("connections accepted", "opened_passive"),
    "tcps_connects": ("connections established", "established"),
    "tcps_sndtotal": ("total packets sent", "segments_out"),
    "tcps_sndbyte": ("data bytes sent by application", "bytes_out"),
    "tcps_sndbyte_ok": ("data bytes sent by tcp", "bytes_out"),
    "tcps_rcvtotal": ("total packets received", "segments_in"),
    "tcps_rcvbyte": ("bytes received in sequence", "bytes_in"),
    "tcps_rcvackbyte": ("tx bytes acked by rcvd acks", "bytes_acknowledged"),
    "tcps_rexmttimeo*": ("retransmit timeouts", "timeouts"),
    "tcps_rexmttimeo_syn*": ("retransmit SYN timeouts", "retransmitted_syn"),
    "tcps_keepprobe*": ("keepalive probes sent", "keep_alives"),
    "tcps_sndrexmitpack*": (
        "data packets retransmitted", "retransmitted_timeout retransmitted_fast retransmitted_other",
    ),
    "tcps_sndrexmitbyte*": ("data bytes retransmitted", "bytes_retransmitted"),
    "tcps_sndprobe*": ("window probes sent", "window_probes"),
    "tcps_rcvduppack*": ("duplicate-only packets received", "duplicates"),
    "tcps_rcvoopack*": ("out-of-order packets received", "out_of_order"),
    "tcps_rcvdupack*": ("rcvd duplicate acks", "duplicate_acks"),
    "tcps_rcvacktoomuch*": ("rcvd acks for unsent data", "bad_ack"),
    "tcps_rcvpackafterwin*": ("packets with data after window", "bad_sequence"),
    "tcps_rcvshort*": ("packets received too short", "bad_short"),
    "tcps_rcvbadoff*": ("packets received with bad offset", "bad_header_length"),
    "tcps_pawsdrop*": ("segments dropped due to PAWS", "bad_timestamp"),
    "tcps_ecn_ce": ("ECN Congestion Experienced", "congestion_experienced"),
    "tcps_ecn_rcwnd": ("times ECN reduced the cwnd", "ecn_reductions"),
}  # fmt: skip
# The same under `frames`.
FRAMES = {
    "udps_connects": ("connections established", "udp_opened"),
    "udps_accepts": ("connections accepted", "udp_accepted"),
    "udps_sndpkt": ("data packets transmitted", "datagrams_out"),
    "udps_rcvpkt": ("data packets received", "datagrams_in"),
    "udps_sndbyte": ("data bytes transmitted", "datagram_bytes_out"),
    "udps_rcvbyte": ("data bytes received", "datagram_bytes_in"),
    "err_l4_cs*": ("tcp/udp checksum error", "bad_checksum"),
    "err_flow_overflow*": ("too many flows errors", "flows_refused"),
}
# The same under `failed`: sessions by the reason of their failure.
FAILED = {
    "tcps_conndrops*": ("embryonic connections dropped", "setup_timeout refused unreachable"),
    "tcps_timeoutdrop*": ("conn. dropped in rxmt timeout", "timeout"),
    "tcps_keepdrops*": ("connections dropped in keepalive", "idle_timeout"),
    "tcps_testdrops": ("connections dropped by user at timeout (no-close flag --nc)", "aborted"),
}
FAILED_UDP = {"udps_keepdrops*": ("keepalive drop", "idle_timeout response_timeout timeout")}
EVERY = {**TCP, **FRAMES, **FAILED, **FAILED_UDP}
ERRORS = {name.rstrip("*"): entry[0] for name, entry in EVERY.items() if name.endswith("*")}
# What a moment has, not a sum.
GAUGES = ("m_active_flows", "m_est_flows")


def _picked(table, counters):
    return {name.rstrip("*"): sum(counters.get(field, 0) for field in fields.split()) for name, (_, fields) in table.items()}


def side(row, is_tcp):
    """TRex's counters of one side of an entry of the result."""
    failed = row.get("failed") or {}
    out = {"m_active_flows": row.get("active", 0), "m_est_flows": row.get("active", 0)}
    out |= _picked(FRAMES, row.get("frames") or {})
    over = row.get("completed", 0) + sum(failed.values())
    if is_tcp:
        out |= _picked(TCP, row.get("tcp") or {}) | _picked(FAILED, failed)
        return out | {"tcps_closed": over, "tcps_drops": sum(failed.values())}
    return out | _picked(FAILED_UDP, failed) | {"udps_closed": over}


def total(rows):
    """Sums of counters."""
    out = {}
    for row in rows:
        for name, value in row.items():
            out[name] = out.get(name, 0) + value
    return out


def since(now, zero):
    """Counters less what they were; what a moment has stays."""
    return {name: value if name in GAUGES else value - zero.get(name, 0) for name, value in now.items()}


def rates(rows, pps):
    """Rates of one side in an interval; `pps` are packets per second sent and received by its port."""
    sent = sum(row.get("tx_bps_goodput") or 0.0 for row in rows)
    received = sum(row.get("rx_bps_goodput") or 0.0 for row in rows)
    out = {"m_tx_bw_l7_r": sent, "m_tx_bw_l7_total_r": sent, "m_rx_bw_l7_r": received}
    out |= {"m_tx_pps_r": pps[0], "m_rx_pps_r": pps[1]}
    out["m_avg_size"] = (sent + received) / 8 / sum(pps) if sum(pps) else 0.0
    return out


def errors(traffic):
    """Whether counters have errors, and which, with their meaning."""
    found = {end: {name: ERRORS[name] for name, value in traffic.get(end, {}).items() if value and name in ERRORS}
             for end in ("client", "server")}  # fmt: skip
    return any(found.values()), found
