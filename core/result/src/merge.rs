//! One document from several: each machine of a run on several has a part of it, with a document.
//!
//! Each part has rows of all ports, streams and entries; rows of another machine's are zero. Packets sent of a stream are in its sender's
//! part, arrivals in its receiver's; clients and servers of an entry are in the part that has their port. So nothing is counted
//! twice, and loss is computed again.
//!
//! Not here: times of groups whose streams arrive at several machines, which follow from histograms: `engine` adds those up.

mod rates;
mod rows;

pub use rows::{Rows, put_sent};

use crate::{
    AgentResult, HoldsResult, IntervalDocument, Named, PortResult, ResultDocument, SessionResult,
    StreamResult, TotalDocument, Verdict,
};
use rows::of_names;

/// Ports, streams and sessions of the parts of a run, by index of the part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    /// Names of the parts, as reasons have them.
    pub parts: Vec<String>,
    /// The part of each port.
    pub ports: Named<usize>,
    /// Of each stream the part that sends it, and the one that it arrives at, if any.
    pub streams: Named<(usize, Option<usize>)>,
    /// Of each entry of sessions the parts of its clients and of its servers, if it has these.
    pub sessions: Named<(Option<usize>, Option<usize>)>,
    /// Streams of each row of each group.
    pub groups: Named<Named<Vec<String>>>,
}

/// Times of rows of groups whose streams arrive at several parts, by group and row.
pub type GroupTimes = Named<Named<StreamResult>>;

/// Remedy for a loss that a machine of the tester may have caused.
const REMEDY: &str = "run again, with less load on that machine or at a lower rate";
/// Remedy for figures of a machine that was lost.
const ALL_THERE: &str = "run again once all machines of the run are there";

/// The times of an interval that these parts have, without rows.
pub fn interval_head<'a>(parts: impl Iterator<Item = &'a IntervalDocument> + Clone) -> IntervalDocument {
    IntervalDocument {
        schema: crate::INTERVAL_SCHEMA.into(),
        at_s: parts.clone().map(|part| part.at_s).fold(0.0, f64::max),
        interval_s: parts.clone().map(|part| part.interval_s).fold(0.0, f64::max),
        draining: parts.clone().any(|part| part.draining),
        ..IntervalDocument::default()
    }
}

impl Shares {
    /// The totals of all parts.
    pub fn total(&self, parts: &[&TotalDocument], times: Option<&GroupTimes>) -> TotalDocument {
        let streams = self.streams(&mut of_names(each(parts, |part| &part.streams)), true);
        self.total_of(parts, streams, times)
    }

    /// The same with these rows of streams, which are not in the documents.
    pub fn total_of(
        &self,
        parts: &[&TotalDocument],
        streams: Named<StreamResult>,
        times: Option<&GroupTimes>,
    ) -> TotalDocument {
        TotalDocument {
            // Refused in a run of several parts.
            cleared: None,
            ports: self.ports(&each(parts, |part| &part.ports)),
            groups: self.groups(&each(parts, |part| &part.groups), Some(&streams), times),
            sessions: self.sessions(&each(parts, |part| &part.sessions)),
            streams,
        }
    }

    /// The same time of all parts; of a part that is late, there is none.
    pub fn interval(
        &self,
        parts: &[Option<&IntervalDocument>],
        times: Option<&GroupTimes>,
    ) -> IntervalDocument {
        let there = parts.iter().map(|part| part.map(|part| &part.streams));
        let empty = Named::new();
        let rows: Vec<&Named<StreamResult>> = there.map(|rows| rows.unwrap_or(&empty)).collect();
        let streams = self.streams(&mut of_names(rows), false);
        self.interval_of(parts, streams, times)
    }

