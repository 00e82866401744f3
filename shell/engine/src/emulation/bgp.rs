//! BGP speakers of a port: they resolve their neighbours, come up before traffic, and are handled while it runs.
//!
//! Not here: the protocol (`::bgp`).

use super::ready::{Ready, lost, missing};
use crate::absence::NOT_ESTABLISHED;
use crate::trial::endpoints::hosts_mtu;
use crate::trial::session_endpoints::unfinished;
use ::bgp::{AddPath, Speaker, SpeakerConfig, State};
use neighbour::{Hosts, Mac, Resolver};
use port::PortFacts;
use profile::plan::{BgpPlan, PortPlan};
use std::net::IpAddr;
use tcp::{GroupConfig, UnfinishedChecksums};
use units::{Nanos, count};

/// Time to resolve neighbours before speakers begin without some.
const RESOLVE: Nanos = Nanos::from_secs(5);

/// BGP speakers of a port.
#[derive(Debug)]
pub(super) struct Speakers {
    pub(super) machine: Speaker,
    pub(super) plan: BgpPlan,
    /// Names of the port's hosts.
    pub(super) hosts: Vec<String>,
    resolver: Resolver,
    /// Time of the first request to neighbours.
    asked: Option<Nanos>,
    ready: Ready,
    /// Sessions in which a prefix could have several paths when it had ended.
    paths_at_end: Option<usize>,
    /// Sessions that were established when it had ended.
    pub(super) established_at_end: Option<usize>,
    /// Reasons for an invalid result, known when traffic started.
    pub(super) complaints: Vec<String>,
}

impl Speakers {
    pub(super) fn new(
        plan: &BgpPlan,
        port: &PortPlan,
        macs: &[Mac],
        facts: &PortFacts,
        hosts: &Hosts,
    ) -> Self {
        // Frames come from workers without what the port says of their checksums.
        let unfinished_checksums = match unfinished(facts) {
            UnfinishedChecksums::Told => UnfinishedChecksums::BySum,
            other => other,
        };
        let host = |(host, mac): (&profile::plan::HostPlan, &Mac)| GroupConfig {
            vlans: host.vlans.clone(),
            mtu: hosts_mtu(facts) as u16,
            own_mac: *mac,
            unfinished_checksums,
            ..GroupConfig::default()
        };
        let config = SpeakerConfig {
            hosts: port.hosts.iter().zip(macs).map(host).collect(),
            peers: plan.peers.clone(),
            rate: plan.rate,
            seed: plan.seed,
        };
        let wanted = plan.peers.iter().zip(&plan.hops).map(|(peer, hop)| (peer.host, *hop));
        let given =
            port.hosts.iter().enumerate().flat_map(|(number, host)| {
                host.gateway_macs.iter().map(move |(ip, mac)| (number, *ip, *mac))
            });
        Self {
            machine: Speaker::new(config),
            plan: plan.clone(),
            hosts: port.hosts.iter().map(|host| host.name.clone()).collect(),
            resolver: Resolver::new(hosts, wanted, given),
            asked: None,
            ready: Ready::new(plan.settle, plan.timeout),
            paths_at_end: None,
            established_at_end: None,
            complaints: Vec::new(),
        }
    }

    /// Looks at a received frame; returns whether it was for one of the speakers.
    pub(super) fn take(&mut self, now: Nanos, frame: &[u8], hosts: &Hosts) -> bool {
        if ::bgp::may_concern(frame) {
            return self.machine.take(now, frame);
        }
        if self.resolver.take(hosts, frame) && self.ready.has_begun() {
            self.set_hops();
        }
        false
    }

