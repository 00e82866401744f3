//! A part of a run on several machines: messages of its start and its end, and facts about the others' ports.

use crate::figures;
use crate::message::Full;
use api::Live;
use columns::{FiguresMessage, RowsMessage};
use engine::{PortFacts, RawRow, RawTimes};
use profile::Plan;
use result::IntervalDocument;
use serde::{Deserialize, Serialize};

/// The part of a run that one machine has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartOrder {
    /// Indices of its ports in the plan, in ascending order.
    pub here: Vec<usize>,
}

/// From an agent that has a part of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromPart {
    /// Its ports are open; facts about them, in their order.
    Opened(Vec<PortCard>),
    /// Neighbours are resolved: it can start.
    Ready,
    /// By how much workers got the start too late, ns.
    Started(u64),
    /// All is sent here.
    Sent {
        /// Packets of each stream, by its index.
        sent: Vec<u64>,
        /// Whether it was stopped before its end.
        stopped: bool,
    },
    /// Live figures, and sums of all streams in them. Figures of single streams are apart: with a block behind the message.
    Live(Box<Live>, Box<RawRow>, Box<FiguresMessage>),
    /// The last interval and the totals, with their rows of streams apart: with a block behind the message.
    Full(Box<Full>, Box<RowsMessage>),
    /// A whole interval for the store.
    Interval(Box<IntervalDocument>, Box<RawTimes>),
}

impl FromPart {
    /// Live figures, and the bytes behind their message.
    pub fn live(mut live: Box<Live>, raw: Box<RawRow>) -> (Self, Vec<u8>) {
        let mut figures = figures::detach(&mut live);
        let block = figures.detach();
        (Self::Live(live, raw, Box::new(figures)), block)
    }

    /// Takes the bytes that came behind the message.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn attach(&mut self, block: Vec<u8>) -> Result<(), String> {
        match self {
            Self::Full(_, rows) => rows.attach(block),
            Self::Live(_, _, figures) => figures.attach(block),
            _ => return Err(no_owner(&block)),
        }
        Ok(())
    }
}

/// Why a block behind a message is refused.
pub(crate) fn no_owner(block: &[u8]) -> String {
    format!("a block of {} bytes that belongs to nothing", block.len())
}

/// Facts that all parts know before they start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Peers {
    /// Facts about all ports, in the plan's order.
    pub ports: Vec<PortCard>,
    /// The part's clock minus the controller's, ns: the run's time is the controller's.
    pub offset_ns: i64,
}

/// Facts about an open port that another machine needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCard {
    device: String,
    mac: [u8; 6],
    frame_len_max: u32,
    #[serde(default)]
    vlan_bytes: u32,
    speed_bps: Option<u64>,
    tx_checksum_offload: bool,
}

impl From<&PortFacts> for PortCard {
    fn from(facts: &PortFacts) -> Self {
        Self {
            device: facts.device.clone(),
            mac: facts.mac,
            frame_len_max: facts.frame_len_max,
            vlan_bytes: facts.vlan_bytes,
            speed_bps: facts.speed_bps,
            tx_checksum_offload: facts.tx_checksum_offload,
        }
    }
}

impl From<PortCard> for PortFacts {
    fn from(card: PortCard) -> Self {
        Self {
            device: card.device,
            driver: "elsewhere".to_owned(),
            mac: card.mac,
            frame_len_max: card.frame_len_max,
            vlan_bytes: card.vlan_bytes,
            speed_bps: card.speed_bps,
            netdev: None,
            numa_node: None,
            tx_checksum_offload: card.tx_checksum_offload,
            tells_unfinished_checksums: false,
            is_in_process: false,
            rx_spread: "none",
            xdp_mode: None,
        }
    }
}

/// Leaves protocols of other machines' ports to them.
pub(crate) fn strip(plan: &mut Plan, here: &[usize]) {
    for (_, port) in plan.ports.iter_mut().enumerate().filter(|(index, _)| !here.contains(index)) {
        port.silence();
    }
}

/// Why a plan can't run on several machines; `part` is the machine of each port.
///
/// # Errors
/// The place in the profile, and what can't be.
pub fn refuse_together(plan: &Plan, part: &[usize]) -> Result<(), String> {
    let same = |ports: &mut dyn Iterator<Item = usize>| {
        let mut parts = ports.map(|port| part.get(port));
        let first = parts.next();
        parts.all(|other| Some(other) == first)
    };
    for port in &plan.ports {
        if port.has_clients() {
            return Err(format!(
                "ports.{}: DHCP and PPPoE clients need a run whose ports are all of one machine",
                port.name
            ));
        }
    }
    if let Some(program) = plan.protocols.first() {
        return Err(format!(
            "protocols.{}: programs need a run whose ports are all of one machine",
            program.name
        ));
    }
    for stream in &plan.streams {
        let name = &stream.name;
        if !same(&mut stream.to.into_iter().chain(stream.also_to.iter().copied())) {
            return Err(format!(
                "streams.{name}.also_to: all ports where it may arrive must be of one machine"
            ));
        }
        if stream.outages.is_some() && !same(&mut stream.to.into_iter().chain([stream.from])) {
            return Err(format!(
                "streams.{name}.outages: outages are measured between two ports of one machine; leave it out"
            ));
        }
    }
    for chain in &plan.chains {
        let ports =
            chain.links.iter().filter_map(|link| plan.streams.get(link.stream)).map(|stream| stream.from);
        if !same(&mut ports.into_iter()) {
            let first = chain.links.first().and_then(|link| plan.streams.get(link.stream));
            let name = first.map_or("", |stream| stream.name.as_str());
            return Err(format!("streams.{name}: streams that are sent in turn must be of one machine"));
        }
    }
    for entry in &plan.sessions {
        let session = &entry.session;
        let mut sides = session.client.iter().chain(&session.server);
        if sides.any(|side| side.tunnel.is_some()) {
            return Err(format!(
                "sessions.{}: sessions in tunnels need a run whose ports are all of one machine",
                session.name
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(stream: &str) -> Plan {
        let packet =
            "packet: [{ethernet: {dst: '02:00:00:00:00:01'}}, {ipv4: {src: 10.0.0.1, dst: 10.0.0.9}}, udp]";
        let text = format!(
            "ports: {{a: {{device: 'ring:a'}}, b: {{device: 'ring:b'}}, c: {{device: 'ring:c'}}}}\n\
             streams: [{{name: s, from: a, to: b, {packet}, rate: 1kpps{stream}}}]\nload: {{duration: 1s}}\n"
        );
        profile::load_with(&text, &profile::Overrides::default(), &|_| Err(String::new())).unwrap()
    }

    #[test]
    fn what_needs_one_machine_is_refused_with_its_place() {
        assert_eq!(refuse_together(&plan(""), &[0, 1, 1]), Ok(()));
        assert_eq!(refuse_together(&plan(", also_to: [c]"), &[0, 1, 1]), Ok(()));
        let refused = refuse_together(&plan(", also_to: [c]"), &[0, 1, 0]).unwrap_err();
        assert!(refused.starts_with("streams.s.also_to: "), "{refused}");
    }

    #[test]
    fn others_ports_do_nothing_here() {
        let mut plan = plan("");
        plan.ports[0].capture = None;
        strip(&mut plan, &[0]);
        assert!(plan.ports[1].punt.is_none() && plan.ports.len() == 3);
    }
}
