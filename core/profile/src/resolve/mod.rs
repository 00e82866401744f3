//! From the document to the Plan: names to indices, defaults to values, and checks that the schema can't express.
//!
//! Invariant: a value the reader already complained about is not complained about again.

mod capture;
mod captured;
mod clients;
mod criteria;
mod egress;
mod frame;
mod groups;
pub(crate) mod hosts;
pub(crate) mod ids;
mod integrity;
mod lasting;
mod mark;
pub(crate) mod packet;
mod pattern;
mod protocol;
mod punt;
mod replayed;
mod sender;
mod session;
mod size;
pub(crate) mod stream;
mod vary;

use crate::document::{ChecksumDoc, Document, PortDoc, SimDoc, SwitchQueuesDoc, TimestampsDoc};
use crate::plan::{ChecksumBy, LinkPlan, Plan, PortPlan, RouterPlan, SimPlan, StampsBy, SwitchPlan};
use crate::protocols::{PortPart, Site};
use crate::read::Reading;
use crate::{Files, Overrides, ProfileError};
pub use packet::group_mac;
use sender::HostIndex;
pub(crate) use session::HOSTS_MAX;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use units::{Nanos, Pps};

/// The longest time a profile can name.
const YEAR: Nanos = Nanos::from_secs(365 * 24 * 3600);

/// Resolves what could be read; all errors, the reader's among them, if there are any.
pub(crate) fn resolve(
    document: &Document,
    reading: Reading,
    sha256: String,
    overrides: &Overrides,
    files: Files<'_>,
) -> Result<Plan, Vec<ProfileError>> {
    let seed = overrides.seed.or(document.seed).unwrap_or(overrides.default_seed);
    let mut resolver = Resolver {
        document,
        overrides,
        files,
        seed,
        reading,
        ports: Vec::new(),
        indices: Vec::new(),
        warnings: Vec::new(),
        marks: overrides.first_mark,
    };
    resolver.ports();
    let streams = resolver.streams();
    let chains = if resolver.reading.errors.is_empty() { resolver.chains(&streams) } else { Vec::new() };
    let groups = resolver.groups(&streams);
    let duration = resolver.duration();
    let sessions = resolver.sessions(duration);
    if chains.is_empty() {
        resolver.warn_of_too_much(&streams, &sessions, duration);
    }
    let protocols = resolver.protocols();
    let criteria = resolver.criteria(&groups);
    resolver.something_to_do();
    resolver.sim();
    if !resolver.reading.errors.is_empty() {
        return Err(resolver.reading.errors);
    }
    Ok(Plan {
        seed,
        profile_sha256: sha256,
        ports: resolver.ports,
        streams,
        sessions,
        protocols,
        chains,
        groups,
        warnings: resolver.warnings,
        stagger: document.load.stagger,
        duration,
        sent_elsewhere: None,
        drain: document.load.drain.0,
        polling: overrides.polling.unwrap_or(document.load.polling),
        on_agent_loss: document.load.on_agent_loss,
        criteria,
        sim: sim(&document.sim),
    })
}

pub(crate) struct Resolver<'a> {
    pub(crate) document: &'a Document,
    overrides: &'a Overrides,
    files: Files<'a>,
    seed: u64,
    pub(crate) reading: Reading,
    pub(crate) ports: Vec<PortPlan>,
    /// The hosts of each of them.
    indices: Vec<HostIndex>,
    /// Warnings.
    pub(crate) warnings: Vec<String>,
    /// Streams that are counted by a mark.
    marks: u16,
}

