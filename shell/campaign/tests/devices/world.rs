//! A tester whose ports are simulated, for tests of whole campaigns.

use campaign::{Campaign, Choice, Directions, Observer, Part, Report, Running, Settings, Tester};
use engine::{Commands, EngineError, PortUser, Rig, Session, TrialObserver, View};
use lab::Variables;
use methods::{Attributes, Timing, TrialOutcome, TrialRequest};
use port::{Port, PortRequest};
use profile::Plan;
use result::ResultDocument;
use sim::{FirewallModel, LinkModel, RouterModel, RouterPort, SwitchModel, Topology};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::{Nanos, Pps};

/// Device between the ports.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Device {
    /// A router that forwards this number of packets per second, and has the networks of the ports' addresses.
    Router(Pps),
    /// A switch whose table holds this number of addresses.
    Switch(usize),
    /// Two links, and a firewall between them.
    Path(LinkModel, Option<FirewallModel>),
}

/// Frames that were sent: the port, and the bytes.
pub(crate) type Sent = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

/// Runs trials in virtual time.
pub(crate) struct Simulated {
    device: Device,
    /// Packets sent by the last trial, if recorded.
    pub sent: Option<Sent>,
    /// A translator before the device.
    pub nat: Option<sim::Nat>,
    /// A load balancer before it.
    pub balancer: Option<sim::Balancer>,
}

impl Simulated {
    pub(crate) fn new(device: Device) -> Self {
        Self { device, sent: None, nat: None, balancer: None }
    }

    fn topology(&self, plan: &Plan) -> Topology {
        let mac = |index: usize| port::ring::mac_of(&plan.ports[index].device);
        let port = |(index, port): (usize, &profile::plan::PortPlan)| {
            let link = match self.device {
                Device::Path(link, _) => link,
                _ => LinkModel::perfect(port.speed_bps.unwrap_or(1_000_000_000)),
            };
            (port.device.clone(), mac(index), link)
        };
        let side = |(index, port): (usize, &profile::plan::PortPlan)| RouterPort {
            addresses: port.gateways().collect(),
            networks: port.addresses().map(|a| (a.ip, a.prefix_len)).collect(),
            peer_mac: mac(index),
            peers: Default::default(),
        };
        let router = match self.device {
            Device::Router(capacity) => Some(RouterModel {
                capacity: Some(capacity),
                buffer: 64,
                latency: Nanos(1_000),
                ports: plan.ports.iter().enumerate().map(side).collect(),
            }),
            Device::Switch(_) | Device::Path(..) => None,
        };
        let is_path = matches!(self.device, Device::Path(..));
        let tap = self.sent.clone().map(|sent| -> sim::Tap {
            sent.lock().unwrap().clear();
            Box::new(move |_, port, bytes: &[u8]| sent.lock().unwrap().push((port, bytes.to_vec())))
        });
        Topology {
            ports: plan.ports.iter().enumerate().map(port).collect(),
            router,
            wires: if is_path { vec![Some(1), Some(0)] } else { Vec::new() },
            seed: plan.seed,
            tap,
        }
    }
}

impl Simulated {
    fn rig(&self, plan: &Plan) -> (Rig, sim::SimClock) {
        let frame_len_max = if matches!(self.device, Device::Path(..)) { 9_018 } else { 1_518 };
        let request = PortRequest { queues: 1, frame_len_max, confined: false };
        let topology = self.topology(plan);
        if let Some(balancer) = &self.balancer {
            let (ports, clock) = sim::build_balanced(topology, balancer.clone(), request);
            let rig = Rig::new(ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect());
            return (rig, clock);
        }
        let (ports, clock) = match (self.device, &self.nat) {
            (_, Some(nat)) => sim::build_translated(topology, nat.clone(), request),
            (Device::Router(_), _) => sim::build(topology, request),
            (Device::Path(_, firewall), _) => sim::build_behind(topology, request, firewall),
            (Device::Switch(addresses), _) => {
                let model = SwitchModel::learning(addresses, Nanos(1_000));
                sim::build_switched(topology, model, request)
            }
        };
        let rig = Rig::new(ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect());
        (rig, clock)
    }
}

impl Tester for Simulated {
    fn speeds(&self) -> Vec<Option<u64>> {
        match self.device {
            Device::Path(link, _) => vec![Some(link.speed_bps); 2],
            _ => Vec::new(),
        }
    }

    fn run(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError> {
        let (rig, clock) = self.rig(&plan);
        Session::load(plan, rig).simulate(1, true, &clock, commands, observer)
    }

    fn lend(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        user: &mut dyn PortUser,
    ) -> Result<ResultDocument, EngineError> {
        let (rig, clock) = self.rig(&plan);
        Session::load(plan, rig).lend_simulated(&clock, commands, user)
    }

    fn wait(&mut self, _: Nanos, _: &mut dyn FnMut() -> bool) {}

    fn is_real(&self) -> bool {
        false
    }
}

/// Records the outcomes of trials, and prints them for a test that fails.
#[derive(Default)]
pub(crate) struct Kept(pub Vec<(TrialRequest, TrialOutcome)>);

impl Observer for Kept {
    fn begins(&mut self, _: &Running<'_>) {}
    fn looks(&mut self, _: &View<'_>) {}
    fn ended(&mut self, request: &TrialRequest, outcome: &TrialOutcome) {
        println!("{}: {:?} {:?} {:?}", request.label, outcome.sessions, outcome.drops, outcome.reasons);
        println!("  {:?} {:?}", outcome.path, outcome.tcp);
        self.0.push((request.clone(), outcome.clone()));
    }
}

/// A campaign on a profile.
pub(crate) fn campaign(method: &str, text: &str, set: &[(&str, &str)], attributes: Attributes) -> Campaign {
    let plan = profile::load(text).unwrap();
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let settings = Settings { quick: true, set, ..Settings::default() };
    let parts = Choice::by_name(method).unwrap().parts(&settings).unwrap();
    let timing = Timing { learning: Nanos::from_millis(100), ..Timing::NONE };
    let directions = Directions::of(&plan, &vec![None; plan.ports.len()], timing, attributes).unwrap();
    assemble(parts, directions, plan)
}

/// A campaign of these parts.
pub(crate) fn assemble(parts: Vec<Part>, directions: Directions, plan: Plan) -> Campaign {
    Campaign {
        name: "test".to_owned(),
        profile: "test".to_owned(),
        parts,
        directions,
        plan,
        hooks: Vec::new(),
        variables: Variables::new(),
        resets: BTreeMap::new(),
        path: None,
        mappings: None,
    }
}

/// Runs it to its end.
pub(crate) fn run(campaign: &Campaign, tester: &mut Simulated) -> (Report, Kept) {
    let mut kept = Kept::default();
    campaign.check().unwrap();
    let report = campaign.run(tester, None, &mut Commands::none(), &mut kept).unwrap();
    (report, kept)
}