    /// The same with these rows of streams, which are not in the documents.
    pub fn interval_of(
        &self,
        parts: &[Option<&IntervalDocument>],
        streams: Named<StreamResult>,
        times: Option<&GroupTimes>,
    ) -> IntervalDocument {
        let there: Vec<&IntervalDocument> = parts.iter().copied().flatten().collect();
        let late = self.parts.iter().zip(parts).filter(|(_, part)| part.is_none());
        let empty = IntervalDocument::default();
        let all: Vec<&IntervalDocument> = parts.iter().map(|part| part.unwrap_or(&empty)).collect();
        let disturbed = self.parts.iter().zip(&all);
        let sums: Vec<&StreamResult> = there.iter().filter_map(|part| part.all_streams.as_ref()).collect();
        IntervalDocument {
            disturbances: disturbed
                .flat_map(|(name, part)| part.disturbances.iter().map(move |reason| of(name, reason)))
                .collect(),
            late: late.map(|(name, _)| name.clone()).collect(),
            ports: self.ports(&each(&all, |part| &part.ports)),
            streams,
            all_streams: (!sums.is_empty()).then(|| sum(&sums, None, None)),
            groups: self.groups(&each(&all, |part| &part.groups), None, times),
            sessions: self.sessions(&each(&all, |part| &part.sessions)),
            ..interval_head(there.iter().copied())
        }
    }

    /// The results of all parts. Criteria, and whether the run succeeded, are judged again by who has its profile.
    pub fn result(
        &self,
        parts: &[&ResultDocument],
        times: Option<&GroupTimes>,
        agents: Vec<AgentResult>,
    ) -> ResultDocument {
        let first = parts.first().map(|part| (*part).clone()).unwrap_or_default();
        let streams = self.streams(&mut of_names(each(parts, |part| &part.streams)), true);
        let named = || self.parts.iter().zip(parts);
        let failure = named().find_map(|(name, part)| Some(of(name, part.failure.as_ref()?)));
        let mut merged = ResultDocument {
            started: parts.iter().filter_map(|part| part.started.clone()).min(),
            failure,
            duration_s: parts.iter().map(|part| part.duration_s).fold(0.0, f64::max),
            interrupted: parts.iter().any(|part| part.interrupted),
            captures: parts.iter().flat_map(|part| part.captures.clone()).collect(),
            protocols: parts.iter().flat_map(|part| part.protocols.iter().cloned()).collect(),
            rate_changes: rates::common(parts),
            criteria: Vec::new(),
            achieved: None,
            overall: None,
            ports: self.ports(&each(parts, |part| &part.ports)),
            groups: self.groups(&each(parts, |part| &part.groups), Some(&streams), times),
            sessions: self.sessions(&each(parts, |part| &part.sessions)),
            workers: parts.iter().flat_map(|part| part.workers.iter().cloned()).collect(),
            streams,
            agents,
            ..first
        };
        merged.verdict = self.verdict(parts, &merged);
        merged
    }

    fn ports(&self, parts: &[&Named<PortResult>]) -> Named<PortResult> {
        let row =
            |(name, part): (&String, &usize)| Some((name.clone(), parts.get(*part)?.get(name)?.clone()));
        self.ports.iter().filter_map(row).collect()
    }

    fn sessions(&self, parts: &[&Named<SessionResult>]) -> Named<SessionResult> {
        let row = |(name, (client, server)): (&String, &(Option<usize>, Option<usize>))| {
            let of = |part: Option<usize>| part.and_then(|part| parts.get(part)?.get(name));
            let (client, server) = (of(*client), of(*server));
            let mut row = client.or(server)?.clone();
            row.client = client.and_then(|row| row.client.clone());
            row.server = server.and_then(|row| row.server.clone());
            Some((name.clone(), row))
        };
        self.sessions.iter().filter_map(row).collect()
    }

    fn groups(
        &self,
        parts: &[&Named<Named<StreamResult>>],
        streams: Option<&Named<StreamResult>>,
        times: Option<&GroupTimes>,
    ) -> Named<Named<StreamResult>> {
        let group = |(name, rows): (&String, &Named<Vec<String>>)| {
            let row = |(row, members): (&String, &Vec<String>)| {
                let all: Vec<&StreamResult> =
                    parts.iter().filter_map(|part| part.get(name)?.get(row)).collect();
                let measured = |streams: &Named<StreamResult>| {
                    let members = members.iter().filter_map(|member| streams.get(member));
                    members.filter(|member| member.rx.is_some()).map(|member| member.tx).sum()
                };
                let sent = streams.filter(|streams| !streams.is_empty()).map(measured);
                let times = times.and_then(|times| times.get(name)?.get(row));
                (row.clone(), sum(&all, streams.map(|_| sent), times))
            };
            (name.clone(), rows.iter().map(row).collect())
        };
        if parts.iter().all(|part| part.is_empty()) {
            return Named::new();
        }
        self.groups.iter().map(group).collect()
    }

