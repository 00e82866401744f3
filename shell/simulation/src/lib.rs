//! Trials in virtual time: links and device between the ports of a profile, and a run on them.
//!
//! Not here: how links and devices behave (`sim`), and how a trial runs (`engine`).
//!
//! Separate because the command line runs trials in a terminal, and the playground in a browser.

#![forbid(unsafe_code)]

pub mod playground;

pub use sim::{SwitchModel, SwitchQueues, Tap};

use engine::{Commands, EngineError, Rig, Session, TrialObserver};
use port::ring::RingName;
use port::{Port, PortRequest};
use profile::Plan;
use result::{ResultDocument, SimResult};
use sim::{LinkModel, RouterModel, RouterPort, SimClock, SimPort, SwitchMemory, Topology};
use units::{Nanos, Pps};

/// A simulated device in place of the profile's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dut {
    /// None: ports are connected.
    Wire,
    /// A router.
    Router {
        /// Packets that it forwards per second; `None`: no limit.
        capacity: Option<Pps>,
        /// Packets that wait in it at most.
        buffer: u32,
        /// Time that each packet takes, besides waiting.
        latency: Nanos,
    },
    /// A switch.
    Switch(SwitchModel),
}

/// Options of a run.
#[derive(Default)]
pub struct Options {
    /// The device; `None` is the profile's.
    pub dut: Option<Dut>,
    /// Workers, in turn on this thread; at least one.
    pub workers: u16,
    /// Whether to keep latency histograms; without them there are no percentiles.
    pub histograms: bool,
    /// Sees every frame that is sent.
    pub tap: Option<Tap>,
}

/// A plan on its simulated links and device, with their clock.
pub fn load(plan: Plan, dut: Option<Dut>, workers: u16, tap: Option<Tap>) -> (Session, SimClock) {
    let (ports, clock) = build(&plan, dut, workers, tap);
    let rig = Rig::new(ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect());
    (Session::load(plan, rig), clock)
}

/// Runs a plan, and judges its result.
///
/// # Errors
/// Those of [`Session::simulate`].
pub fn run(
    plan: Plan,
    options: Options,
    commands: &mut Commands,
    observer: &mut dyn TrialObserver,
) -> Result<ResultDocument, EngineError> {
    let (mut session, clock) = load(plan, options.dut, options.workers, options.tap);
    let workers = usize::from(options.workers);
    let mut document = session.simulate(workers, options.histograms, &clock, commands, observer)?;
    let counts = clock.counts();
    document.sim = Some(SimResult {
        lost_on_links: counts.lost,
        duplicated: counts.duplicated,
        delayed: counts.delayed,
        corrupted: counts.corrupted,
        overtaken: counts.overtaken,
        dropped_by_device: counts.dropped,
        no_route: counts.no_route,
    });
    session.judge(&mut document);
    Ok(document)
}

/// Builds links and device from the profile, `dut` in the device's place.
fn build(plan: &Plan, dut: Option<Dut>, cores: u16, tap: Option<Tap>) -> (Vec<SimPort>, SimClock) {
    let link = plan.sim.link;
    let mac = |index: usize| {
        plan.ports[index].own().mac.unwrap_or_else(|| port::ring::mac_of(&plan.ports[index].device))
    };
    let ports = plan.ports.iter().enumerate().map(|(index, port)| {
        let model = LinkModel {
            speed_bps: port.speed_bps.unwrap_or(link.speed_bps),
            delay: link.delay,
            loss: link.loss,
            duplicate: link.duplicate,
            reorder: link.reorder,
            reorder_by: link.reorder_by,
            corrupt: link.corrupt,
            mark: link.mark,
        };
        (port.device.clone(), mac(index), model)
    });
    let request =
        PortRequest { queues: cores, frame_len_max: plan.longest_frame().max(1518), confined: false };
    let ports = ports.collect();
    if let Some(model) = switch(plan, dut) {
        let topology = Topology { ports, router: None, wires: Vec::new(), seed: plan.seed, tap };
        return sim::build_switched(topology, model, request);
    }
    let router = router(plan, dut, &mac);
    sim::build(Topology { ports, router, wires: wires(plan), seed: plan.seed, tap }, request)
}

/// The requested switch, or the profile's.
fn switch(plan: &Plan, dut: Option<Dut>) -> Option<SwitchModel> {
    match (dut, plan.sim.switch) {
        (Some(Dut::Switch(model)), _) => Some(model),
        (None, Some(switch)) => Some(SwitchModel {
            addresses: switch.addresses,
            latency: switch.latency,
            memory: SwitchMemory {
                total: switch.buffer,
                queue: switch.queue,
                queues: if switch.queues_are_inputs { SwitchQueues::Input } else { SwitchQueues::Output },
            },
            cut_through: switch.cut_through,
        }),
        _ => None,
    }
}

/// The requested router, or one without limits if ports have gateways.
fn router(plan: &Plan, dut: Option<Dut>, mac: &dyn Fn(usize) -> [u8; 6]) -> Option<RouterModel> {
    let macs: Vec<[u8; 6]> = (0..plan.ports.len()).map(mac).collect();
    let hosts = engine::host_macs(plan, &macs);
    let ports = plan.ports.iter().zip(&hosts).map(|(port, macs)| {
        let peers = port.hosts.iter().zip(macs).skip(1);
        RouterPort {
            addresses: port.gateways().collect(),
            networks: port.addresses().map(|a| (a.ip, a.prefix_len)).collect(),
            peer_mac: macs[0],
            peers: peers.flat_map(|(host, mac)| host.addresses.iter().map(|own| (own.ip, *mac))).collect(),
        }
    });
    let ports = ports.collect();
    match (dut, plan.sim.router) {
        (Some(Dut::Wire | Dut::Switch(_)), _) => None,
        (Some(Dut::Router { capacity, buffer, latency }), _) => {
            Some(RouterModel { capacity, buffer, latency, ports })
        }
        (None, Some(r)) => {
            Some(RouterModel { capacity: Some(r.capacity), buffer: r.buffer, latency: r.latency, ports })
        }
        (None, None) if plan.ports.iter().any(|p| p.gateways().next().is_some()) => {
            Some(RouterModel { capacity: None, buffer: 0, latency: Nanos::ZERO, ports })
        }
        (None, None) => None,
    }
}

/// Connects each port to the destination of its first stream or clients, or to the port that sends to it; a port without
/// traffic, such as one of routers alone, to the other end of its in-process pair.
fn wires(plan: &Plan) -> Vec<Option<usize>> {
    let streams = plan.streams.iter().filter_map(|s| Some((s.from, s.to?)));
    let sessions = plan.sessions.iter().map(|entry| &entry.session);
    let sessions = sessions.filter_map(|s| Some((s.client.as_ref()?.port, s.server.as_ref()?.port)));
    let pairs: Vec<(usize, usize)> = streams.chain(sessions).collect();
    let mut wires = vec![None; plan.ports.len()];
    for (from, to) in &pairs {
        wires[*from].get_or_insert(*to);
    }
    for (from, to) in &pairs {
        wires[*to].get_or_insert(*from);
    }
    for (port, wire) in wires.iter_mut().enumerate() {
        *wire = wire.or_else(|| partner(plan, port));
    }
    wires
}

/// The port at the other end of an in-process pair.
fn partner(plan: &Plan, port: usize) -> Option<usize> {
    let name = |index: usize| RingName::parse(&plan.ports[index].device)?.ok();
    let own = name(port)?;
    (0..plan.ports.len()).find(|&other| name(other).is_some_and(|name| own.is_partner_of(&name)))
}