    /// Hosts with the next hops to their peers that were resolved or given, and whether they were given.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = (usize, IpAddr, Mac, bool)> {
        self.resolver.known()
    }

    /// Tells speakers how their peers are reached, as far as that is known.
    fn set_hops(&mut self) {
        for (number, (peer, hop)) in self.plan.peers.iter().zip(&self.plan.hops).enumerate() {
            if let Some(mac) = self.resolver.mac(peer.host, *hop) {
                self.machine.set_hop(number, mac);
            }
        }
    }

    /// Asks for neighbours and begins once they are known.
    pub(super) fn set_up(&mut self, now: Nanos, hosts: &Hosts, frames: &mut Vec<Vec<u8>>) {
        let asked = *self.asked.get_or_insert(now);
        frames.extend(self.resolver.requests(now, hosts));
        let is_known = self.resolver.next_due() == Nanos::MAX;
        if !self.ready.has_begun() && (is_known || now.since(asked) > RESOLVE) {
            self.set_hops();
            self.machine.begin(now);
            self.ready.begin(now);
        }
    }

    pub(super) fn next_due(&self) -> Nanos {
        if self.ready.has_begun() { self.machine.next_due() } else { self.resolver.next_due() }
    }

    /// Whether traffic may start: everything is advertised and the settle time has passed, or the timeout. With
    /// `patient` it may once sessions begin.
    pub(super) fn may_start(&mut self, now: Nanos, patient: bool) -> bool {
        let has_ended = self.plan.may_fail && self.machine.first_loss().is_some();
        has_ended || self.ready.may_start(now, patient, || self.machine.is_settled())
    }

    /// Traffic starts: notes what there is.
    pub(super) fn note_start(&mut self, patient: bool) {
        self.ready.note_start(patient, self.machine.established());
        if patient {
            return;
        }
        let missing = self.missing();
        self.complaints.extend(missing.or_else(|| self.ready.complaint("BGP")));
        let mut lacking = (0..self.plan.peers.len())
            .filter_map(|peer| Some((self.plan.peers[peer].remote, self.machine.lacks(peer)?)));
        if let Some((remote, family)) = lacking.next() {
            self.complaints.push(format!(
                "{remote} does not exchange {family} routes: the routes of {} sessions are not advertised; activate the address family \
                 for this neighbor",
                count(1 + lacking.count() as u64)
            ));
        }
        let mut lacking = (0..self.plan.peers.len())
            .filter_map(|peer| Some((self.plan.peers[peer].remote, self.machine.lacks_paths(peer)?)));
        if let Some((remote, family)) = lacking.next() {
            self.complaints.push(format!(
                "{remote} takes one path of each {family} prefix, so do the peers of {} sessions that were to get more ('add_path'): \
                 of paths for the same prefix they have the one that was sent last",
                count(1 + lacking.count() as u64)
            ));
        }
    }

    /// Ends all sessions.
    pub(super) fn end(&mut self, now: Nanos) {
        self.established_at_end = Some(self.machine.established());
        self.paths_at_end = Some(self.add_path_sessions());
        self.machine.shut(now);
    }

    /// Sessions established when traffic started, or ever if it did not wait for them.
    pub(super) fn established(&self) -> usize {
        let ever = |peer: &usize| self.machine.counts_of(*peer).established > 0;
        self.ready.there(self.plan.peers.len(), ever)
    }

    /// Sessions in which a prefix can have several paths, or could when traffic had ended.
    pub(super) fn add_path_sessions(&self) -> usize {
        let has_paths = |peer: &usize| self.machine.add_path(*peer) != AddPath::default();
        self.paths_at_end.unwrap_or_else(|| (0..self.plan.peers.len()).filter(has_paths).count())
    }

    /// Whether sessions were lost, in a sentence.
    pub(super) fn lost(&self) -> Option<String> {
        let (peer, why) = self.machine.first_loss()?;
        let config = &self.plan.peers[peer];
        let first = format!("{} (from {}) {why}", config.remote, config.local);
        Some(lost(self.machine.counts().flaps, "BGP sessions", &first))
    }

    /// Time from the first connection until all routes were acknowledged; `None` if they were not before traffic.
    pub(super) fn told_after(&self) -> Option<Nanos> {
        self.ready.told_after()
    }

    /// Why sessions are missing, in a sentence; `None` if none is. One that was taken down by a command is not missing.
    pub(super) fn missing(&self) -> Option<String> {
        let machine = &self.machine;
        let down = |peer: &usize| machine.state(*peer) != State::Established && !machine.is_down(*peer);
        let why = |peer: usize| {
            let (remote, local) = (self.plan.peers[peer].remote, self.plan.peers[peer].local);
            match machine.failure(peer) {
                Some(failure) => format!("{remote} (from {local}) {failure}"),
                None => format!("{remote} (from {local}) has not replied yet"),
            }
        };
        let all = self.plan.peers.len();
        let reasons: Vec<String> = (0..all).filter(down).map(why).collect();
        missing(all, NOT_ESTABLISHED, &reasons)
    }
}
