//! `sim`: the same engine on virtual time.

use crate::args::{Common, Dut, SimArgs};
use crate::live::Live;
use crate::output::Sinks;
use crate::run::{conclude, load, read};
use crate::{Exit, Failure};
use engine::result::SimResult;
use engine::{Rig, Session};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use port::{Port, PortRequest};
use profile::Plan;
use sim::{LinkModel, RouterModel, RouterPort, SimClock, SimPort, Topology};
use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::Nanos;

pub(crate) fn sim(path: &Path, options: &SimArgs, common: &Common) -> Result<Exit, Failure> {
    let text = read(path)?;
    let plan = load(&text, &path.display().to_string(), common)?;
    let sinks = Sinks::open(common, &text)?;
    let trouble = Arc::new(Mutex::new(None));
    let tap =
        options.pcap.as_deref().map(|path| capture(path, options.packets, trouble.clone())).transpose()?;
    let (ports, clock) = world(&plan, options.dut, common.cores, tap);
    let rig = Rig::new(ports.into_iter().map(|p| Box::new(p) as Box<dyn Port>).collect());
    let mut session = Session::load(plan, rig);
    let mut live = Live::new(common, sinks)?;
    let document = session.simulate(usize::from(common.cores), !common.no_histograms, &clock, &mut live);
    let sinks = live.finish();
    let mut document = document?;
    let counts = clock.counts();
    document.sim = Some(SimResult {
        lost_on_links: counts.lost,
        duplicated: counts.duplicated,
        delayed: counts.delayed,
        overtaken: counts.overtaken,
        dropped_by_device: counts.dropped,
        no_route: counts.no_route,
    });
    if let Some(error) = trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
        return Err(Failure::refused(error));
    }
    conclude(&document, sinks, common)
}

/// A tap that writes what ports send, with nanoseconds since the start of the simulated day.
fn capture(path: &Path, most: Option<u64>, trouble: Arc<Mutex<Option<String>>>) -> Result<sim::Tap, Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {e}", path.display()));
    let file = File::create(path).map_err(|e| bad(&e))?;
    let header = PcapHeader {
        datalink: DataLink::ETHERNET,
        ts_resolution: TsResolution::NanoSecond,
        endianness: Endianness::Little,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(BufWriter::new(file), header).map_err(|e| bad(&e))?;
    let (mut left, name) = (most.unwrap_or(u64::MAX), path.display().to_string());
    Ok(Box::new(move |now: Nanos, _port, bytes: &[u8]| {
        if left == 0 {
            return;
        }
        left -= 1;
        let packet = PcapPacket::new_owned(
            Duration::from_nanos(now.0),
            bytes.len() as u32,
            Cow::Borrowed(bytes).into_owned(),
        );
        if let Err(error) = writer.write_packet(&packet) {
            left = 0;
            *trouble.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                Some(format!("{name}: {error}"));
        }
    }))
}

/// Links and device as the profile and the command line say.
fn world(plan: &Plan, dut: Option<Dut>, cores: u16, tap: Option<sim::Tap>) -> (Vec<SimPort>, SimClock) {
    let link = plan.sim.link;
    let mac =
        |index: usize| plan.ports[index].mac.unwrap_or_else(|| port::ring::mac_of(&plan.ports[index].device));
    let ports = plan.ports.iter().enumerate().map(|(index, port)| {
        let model = LinkModel {
            speed_bps: port.speed_bps.unwrap_or(link.speed_bps),
            delay: link.delay,
            loss: link.loss,
            duplicate: link.duplicate,
            reorder: link.reorder,
            reorder_by: link.reorder_by,
        };
        (port.device.clone(), mac(index), model)
    });
    let longest = plan.streams.iter().map(|s| s.size.bytes()).max().unwrap_or(0).max(1518);
    let topology = Topology {
        ports: ports.collect(),
        router: router(plan, dut, &mac),
        wires: wires(plan),
        seed: plan.seed,
        tap,
    };
    sim::build(topology, PortRequest { queues: cores, frame_len_max: longest })
}

/// The router that was asked for, or one without limits if ports have gateways.
fn router(plan: &Plan, dut: Option<Dut>, mac: &dyn Fn(usize) -> [u8; 6]) -> Option<RouterModel> {
    let ports = plan.ports.iter().enumerate().map(|(index, port)| RouterPort {
        addresses: port.gateways.clone(),
        networks: port.addresses.iter().map(|a| (a.ip, a.prefix_len)).collect(),
        peer_mac: mac(index),
    });
    let ports = ports.collect();
    match (dut, plan.sim.router) {
        (Some(Dut::Wire), _) => None,
        (Some(Dut::Router { capacity, buffer, latency }), _) => {
            Some(RouterModel { capacity, buffer, latency, ports })
        }
        (None, Some(r)) => {
            Some(RouterModel { capacity: Some(r.capacity), buffer: r.buffer, latency: r.latency, ports })
        }
        (None, None) if plan.ports.iter().any(|p| !p.gateways.is_empty()) => {
            Some(RouterModel { capacity: None, buffer: 0, latency: Nanos::ZERO, ports })
        }
        (None, None) => None,
    }
}

/// Each port is wired to the one its first stream goes to, or to the one whose stream comes to it.
fn wires(plan: &Plan) -> Vec<Option<usize>> {
    let mut wires = vec![None; plan.ports.len()];
    for (from, to) in plan.streams.iter().filter_map(|s| Some((s.from, s.to?))) {
        wires[from].get_or_insert(to);
    }
    for (from, to) in plan.streams.iter().filter_map(|s| Some((s.from, s.to?))) {
        wires[to].get_or_insert(from);
    }
    wires
}