impl Resolver<'_> {
    /// The contents of a file the profile names at `path`; `None` if it can't be read, which is reported.
    pub(crate) fn file(&mut self, path: &str, name: &str) -> Option<Vec<u8>> {
        (self.files)(name).map_err(|reason| self.reading.fail(path, reason)).ok()
    }

    /// A seed for what is random at `path`: follows from the profile's seed, and differs from all others.
    pub(crate) fn seed_of(&self, path: &str, what: &str) -> u64 {
        let text = format!("{} {path} {what}", self.seed);
        let digest = Sha256::digest(text.as_bytes());
        digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Requires sessions, a capture or hosts with a control plane if there are no streams, unless the profile states
    /// that there are none.
    fn something_to_do(&mut self) {
        let hosts_act = |port: &PortDoc| port.clone().listening() != *port;
        let is_busy = |port: &PortDoc| port.capture.is_some() || hosts_act(port);
        let captures = self.document.ports.values().any(is_busy);
        if !captures && !self.reading.has("streams") && !self.reading.has("sessions") {
            self.reading.fail("", "the key 'streams' is missing; expected a list: streams of packets");
        }
    }

    fn duration(&mut self) -> Nanos {
        let duration = self.overrides.duration.unwrap_or(self.document.load.duration.0);
        if duration == Nanos::ZERO {
            self.reading.fail("load.duration", "must be longer than 0: set a duration such as 10s");
        }
        self.within_a_year("load.duration", duration);
        self.within_a_year("load.drain", self.document.load.drain.0);
        self.within_a_year("load.ramp_up", self.document.load.ramp_up.0);
        self.within_a_year("load.ramp_down", self.document.load.ramp_down.0);
        duration
    }

    /// Keeps sums of times far from the end of 64 bits.
    pub(crate) fn within_a_year(&mut self, path: &str, span: Nanos) {
        if span > YEAR {
            self.reading.fail(path, format!("{span} is longer than a year (8760h)"));
        }
    }

    fn sim(&mut self) {
        let sim = &self.document.sim;
        self.within_a_year("sim.link.delay", sim.link.delay.0);
        self.within_a_year("sim.link.reorder_by", sim.link.reorder_by.0);
        if let Some(router) = &sim.router {
            self.within_a_year("sim.router.latency", router.latency.0);
            if router.capacity.0 == Pps::ZERO {
                self.reading.fail("sim.router.capacity", "must be above 0");
            }
        }
        if let Some(switch) = &sim.switch {
            self.within_a_year("sim.switch.latency", switch.latency.0);
            if sim.router.is_some() {
                self.reading.fail("sim.switch", "there is a router already; leave one of them out");
            }
        }
    }

    fn ports(&mut self) {
        let document = self.document;
        let mut devices: HashMap<&str, &str> = HashMap::new();
        for (name, port) in &document.ports {
            if let Some(other) = devices.insert(&port.device, name) {
                let reason = format!("the device '{}' is already used by port '{other}'", port.device);
                self.reading.fail(format!("ports.{name}.device"), reason);
            }
            let plan = self.port(name, port);
            self.indices.push(HostIndex::new(&plan));
            self.ports.push(plan);
        }
        self.lags();
    }

    fn port(&mut self, name: &str, port: &PortDoc) -> PortPlan {
        let hosts = self.hosts(name, port);
        let punt = port.punt.as_ref().map(|punt| self.punt(name, punt, &hosts));
        let plan = PortPlan {
            punt,
            name: name.to_owned(),
            device: port.device.clone(),
            speed_bps: port.speed.as_ref().map(|speed| speed.0),
            checksum: match port.checksum {
                ChecksumDoc::Software => ChecksumBy::Software,
                ChecksumDoc::Offload => ChecksumBy::Offload,
            },
            stamps: match port.timestamps {
                TimestampsDoc::Software => None,
                TimestampsDoc::Kernel => Some(StampsBy::Kernel),
                TimestampsDoc::Hardware => Some(StampsBy::Hardware),
            },
            allow_default_route: port.allow_default_route,
            capture: port
                .capture
                .as_ref()
                .map(|capture| self.capture(&format!("ports.{name}.capture"), capture)),
            rate_max: None,
            ..PortPlan::default()
        };
        let protocols =
            self.protocols_of(&Site { name, hosts: &hosts, has_punt: port.punt.is_some() }, port, plan);
        PortPlan { hosts, ..protocols }
    }
}

/// Resolves the protocols of a port.
macro_rules! resolve_protocols {
    ([$($(#[doc = $about:literal])* $key:ident: $part:ident => $plan:ident;)*]) => {
        impl Resolver<'_> {
            /// Adds the protocols of a port to its plan.
            fn protocols_of(&mut self, at: &Site<'_>, port: &PortDoc, plan: PortPlan) -> PortPlan {
                PortPlan { $($key: port.$key.as_ref().and_then(|part| part.resolve(self, at)),)* ..plan }
            }
        }
    };
}

crate::protocols::with_protocols! { resolve_protocols! {} }

fn sim(sim: &SimDoc) -> SimPlan {
    SimPlan {
        link: LinkPlan {
            speed_bps: sim.link.speed.0,
            delay: sim.link.delay.0,
            loss: sim.link.loss.0,
            duplicate: sim.link.duplicate.0,
            reorder: sim.link.reorder.0,
            reorder_by: sim.link.reorder_by.0,
            corrupt: sim.link.corrupt.0,
            mark: sim.link.mark.0,
        },
        router: sim.router.as_ref().map(|router| RouterPlan {
            capacity: router.capacity.0,
            buffer: router.buffer,
            latency: router.latency.0,
        }),
        switch: sim.switch.as_ref().map(|switch| SwitchPlan {
            buffer: switch.buffer.as_ref().map_or(u64::MAX, |bytes| bytes.0),
            queue: switch.queue.as_ref().map_or(u64::MAX, |bytes| bytes.0),
            queues_are_inputs: switch.queues == SwitchQueuesDoc::Input,
            cut_through: switch.cut_through,
            latency: switch.latency.0,
            addresses: switch.addresses as usize,
        }),
    }
}

/// A time in seconds; `None` if they are not whole, less than one, or too many.
pub(crate) fn whole_seconds(time: Nanos, max: u64) -> Option<u64> {
    let second = Nanos::from_secs(1).0;
    let seconds = time.0 / second;
    (time.0.is_multiple_of(second) && (1..=max).contains(&seconds)).then_some(seconds)
}

pub(crate) fn same_family(a: IpAddr, b: IpAddr) -> bool {
    a.is_ipv4() == b.is_ipv4()
}

pub(crate) fn family(ip: IpAddr) -> &'static str {
    if ip.is_ipv4() { "IPv4" } else { "IPv6" }
}
