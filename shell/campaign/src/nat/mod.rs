//! Trials of NATxy gateways (RFC 9693): connections opened from inside, as they arrive outside.
//!
//! The initiator's packets are a stream with a list of endpoints; both ports are captured, so the outside endpoint of each
//! connection is known. The responder's packets are a stream with the list of these endpoints. One trial is several runs
//! of the engine, which learn from each other; connections live on meanwhile.
//!
//! Not here: TCP, whose states a gateway follows, and the search, which is the method's.

mod exchange;
mod mappings;
mod setup;

use crate::directions::Directions;
use crate::outcome::group;
use crate::{CampaignError, Tester};
use engine::{Commands, TrialObserver, View};
use exchange::{Crossing, Exchange, Folder, exchange};
use lab::{Hook, Moment, Template, Variables};
pub use mappings::MappingFile;
use methods::{
    GroupOutcome, NatBehavior, NatLoad, NatOutcome, NatTask, NatTimeout, TrialOutcome, TrialRequest,
};
use nat::{Analysis, Endpoint, Filtering, Mapping, ProbeFrom, Share};
use profile::Plan;
use profile::plan::StreamPlan;
use result::ResultDocument;
use setup::{Ends, Setup};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;
use units::{Load, Nanos, Pps};

/// Packets per second in runs without a rate.
const EASY: Pps = Pps::new(1_000);
/// ICMP errors sent.
const ERRORS: usize = 32;
/// Opened at less than this share of the rate: the tester was the limit.
const OPENED_MIN: f64 = 0.95;
/// Time limit of the command that deletes the table.
const COMMAND_LONGEST: Nanos = Nanos::from_secs(600);

/// # Errors
/// The profile has not both sides of a gateway.
pub(crate) fn check(plan: &Plan, directions: &Directions) -> Result<(), CampaignError> {
    Setup::of(plan, directions).map(drop)
}

/// Parts of a trial.
pub(crate) struct Trial<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) directions: &'a Directions,
    pub(crate) request: &'a TrialRequest,
    /// Commands by name, and their variables.
    pub(crate) commands: &'a BTreeMap<String, Template>,
    pub(crate) variables: &'a Variables,
    /// Where mappings are written.
    pub(crate) mappings: Option<&'a MappingFile>,
}

/// Runs a trial; returns its outcome, and the document of its main run.
///
/// # Errors
/// It could not be run.
pub(crate) fn run(
    trial: &Trial<'_>,
    task: &NatTask,
    tester: &mut dyn Tester,
    commands: &mut Commands,
    observer: &mut dyn TrialObserver,
) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
    let setup = Setup::of(trial.plan, trial.directions)?;
    let bench = Bench {
        trial,
        setup,
        folder: Folder::new()?,
        tester,
        commands,
        runs: 0,
        outcome: TrialOutcome { valid: true, ..TrialOutcome::default() },
    };
    match task {
        NatTask::Behavior { samples } => bench.behavior(*samples, observer),
        NatTask::Timeout { longest, probes } => bench.timeout(*longest, *probes, observer),
        NatTask::Connections(load) => bench.connections(load, observer),
        NatTask::Traffic { load, pps } => bench.traffic(load, *pps, observer),
        NatTask::TearDown { load, command } => bench.tear_down(load, command, observer),
    }
}

/// A trial on its way.
struct Bench<'a> {
    trial: &'a Trial<'a>,
    setup: Setup<'a>,
    folder: Folder,
    tester: &'a mut dyn Tester,
    commands: &'a mut Commands,
    /// Runs of the engine so far.
    runs: u64,
    /// Validity of the runs so far.
    outcome: TrialOutcome,
}

/// Opened connections.
struct Opened {
    mappings: Vec<Mapping>,
    /// Source MAC address of the gateway's frames.
    mac: [u8; 6],
    document: ResultDocument,
    outcome: NatOutcome,
}