    /// Reasons of all parts, with their names; a loss holds if the verdict of neither its sender's nor its receiver's part casts doubt on it.
    fn verdict(&self, parts: &[&ResultDocument], merged: &ResultDocument) -> Verdict {
        let mut verdict = Verdict { valid: true, ..Verdict::default() };
        for (name, part) in self.parts.iter().zip(parts) {
            let own = &part.verdict;
            verdict.valid &= own.valid;
            verdict.generator_limited |= own.generator_limited;
            verdict.disturbed |= own.disturbed;
            let named = |all: &[String]| all.iter().map(|reason| of(name, reason)).collect::<Vec<_>>();
            verdict.reasons.extend(named(&own.reasons));
            verdict.lacks.extend(named(&own.lacks));
            verdict.faults.extend(named(&own.faults));
            verdict.notes.extend(named(&own.notes));
        }
        verdict.notes.extend(rates::late(&self.parts, parts, &merged.rate_changes));
        if let Some(incomplete) = merged.incomplete() {
            verdict.valid = false;
            verdict.faults.insert(0, incomplete.clone());
            verdict.reasons.insert(0, incomplete);
        }
        if !merged.streams.is_empty() && merged.streams.values().all(|row| row.tx == 0) {
            verdict.lack("no packet was sent".to_owned());
        }
        verdict.holds = self.holds(parts, merged);
        verdict
    }

    fn holds(&self, parts: &[&ResultDocument], merged: &ResultDocument) -> Named<HoldsResult> {
        let mut all = Named::new();
        for (index, part) in parts.iter().enumerate() {
            let own = part.verdict.holds.iter().filter(|(path, _)| self.knows(index, path));
            all.extend(own.map(|(path, entry)| (path.clone(), entry.clone())));
        }
        for (name, (from, to)) in &self.streams {
            let Some(row) = merged.streams.get(name).filter(|row| row.lost.unwrap_or(0) > 0) else {
                continue;
            };
            let apart = to.is_some_and(|to| to != *from);
            let ends = [Some(*from), *to].into_iter().flatten();
            let doubt = ends.filter_map(|part| parts.get(part).map(|document| (part, document)));
            let doubt = doubt.filter(|(_, document)| !document.verdict.valid || document.verdict.disturbed);
            let mut reasons = doubt.filter_map(|(part, document)| {
                Some(of(self.parts.get(part)?, document.verdict.reasons.first()?))
            });
            let Some(reason) = reasons.next().filter(|_| apart) else { continue };
            for figure in ["lost", "loss_ratio"] {
                let entry = HoldsResult {
                    holds: false,
                    lower: Some(0.0),
                    upper: (figure == "lost").then_some(row.lost.unwrap_or(0) as f64).or(row.loss_ratio),
                    reason: Some(reason.clone()),
                    remedy: Some(REMEDY.to_owned()),
                    ..HoldsResult::default()
                };
                all.insert(format!("streams.{name}.{figure}"), entry);
            }
        }
        self.doubt_lost(merged, &mut all);
        all
    }

