"""Latency at several loads, changed during one run: one table per step.

The latency of a step comes from the intervals after the change, without packets sent before it.
"""

import eagre

STEPS = ("5kpps", "20kpps", "50kpps")
SETTLE, SNAPSHOTS = 2, 5

PROFILE = eagre.Profile(
    ports={
        "west": eagre.Port(device="ring:a", ip="10.0.0.1/24"),
        "east": eagre.Port(device="ring:b", ip="10.0.0.2/24"),
    },
    streams=[eagre.Stream(name="probe", from_="west", to="east", packet=["ipv4", "udp"], size="64B", rate=STEPS[0])],
    load=eagre.Load(duration="60s", drain="50ms"),
)


def main(client: eagre.Client) -> dict[str, tuple[float, float]]:
    """For each step the achieved rate (packets/s) and the worst 99th percentile of an interval (us)."""
    found = {}
    with client.start(PROFILE, name="latency_under_load.py", keep=False) as run:
        snapshots = iter(run.snapshots(every_s=0.1))
        for step in STEPS:
            run.rate(step, stream="probe")
            seen = [next(snapshots).interval for _ in range(SETTLE + SNAPSHOTS)][SETTLE:]
            streams = [interval.streams["probe"] for interval in seen]
            rate = sum(stream.tx for stream in streams) / sum(interval.interval_s for interval in seen)
            p99 = max(stream.latency_ns.p99 or 0 for stream in streams if stream.latency_ns) / 1000
            found[step] = rate, p99
            print(f"{step:>8}: {rate:>8,.0f} packets/s, p99 {p99:,.1f} us")
    return found


if __name__ == "__main__":
    with eagre.serve() as client:
        main(client)
