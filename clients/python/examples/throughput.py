"""A load between two ports, watched while it runs, with its verdict.

python throughput.py [URL]      without a URL, on its own local server
"""

import sys

import eagre

PROFILE = eagre.Profile(
    ports={
        "west": eagre.Port(device="ring:a", ip="10.0.0.1/24"),
        "east": eagre.Port(device="ring:b", ip="10.0.0.2/24"),
    },
    streams=[
        eagre.Stream(name="small", from_="west", to="east", packet=["ipv4", "udp"], size="64B", rate="20kpps"),
        eagre.Stream(name="mixed", from_="east", to="west", packet=["ipv4", "udp"], size="imix", rate="5kpps"),
    ],
    criteria={"streams.small.loss_ratio": "== 0"},
    load=eagre.Load(duration="1s", drain="100ms"),
)


def main(client: eagre.Client) -> eagre.Result:
    with client.start(PROFILE, name="throughput.py", tags=["example"]) as run:
        for snapshot in run.snapshots(every_s=0.25):
            small = snapshot.interval.streams["small"]
            p99 = small.latency_ns.p99 if small.latency_ns else None
            print(f"{snapshot.at_s:5.2f} s  {small.offered_pps:>10,.0f} packets/s  p99 {p99} ns")
        result = run.result()
    for name, stream in result.streams.items():
        print(f"{name}: {stream.tx:,} sent, {stream.lost:,} lost, p99 {stream.latency_ns and stream.latency_ns.p99} ns")
    print(result)
    return result


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with eagre.Client(sys.argv[1]) as client:
            passed = main(client).passed
    else:
        with eagre.serve() as client:
            passed = main(client).passed
    sys.exit(0 if passed else 1)