    /// Bounds figures of machines that were lost: they counted on after their last message, and packets to and from them may
    /// have got lost with them.
    fn doubt_lost(&self, merged: &ResultDocument, all: &mut Named<HoldsResult>) {
        let loss = |part: &usize| merged.agents.get(*part).and_then(|agent| agent.lost.as_ref());
        let mut doubt = |path: String, reason: &str, (lower, upper): (Option<f64>, Option<f64>)| {
            let reason = Some(reason.to_owned());
            let remedy = Some(ALL_THERE.to_owned());
            all.insert(path, HoldsResult { lower, upper, reason, remedy, ..HoldsResult::default() });
        };
        let least = |n: u64| (Some(n as f64), None);
        for (name, part) in &self.ports {
            if let Some(loss) = loss(part) {
                doubt(format!("ports.{name}"), &loss.reason, (None, None));
            }
        }
        for (name, (from, to)) in &self.streams {
            let Some(row) = merged.streams.get(name) else { continue };
            let (sender, receiver) = (loss(from), to.as_ref().and_then(loss));
            if let Some(loss) = sender {
                doubt(format!("streams.{name}.tx"), &loss.reason, least(row.tx));
                doubt(format!("streams.{name}.tx_bytes"), &loss.reason, least(row.tx_bytes));
                doubt(format!("streams.{name}.offered_pps"), &loss.reason, (None, None));
            }
            if let Some(loss) = receiver {
                doubt(format!("streams.{name}.rx"), &loss.reason, (row.rx.map(|rx| rx as f64), None));
                doubt(
                    format!("streams.{name}.rx_bytes"),
                    &loss.reason,
                    (row.rx_bytes.map(|rx| rx as f64), None),
                );
            }
            let Some(loss) = sender.or(receiver) else { continue };
            // Of packets to a machine that is lost, any may have arrived; how many more a lost one has sent is not known.
            let most = |figure: Option<f64>| figure.filter(|_| sender.is_none());
            let lost = most(row.lost.map(|lost| lost as f64));
            doubt(format!("streams.{name}.lost"), &loss.reason, (Some(0.0), lost));
            doubt(format!("streams.{name}.loss_ratio"), &loss.reason, (Some(0.0), most(row.loss_ratio)));
        }
        for (group, rows) in &self.groups {
            for (row, members) in rows {
                let ends = members.iter().filter_map(|member| self.streams.get(member));
                let mut losses = ends.filter_map(|(from, to)| loss(from).or(to.as_ref().and_then(loss)));
                if let Some(loss) = losses.next() {
                    doubt(format!("groups.{group}.{row}"), &loss.reason, (None, None));
                }
            }
        }
        for (name, (client, server)) in &self.sessions {
            if let Some(loss) = client.iter().chain(server).find_map(loss) {
                doubt(format!("sessions.{name}"), &loss.reason, (None, None));
            }
        }
    }

    /// Whether a part is where a figure was measured.
    fn knows(&self, part: usize, path: &str) -> bool {
        let mut words = path.splitn(2, '.');
        let (kind, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let begins =
            |name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        match kind {
            "ports" => self.ports.iter().any(|(name, own)| *own == part && begins(name)),
            "streams" => {
                self.streams.iter().any(|(name, (from, to))| to.unwrap_or(*from) == part && begins(name))
            }
            "sessions" => {
                let own =
                    |(client, server): &(Option<usize>, Option<usize>)| client.or(*server) == Some(part);
                self.sessions.iter().any(|(name, ends)| own(ends) && begins(name))
            }
            _ => true,
        }
    }
}

/// A part of each of several documents.
fn each<'a, D, T>(parts: &[&'a D], get: fn(&'a D) -> &'a T) -> Vec<&'a T> {
    parts.iter().map(|part| get(part)).collect()
}

/// A reason with the machine that it is of.
fn of(name: &str, reason: &str) -> String {
    format!("{name}: {reason}")
}