impl Bench<'_> {
    /// Runs streams with both ports captured; adds their validity to the trial's outcome.
    fn exchange(
        &mut self,
        streams: Vec<StreamPlan>,
        observer: &mut dyn TrialObserver,
    ) -> Result<Exchange, CampaignError> {
        let plan = self.setup.plan(self.trial.request, self.runs, streams);
        self.runs += 1;
        let found = exchange(plan, &self.folder, self.tester, self.commands, observer)?;
        self.trust(&found.outcome);
        Ok(found)
    }

    /// Adds the validity of a run.
    fn trust(&mut self, of: &TrialOutcome) {
        let all = &mut self.outcome;
        let is_bounded = |outcome: &TrialOutcome| outcome.valid || outcome.only_worse;
        let only_worse = is_bounded(all) && is_bounded(of);
        all.duration += of.duration;
        all.valid &= of.valid;
        all.only_worse = only_worse && !all.valid;
        all.generator_limited |= of.generator_limited;
        all.disturbed |= of.disturbed;
        all.interrupted |= of.interrupted;
        all.reasons.extend(of.reasons.iter().cloned());
    }

    fn finish(self, nat: NatOutcome, document: ResultDocument) -> (TrialOutcome, ResultDocument) {
        (TrialOutcome { nat: Some(nat), ..self.outcome }, document)
    }

    /// Sends a packet from each inside endpoint to its remote: the mappings that follow, in the order of sending.
    fn open(
        &mut self,
        ends: &[Ends],
        rate: Pps,
        observer: &mut dyn TrialObserver,
    ) -> Result<Opened, CampaignError> {
        let stream = self.setup.outward("initiator", ends, rate);
        let found = self.exchange(vec![stream], observer)?;
        let arrived = |crossing: &Crossing| {
            let arrived = crossing.arrived.filter(|arrived| arrived.port == self.setup.outside_port)?;
            let Crossing { sent, sent_ns, .. } = *crossing;
            let mapping = Mapping {
                protocol: sent.protocol,
                inside: sent.from,
                to: sent.to,
                outside: arrived.datagram.from,
                remote: arrived.datagram.to,
                sent_ns,
                arrived_ns: arrived.at_ns,
            };
            Some((mapping, arrived.mac))
        };
        let (mappings, macs): (Vec<_>, Vec<_>) = found.crossings.iter().filter_map(arrived).unzip();
        if let Some(file) = self.trial.mappings {
            file.append(&mappings)?;
        }
        let times = || found.crossings.iter().map(|crossing| crossing.sent_ns);
        let took_s = times().max().unwrap_or(0).saturating_sub(times().min().unwrap_or(0)) as f64 / 1e9;
        let opened_per_s =
            if took_s > 0.0 { (found.crossings.len() - 1) as f64 / took_s } else { rate.as_f64() };
        let attempted = ends.len() as u64;
        if opened_per_s < rate.as_f64() * OPENED_MIN || (found.crossings.len() as u64) < attempted {
            self.outcome.generator_limited |= !found.outcome.disturbed;
            self.outcome.reasons.push(format!(
                "{} of {} connections were opened, {opened_per_s:.0} per second, not {rate}",
                found.crossings.len(),
                ends.len()
            ));
            (self.outcome.valid, self.outcome.only_worse) = (false, found.outcome.disturbed);
        }
        let outcome =
            NatOutcome { attempted, arrived: mappings.len() as u64, opened_per_s, ..NatOutcome::default() };
        let mac = macs.first().copied().unwrap_or_default();
        Ok(Opened { mappings, mac, document: found.document, outcome })
    }

    /// Sends a packet from each remote to its outside endpoint: which of the mappings it came back through, to whom it belongs.
    fn answer(
        &mut self,
        mappings: &[Mapping],
        mac: [u8; 6],
        rate: Pps,
    ) -> Result<HashSet<(Endpoint, Endpoint)>, CampaignError> {
        if mappings.is_empty() {
            return Ok(HashSet::new());
        }
        let ends: Vec<Ends> = mappings.iter().map(|mapping| (mapping.remote, mapping.outside)).collect();
        let found = self.send_in(&ends, mac, rate)?;
        let came: HashSet<_> = found.into_iter().map(|(_, arrived, _)| (arrived.1, arrived.0)).collect();
        let whose = |mapping: &&Mapping| came.contains(&(mapping.inside, mapping.to));
        Ok(mappings.iter().filter(whose).map(|mapping| (mapping.inside, mapping.to)).collect())
    }

    /// Sends packets with these ends from outside: of each that reached the inside, its ends, those it had there, and when it was sent.
    fn send_in(
        &mut self,
        ends: &[Ends],
        mac: [u8; 6],
        rate: Pps,
    ) -> Result<Vec<(Ends, Ends, u64)>, CampaignError> {
        if ends.is_empty() {
            return Ok(Vec::new());
        }
        let stream = self.setup.inward("responder", ends, rate, mac);
        let found = self.exchange(vec![stream], &mut Unseen)?;
        let inside = self.setup.inside_port;
        let came = |crossing: &Crossing| {
            let arrived = crossing.arrived.filter(|arrived| arrived.port == inside)?.datagram;
            Some(((crossing.sent.from, crossing.sent.to), (arrived.from, arrived.to), crossing.sent_ns))
        };
        Ok(found.crossings.iter().filter_map(came).collect())
    }

    /// Opens connections and validates all (RFC 9693 sections 4.5 and 4.6).
    fn established(
        &mut self,
        load: &NatLoad,
        observer: &mut dyn TrialObserver,
    ) -> Result<Opened, CampaignError> {
        let ends = self.setup.connections(load.connections, self.trial.request.number);
        let mut opened = self.open(&ends, Pps::new(load.rate), observer)?;
        let validated = self.answer(&opened.mappings, opened.mac, Pps::new(load.validate_rate))?;
        opened.outcome.validated = validated.len() as u64;
        opened.mappings.retain(|mapping| validated.contains(&(mapping.inside, mapping.to)));
        Ok(opened)
    }

    fn connections(
        mut self,
        load: &NatLoad,
        observer: &mut dyn TrialObserver,
    ) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
        let opened = self.established(load, observer)?;
        Ok(self.finish(opened.outcome, opened.document))
    }

    /// An even load both ways over established connections (RFC 9693 section 4.7).
    fn traffic(
        mut self,
        load: &NatLoad,
        pps: u64,
        observer: &mut dyn TrialObserver,
    ) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
        let opened = self.established(load, &mut Unseen)?;
        if opened.mappings.is_empty() {
            return Ok(self.finish(opened.outcome, opened.document));
        }
        let (duration, rate) = (self.trial.request.duration, Pps::new(pps));
        let outward: Vec<Ends> = opened.mappings.iter().map(|mapping| (mapping.inside, mapping.to)).collect();
        let inward: Vec<Ends> =
            opened.mappings.iter().map(|mapping| (mapping.remote, mapping.outside)).collect();
        let lasting = |stream: StreamPlan| StreamPlan {
            rate: Load::Packets(rate),
            count: Some(rate.packets_in(duration).max(1)),
            ..self.setup.sized(stream)
        };
        let streams = vec![
            lasting(self.setup.outward("outward", &outward, rate)),
            lasting(self.setup.inward("inward", &inward, rate, opened.mac)),
        ];
        let plan = self.setup.plan(self.trial.request, self.runs, streams);
        let document = self.tester.run(plan, self.commands, observer)?;
        self.trust(&crate::outcome::of_any(&document));
        self.outcome.groups = document
            .streams
            .iter()
            .map(|(name, row)| {
                let of = group(name, row);
                let per_s = of.sent as f64 / duration.as_secs_f64().max(1e-9);
                GroupOutcome {
                    requested: rate,
                    achieved: Pps::from_micro((per_s * 1e6) as u64),
                    lost: of.sent.saturating_sub(of.received),
                    lost_least: crate::outcome::lost_least(&document, &format!("streams.{name}")),
                    ..of
                }
            })
            .collect();
        Ok(self.finish(opened.outcome, document))
    }

    /// The gateway's command deletes the whole table (RFC 9693 section 4.8).
    fn tear_down(
        mut self,
        load: &NatLoad,
        command: &str,
        observer: &mut dyn TrialObserver,
    ) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
        let refuse = |reason: &str| CampaignError::Trial {
            label: self.trial.request.label.clone(),
            reason: reason.to_owned(),
        };
        let template = self.trial.commands.get(command);
        let template =
            template.ok_or_else(|| refuse("no command deletes the table: give one with --reset"))?.clone();
        if !self.tester.is_real() {
            return Err(refuse("a simulated device takes no commands"));
        }
        let mut opened = self.established(load, observer)?;
        let hook = Hook { when: Moment::BeforeTrial, command: template, ssh: None, timeout: COMMAND_LONGEST };
        let begun = Instant::now();
        hook.run(self.trial.variables)?;
        opened.outcome.torn_down_s = Some(begun.elapsed().as_secs_f64());
        let left = self.answer(&opened.mappings, opened.mac, Pps::new(load.validate_rate))?;
        opened.outcome.left = Some(left.len() as u64);
        Ok(self.finish(opened.outcome, opened.document))
    }

    /// Mappings of various ages, each probed once from outside (RFC 4787 section 4.3).
    fn timeout(
        mut self,
        longest: Nanos,
        probes: u32,
        observer: &mut dyn TrialObserver,
    ) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
        let ends = self.setup.connections(probes.into(), self.trial.request.number);
        let mut opened = self.open(&ends, EASY, observer)?;
        let micro = u128::from(probes) * 1_000_000_000_000_000 / u128::from(longest.0.max(1));
        let rate = Pps::from_micro(u64::try_from(micro).unwrap_or(u64::MAX).max(1));
        let ends: Vec<Ends> =
            opened.mappings.iter().map(|mapping| (mapping.remote, mapping.outside)).collect();
        let seen = match ends.is_empty() {
            true => Vec::new(),
            false => {
                let stream = self.setup.inward("responder", &ends, rate, opened.mac);
                self.exchange(vec![stream], &mut Unseen)?.crossings
            }
        };
        let of: HashMap<Ends, &Mapping> =
            opened.mappings.iter().map(|mapping| ((mapping.remote, mapping.outside), mapping)).collect();
        let (mut ages, mut ended) = (Vec::new(), Vec::new());
        for crossing in &seen {
            let Some(mapping) = of.get(&(crossing.sent.from, crossing.sent.to)) else { continue };
            let came = crossing.arrived.is_some_and(|arrived| arrived.datagram.to == mapping.inside);
            // It was last used when its packet passed the gateway, between leaving and arriving.
            ages.push((crossing.sent_ns.saturating_sub(mapping.arrived_ns), came));
            if !came {
                ended.push(**mapping);
            }
        }
        let again: Vec<Ends> = ended.iter().map(|mapping| (mapping.inside, mapping.to)).collect();
        let reopened = match again.is_empty() {
            true => Vec::new(),
            false => self.open(&again, EASY, &mut Unseen)?.mappings,
        };
        let before: HashMap<Endpoint, Endpoint> =
            ended.iter().map(|mapping| (mapping.inside, mapping.outside)).collect();
        let reused =
            Share::of(reopened.iter().map(|mapping| before.get(&mapping.inside) == Some(&mapping.outside)));
        opened.outcome.timeout = Some(NatTimeout::of(&ages, reused));
        Ok(self.finish(opened.outcome, opened.document))
    }

    /// Mapping, filtering, hairpinning, ICMP errors.
    fn behavior(
        mut self,
        samples: u32,
        observer: &mut dyn TrialObserver,
    ) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
        let seed = self.trial.plan.seed ^ self.trial.request.number;
        let all = self.setup.neighbours(2 * samples, seed);
        // Some send to all remotes, the others to one alone.
        let (many, few) = all.split_at(all.len() / 2);
        let remotes: Vec<Endpoint> = [(0, 0), (0, 1), (1, 0), (1, 1)]
            .into_iter()
            .filter_map(|(address, port)| self.setup.remote(address, port))
            .collect();
        let first = remotes[0];
        let ends: Vec<Ends> = remotes
            .iter()
            .flat_map(|remote| many.iter().map(|inside| (*inside, *remote)))
            .chain(few.iter().map(|inside| (*inside, first)))
            .collect();
        let mut opened = self.open(&ends, EASY, observer)?;
        let few: HashSet<Endpoint> = few.iter().copied().collect();
        let alone: Vec<Mapping> =
            opened.mappings.iter().filter(|mapping| few.contains(&mapping.inside)).copied().collect();
        let mapping = Analysis::of(&opened.mappings);
        let other = opened.mappings.iter().find(|mapping| mapping.to.address != first.address);
        let other = other.map(|mapping| mapping.remote.address);
        let filtering = match alone.is_empty() {
            true => None,
            false => Some(self.filtering(&alone, other, opened.mac)?),
        };
        let (hairpinning, hairpinning_from_outside) = self.hairpinning(&alone)?;
        let icmp_errors = self.errors(&alone, opened.mac)?;
        let behavior = NatBehavior { mapping, filtering, hairpinning, hairpinning_from_outside, icmp_errors };
        opened.outcome.behavior = Some(behavior);
        Ok(self.finish(opened.outcome, opened.document))
    }

    /// Packets to each mapping, from endpoints that it has not sent to, then from the one that it has.
    fn filtering(
        &mut self,
        mappings: &[Mapping],
        other: Option<std::net::IpAddr>,
        mac: [u8; 6],
    ) -> Result<Filtering, CampaignError> {
        let from = |kind: ProbeFrom, mapping: &Mapping| match kind {
            ProbeFrom::SameEndpoint => Some(mapping.remote),
            ProbeFrom::OtherPort => {
                Some(Endpoint { port: mapping.remote.port.wrapping_add(1).max(1), ..mapping.remote })
            }
            ProbeFrom::OtherAddress => Some(Endpoint { address: other?, ..mapping.remote }),
        };
        let kinds = [ProbeFrom::OtherAddress, ProbeFrom::OtherPort, ProbeFrom::SameEndpoint];
        let probes: Vec<(ProbeFrom, Ends, Endpoint)> = kinds
            .into_iter()
            .flat_map(|kind| {
                mappings.iter().filter_map(move |mapping| {
                    Some((kind, (from(kind, mapping)?, mapping.outside), mapping.inside))
                })
            })
            .collect();
        let ends: Vec<Ends> = probes.iter().map(|probe| probe.1).collect();
        let came: HashMap<Ends, Endpoint> =
            self.send_in(&ends, mac, EASY)?.into_iter().map(|(sent, arrived, _)| (sent, arrived.1)).collect();
        Ok(Filtering::of(probes.iter().map(|(kind, ends, inside)| (*kind, came.get(ends) == Some(inside)))))
    }

    /// Packets from one inside endpoint to the outside endpoint of another: those that reached it, and those that did so from outside.
    fn hairpinning(&mut self, mappings: &[Mapping]) -> Result<(Share, Share), CampaignError> {
        if mappings.len() < 2 {
            return Ok(Default::default());
        }
        let next = mappings.iter().cycle().skip(1);
        let pairs: Vec<(&Mapping, &Mapping)> = mappings.iter().zip(next).collect();
        let ends: Vec<Ends> =
            pairs.iter().map(|(from, to)| (from.inside, self.setup.inside_address(to.outside))).collect();
        // Where it arrives is what is asked.
        let stream = StreamPlan { to: None, ..self.setup.outward("hairpin", &ends, EASY) };
        let found = self.exchange(vec![stream], &mut Unseen)?;
        let of: HashMap<Ends, (&Mapping, &Mapping)> = ends.iter().copied().zip(pairs).collect();
        let (mut reached, mut from_outside) = (Vec::new(), Vec::new());
        for crossing in &found.crossings {
            let Some((from, to)) = of.get(&(crossing.sent.from, crossing.sent.to)) else { continue };
            let arrived = crossing.arrived.filter(|arrived| arrived.port == self.setup.inside_port);
            let arrived = arrived.map(|arrived| arrived.datagram).filter(|arrived| arrived.to == to.inside);
            reached.push(arrived.is_some());
            from_outside.extend(arrived.map(|arrived| arrived.from != from.inside));
        }
        Ok((Share::of(reached), Share::of(from_outside)))
    }

    /// ICMP errors from outside about the packets of mappings: those that reached whom the packet was from, with that packet in them.
    fn errors(&mut self, mappings: &[Mapping], mac: [u8; 6]) -> Result<Share, CampaignError> {
        let about: Vec<&Mapping> = mappings.iter().take(ERRORS).collect();
        let streams: Vec<StreamPlan> = (0..)
            .zip(&about)
            .filter_map(|(number, mapping)| self.setup.error(mapping, number, mac))
            .collect();
        if streams.is_empty() {
            return Ok(Share::new(0, 0));
        }
        let found = self.exchange(streams, &mut Unseen)?;
        let inside = self.setup.inside_port;
        let came: HashSet<Ends> = found
            .errors
            .iter()
            .filter(|(port, error)| *port == inside && error.sent_to == error.datagram.from.address)
            .map(|(_, error)| (error.datagram.from, error.datagram.to))
            .collect();
        Ok(Share::of(about.iter().map(|mapping| came.contains(&(mapping.inside, mapping.to)))))
    }
}

/// Runs without an observer.
struct Unseen;

impl TrialObserver for Unseen {
    fn interval(&self) -> Nanos {
        Nanos::from_secs(1)
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {}
}
