"""A test method, point by point: the throughput of an in-process link with a declared speed."""

import eagre

PROFILE = eagre.Profile(
    ports={
        "west": eagre.Port(device="ring:a", ip="10.0.0.1/24", speed="10Mbps"),
        "east": eagre.Port(device="ring:b", ip="10.0.0.2/24", speed="10Mbps"),
    },
    streams=[eagre.Stream(name="a", from_="west", to="east", packet=["ipv4", "udp"])],
)


def main(client: eagre.Client, *, trial_s: float = 0.2) -> eagre.CampaignResult:
    settings = {"resolution": "0.1"}
    with client.start_campaign(
        "throughput", PROFILE, quick=True, trial_s=trial_s, sizes=["64B", "1518B"], set=settings, tags=["example"]
    ) as campaign:
        for point in campaign:
            print(f"{campaign.info.fraction:4.0%}  {point.label}: {point.offered_pps:,.0f} packets/s, {point.lost} lost")
        result = campaign.result()
    for sentence in campaign.info.found:
        print(sentence)
    return result


if __name__ == "__main__":
    with eagre.serve() as client:
        print(main(client))
