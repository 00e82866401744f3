"""Client of Eagre, a network traffic generator and tester.

    import eagre

    profile = eagre.Profile(
        ports={"west": eagre.Port(device="ring:a"), "east": eagre.Port(device="ring:b")},
        streams=[eagre.Stream(name="small", from_="west", to="east", packet=["ipv4", "udp"], rate="100kpps")],
        load=eagre.Load(duration="2s"),
    )
    with eagre.serve() as client:                   # or eagre.Client("https://tester:8443", token=…)
        run = client.start(profile)
        for snapshot in run:
            print(snapshot.at_s, snapshot.total.streams["small"].lost)
        print(run.result().to_pandas())

`eagre.profile` has all parts of a profile, `eagre.resources` and `eagre.outcome` the server's documents.
"""

from eagre.async_campaign import AsyncCampaign
from eagre.async_client import AsyncClient
from eagre.async_run import AsyncRun
from eagre.calls import AnyProfile
from eagre.campaign import Campaign
from eagre.client import Client
from eagre.errors import DocumentError, EagreError, Failed, Lost, Problem, ProblemPlace, ServeError
from eagre.lease import AsyncLease, Lease
from eagre.outcome import LatencyResult, PortResult, SessionResult, StreamResult, Verdict
from eagre.profile import (
    Capture,
    Flows,
    Generator,
    Load,
    Pattern,
    Port,
    Profile,
    Replay,
    Sessions,
    Stream,
)
from eagre.resources import CampaignInfo, Check, LeaseInfo, Live, Method, PingResult, Point, PortInfo, RunInfo, Snapshot
from eagre.result import CampaignResult, Result
from eagre.run import Run
from eagre.scapy_packet import from_scapy
from eagre.server import Server, serve

__version__ = "0.1.0"

__all__ = [
    "AnyProfile",
    "AsyncCampaign",
    "AsyncClient",
    "AsyncLease",
    "AsyncRun",
    "Campaign",
    "CampaignInfo",
    "CampaignResult",
    "Capture",
    "Check",
    "Client",
    "DocumentError",
    "EagreError",
    "Failed",
    "Flows",
    "Generator",
    "LatencyResult",
    "Lease",
    "LeaseInfo",
    "Live",
    "Load",
    "Lost",
    "Method",
    "Pattern",
    "PingResult",
    "Point",
    "Port",
    "PortInfo",
    "PortResult",
    "Problem",
    "ProblemPlace",
    "Profile",
    "Replay",
    "Result",
    "Run",
    "RunInfo",
    "ServeError",
    "Server",
    "SessionResult",
    "Sessions",
    "Snapshot",
    "Stream",
    "StreamResult",
    "Verdict",
    "from_scapy",
    "serve",
]