/// Rows of one group in several parts. `sent`: of final counts, the packets of streams whose arrivals count, if known.
fn sum(parts: &[&StreamResult], sent: Option<Option<u64>>, times: Option<&StreamResult>) -> StreamResult {
    let add = |get: fn(&StreamResult) -> Option<u64>| {
        parts.iter().filter_map(|part| get(part)).reduce(|sum, n| sum + n)
    };
    let (tx, rx) = (parts.iter().map(|part| part.tx).sum(), add(|part| part.rx));
    let lost = sent.and_then(|sent| Some(sent.unwrap_or(tx).saturating_sub(rx?)));
    let receivers: Vec<&&StreamResult> =
        parts.iter().filter(|part| part.rx.is_some_and(|rx| rx > 0)).collect();
    // Times of one receiver are those of all.
    let of_one = match receivers.as_slice() {
        [only] => Some(**only),
        _ => times,
    };
    StreamResult {
        requested_pps: parts.first().and_then(|part| part.requested_pps),
        offered_pps: parts.iter().map(|part| part.offered_pps).sum(),
        tx,
        tx_bytes: parts.iter().map(|part| part.tx_bytes).sum(),
        rx,
        rx_bytes: add(|part| part.rx_bytes),
        lost,
        loss_ratio: lost.map(|lost| lost as f64 / sent.flatten().unwrap_or(tx).max(1) as f64),
        duplicates: add(|part| part.duplicates),
        reordered: add(|part| part.reordered),
        reorder_distance_max: parts.iter().filter_map(|part| part.reorder_distance_max).max(),
        stale: add(|part| part.stale),
        rejected: add(|part| part.rejected),
        damaged: add(|part| part.damaged),
        latency_ns: of_one.and_then(|row| row.latency_ns.clone()),
        jitter_ns: of_one.and_then(|row| row.jitter_ns.clone()),
        interarrival_ns: of_one.and_then(|row| row.interarrival_ns.clone()),
        undisturbed: of_one.and_then(|row| row.undisturbed.clone()),
        ..StreamResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossResult;

    fn shares() -> Shares {
        Shares {
            parts: vec!["agent 'a1'".to_owned(), "agent 'a2'".to_owned()],
            ports: Named::from([("west".to_owned(), 0), ("east".to_owned(), 1)]),
            streams: Named::from([("there".to_owned(), (0, Some(1))), ("back".to_owned(), (1, Some(0)))]),
            sessions: Named::from([("web".to_owned(), (Some(0), Some(1)))]),
            groups: Named::from([(
                "all".to_owned(),
                Named::from([("sum".to_owned(), vec!["there".to_owned(), "back".to_owned()])]),
            )]),
        }
    }

    fn sent(tx: u64) -> StreamResult {
        StreamResult { tx, offered_pps: tx as f64, rx: None, ..StreamResult::default() }
    }

    fn arrived(rx: u64) -> StreamResult {
        StreamResult { rx: Some(rx), duplicates: Some(1), lost: Some(0), ..StreamResult::default() }
    }

    fn document(there: StreamResult, back: StreamResult, group: StreamResult, valid: bool) -> ResultDocument {
        let mut document = ResultDocument {
            streams: Named::from([("there".to_owned(), there), ("back".to_owned(), back)]),
            groups: Named::from([("all".to_owned(), Named::from([("sum".to_owned(), group)]))]),
            ..ResultDocument::default()
        };
        document.verdict.valid = valid;
        document.verdict.reasons = if valid { Vec::new() } else { vec!["worker 0 waited".to_owned()] };
        document
    }

    #[test]
    fn loss_is_what_was_sent_there_and_did_not_arrive_here() {
        let one = document(sent(100), arrived(50), StreamResult { tx: 100, ..arrived(50) }, true);
        let other = document(arrived(97), sent(50), StreamResult { tx: 50, ..arrived(97) }, false);
        let merged = shares().result(&[&one, &other], None, Vec::new());
        let (there, back) = (&merged.streams["there"], &merged.streams["back"]);
        assert_eq!((there.tx, there.rx, there.lost, there.duplicates), (100, Some(97), Some(3), Some(1)));
        assert_eq!((back.tx, back.rx, back.lost), (50, Some(50), Some(0)));
        let sum = &merged.groups["all"]["sum"];
        assert_eq!((sum.tx, sum.rx, sum.lost), (150, Some(147), Some(3)));
        assert!(!merged.verdict.valid);
        assert_eq!(merged.verdict.reasons, ["agent 'a2': worker 0 waited"]);
        // The receiver's machine may have cost the packets.
        let holds = &merged.verdict.holds["streams.there.lost"];
        assert!(!holds.holds && holds.upper == Some(3.0));
        assert!(!merged.verdict.holds.contains_key("streams.back.lost"));
    }

    #[test]
    fn figures_of_a_lost_machine_have_bounds_or_are_void() {
        // 30 packets more were sent to the second machine, and its last counts are old.
        let one = document(sent(100), arrived(80), StreamResult::default(), true);
        let other = document(arrived(60), sent(70), StreamResult::default(), true);
        let loss = LossResult { reason: "agent 'a2' is lost".to_owned(), ..LossResult::default() };
        let agents = vec![AgentResult::default(), AgentResult { lost: Some(loss), ..AgentResult::default() }];
        let mut merged = shares().result(&[&one, &other], None, agents);
        assert!(
            !merged.verdict.valid && merged.verdict.faults[0].starts_with("incomplete: agent 'a2' is lost")
        );
        let decided = |path: &str, bound: f64, is_met: &dyn Fn(f64) -> bool| {
            merged.standing(path).decide(bound, is_met)
        };
        // The 40 that are missing may all have arrived, or none.
        assert_eq!(merged.streams["there"].lost, Some(40));
        assert_eq!(decided("streams.there.lost", 41.0, &|lost| lost < 41.0), Some(true));
        assert_eq!(decided("streams.there.lost", 10.0, &|lost| lost < 10.0), None);
        assert_eq!(decided("streams.there.tx", 100.0, &|tx| tx == 100.0), Some(true));
        // It has sent at least what it had counted; how many of these were lost is not known.
        assert_eq!(decided("streams.back.tx", 70.0, &|tx| tx >= 70.0), Some(true));
        assert_eq!(decided("streams.back.tx", 80.0, &|tx| tx >= 80.0), None);
        assert_eq!(decided("streams.back.lost", 1_000.0, &|lost| lost < 1_000.0), None);
        for path in ["ports.east.tx_packets", "groups.all.sum.rx", "sessions.web.completed"] {
            assert_eq!(decided(path, 0.0, &|n| n >= 0.0), None, "{path}");
        }
        assert_eq!(
            decided("ports.west.tx_packets", 0.0, &|n| n == 0.0),
            Some(false),
            "it was not measured here"
        );
        merged.achieved = None;
        assert_eq!(merged.decide().overall(), crate::Overall::CannotJudge);
    }

    #[test]
    fn a_part_without_an_interval_is_late_and_its_counts_come_later() {
        let interval = |there, back, at_s| IntervalDocument {
            at_s,
            streams: Named::from([("there".to_owned(), there), ("back".to_owned(), back)]),
            ..IntervalDocument::default()
        };
        let (first, second) = (interval(sent(10), arrived(4), 0.1), interval(sent(10), arrived(6), 0.2));
        let late = interval(arrived(19), sent(10), 0.2);
        let shares = shares();
        let one = shares.interval(&[Some(&first), None], None);
        let two = shares.interval(&[Some(&second), Some(&late)], None);
        assert_eq!(one.late, ["agent 'a2'"]);
        assert!(two.late.is_empty());
        assert_eq!(one.streams["there"].tx + two.streams["there"].tx, 20);
        assert_eq!(two.streams["there"].rx, Some(19));
        assert_eq!(two.streams["there"].lost, None, "packets on their way are not lost");
    }

    #[test]
    fn each_side_of_sessions_is_where_it_ran() {
        let row = |attempted| SessionResult {
            seen: crate::SideResult { attempted, ..Default::default() },
            client: Some(crate::SideDetails {
                seen: crate::SideResult { attempted, ..Default::default() },
                ..Default::default()
            }),
            server: Some(crate::SideDetails {
                seen: crate::SideResult { attempted: attempted + 1, ..Default::default() },
                ..Default::default()
            }),
            ..SessionResult::default()
        };
        let part = |attempted| TotalDocument {
            sessions: Named::from([("web".to_owned(), row(attempted))]),
            ..TotalDocument::default()
        };
        let merged = shares().total(&[&part(7), &part(0)], None);
        let web = &merged.sessions["web"];
        assert_eq!(web.seen.attempted, 7);
        assert_eq!(web.client.as_ref().unwrap().seen.attempted, 7);
        assert_eq!(web.server.as_ref().unwrap().seen.attempted, 1);
    }
}
