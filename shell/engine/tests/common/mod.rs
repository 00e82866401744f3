//! Plans and ports for the engine's tests.
#![allow(dead_code, reason = "each test uses a part of it")]

use engine::{Commands, Rig, RunOptions, Session, TrialObserver, View};
use os::TscClock;
use port::{Port, PortRequest, ring};
use profile::plan::{HostPlan, LinkPlan, NextHop, Pattern, Plan, PortPlan, SimPlan, Sizes, StreamPlan};
use result::{Numbers, ResultDocument};
use std::sync::Arc;
use std::time::Duration;
use units::{FrameLen, Load, Nanos};
use wire::{Header, PacketSpec, protocol};

/// Sees nothing.
pub(crate) struct Blind {
    /// Whether counts of single streams are kept for it all the same.
    pub(crate) reads_streams: bool,
}

impl TrialObserver for Blind {
    fn interval(&self) -> Nanos {
        Nanos::from_millis(500)
    }

    fn reads_streams(&self) -> bool {
        self.reads_streams
    }

    fn snapshot(&mut self, _view: &View<'_>) {}
}

pub(crate) fn header(name: &str) -> Header {
    Header::new(protocol(name).unwrap())
}

pub(crate) fn udp() -> PacketSpec {
    PacketSpec { headers: vec![header("ethernet"), header("ipv4"), header("udp")], ..PacketSpec::default() }
}

/// A stream from port 0 to port 1.
pub(crate) fn stream(name: &str, rate: &str) -> StreamPlan {
    StreamPlan {
        name: name.to_owned(),
        from: 0,
        to: Some(1),
        also_to: Vec::new(),
        outages: None,
        egress: Vec::new(),
        from_host: 0,
        to_host: 0,
        leased: None,
        to_clients: false,
        packet: Arc::new(udp()),
        next_hop: NextHop::PeerPort,
        fill_source_mac: true,
        sizes: Arc::new(Sizes::one(FrameLen::MIN)),
        vary: None,
        replay: None,
        capture: None,
        too_long: None,
        flows: None,
        loop_addresses: None,
        destinations: None,
        rate: rate.parse::<Load>().unwrap(),
        pattern: Pattern::Continuous,
        count: None,
        start_delay: Nanos::ZERO,
        duration: None,
        measure: true,
        integrity: false,
        mark: None,
    }
}

pub(crate) fn plan(streams: Vec<StreamPlan>, duration: &str) -> Plan {
    let port = |name: &str, device: &str| PortPlan {
        name: name.to_owned(),
        device: device.to_owned(),
        hosts: vec![HostPlan {
            name: name.to_owned(),
            addresses: Vec::new(),
            gateways: Vec::new(),
            gateway_macs: Vec::new(),
            mac: None,
            vlans: wire::Vlans::NONE,
        }],
        speed_bps: Some(10_000_000_000),
        ..PortPlan::default()
    };
    let link = LinkPlan {
        speed_bps: 10_000_000_000,
        delay: Nanos::ZERO,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        reorder_by: Nanos::ZERO,
        corrupt: 0.0,
        mark: 0.0,
    };
    Plan {
        seed: 7,
        profile_sha256: String::new(),
        ports: vec![port("west", "ring:a"), port("east", "ring:b")],
        streams,
        sessions: Vec::new(),
        chains: Vec::new(),
        groups: Vec::new(),
        warnings: Vec::new(),
        stagger: true,
        duration: duration.parse().unwrap(),
        sent_elsewhere: None,
        drain: Nanos::from_secs(1),
        polling: profile::plan::Polling::Auto,
        on_agent_loss: profile::plan::OnAgentLoss::Stop,
        criteria: Vec::new(),
        protocols: Vec::new(),
        sim: SimPlan { link, router: None, switch: None },
    }
}

/// Runs `plan` on an in-process pair with `workers` workers, all on the cores there are.
pub(crate) fn run(plan: Plan, workers: usize) -> ResultDocument {
    run_told(plan, workers, &mut Commands::none())
}

/// The same; `commands` are carried out meanwhile.
pub(crate) fn run_told(plan: Plan, workers: usize, commands: &mut Commands) -> ResultDocument {
    // The result is the same, so tests with one worker and with several have both.
    trial(plan, workers, false, commands, &mut Blind { reads_streams: workers > 1 })
}

/// The same with one worker, and without commands; `observer` sees it.
pub(crate) fn run_seen(plan: Plan, observer: &mut dyn TrialObserver) -> ResultDocument {
    trial(plan, 1, false, &mut Commands::none(), observer)
}

/// The same with one worker, attended by the sender of commands.
pub(crate) fn run_attended(plan: Plan, commands: &mut Commands) -> ResultDocument {
    trial(plan, 1, true, commands, &mut Blind { reads_streams: false })
}

fn trial(
    plan: Plan,
    workers: usize,
    attended: bool,
    commands: &mut Commands,
    observer: &mut dyn TrialObserver,
) -> ResultDocument {
    let request = PortRequest { queues: workers as u16, frame_len_max: 1518, confined: false };
    let ports = ring::pair(["ring:a", "ring:b"], request).unwrap().map(|p| Box::new(p) as Box<dyn Port>);
    let mut session = Session::load(plan, Rig::new(ports.into())).attended(attended);
    let allowed = os::cpu::allowed();
    let cores = (0..workers).map(|i| allowed[i % allowed.len()]).collect();
    let clock = TscClock::calibrate(Duration::from_millis(20));
    session
        .run(&RunOptions { cores, histograms: true, spare: Vec::new() }, &clock, commands, observer)
        .unwrap()
}

/// A number of the document by path.
pub(crate) fn number(document: &ResultDocument, path: &str) -> f64 {
    document.number(path).unwrap_or_else(|| panic!("{path} was not measured"))
}
