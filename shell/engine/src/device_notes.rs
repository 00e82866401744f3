//! Notes on what devices and servers do that figures alone do not show: they change no figure and no verdict.

use crate::rows;
use crate::trust::Evidence;
use field::{Program, Target, Vary, Write};
use profile::plan::StreamPlan;
use session::plan::{Carrier, LoadPlan, OpenRate, SessionPlan, Side};
use session::{Counts, Reason, RedirectCounts, Unfollowed};
use std::collections::HashSet;
use units::{count, quantity};
use wire::{Header, Packet};

/// Flows of which none comes by another port by chance: of two paths taken at random, once in 2^63 times.
const FLOWS_MIN: usize = 64;
/// Number of packets of a stream that are inspected to count its flows.
const LOOKED_AT: u64 = 4_096;
/// Factor between times since a request was due and since it was sent from which on a note explains the difference.
const WAITED_MIN: f64 = 1.1;
/// Share of requests left out from which on a note reports it.
const LEFT_OUT_MIN: f64 = 0.01;

impl Evidence<'_> {
    /// Notes on sessions, then on streams.
    pub(crate) fn device_notes(&self) -> Vec<String> {
        let plan = &self.trial.plan;
        let entries = plan.sessions.iter().map(|entry| &entry.session).enumerate();
        let clients = entries.filter(|(_, entry)| entry.client.is_some());
        let sessions = clients.flat_map(|(index, entry)| {
            let counts = self.sums.sessions(index, Side::Client);
            left_out(entry, &counts.app, counts.unsent())
                .into_iter()
                .chain(withheld(entry, &counts.app, counts.withheld))
                .chain(of_sessions(entry, &counts.app))
        });
        let streams = plan.streams.iter().enumerate();
        let of_streams = streams.flat_map(|(index, stream)| {
            self.only_path(index, stream).into_iter().chain(self.damage(index, stream))
        });
        sessions.chain(of_streams).collect()
    }

    /// A stream of which packets arrived damaged.
    fn damage(&self, index: usize, stream: &StreamPlan) -> Option<String> {
        let (counts, _) = rows::damages(self.trial, self.sums, index)?;
        let kind = |(name, packets)| format!("{name} {}", count(packets));
        let kinds: Vec<String> = rows::damage_kinds(counts).into_iter().map(kind).collect();
        let received = self.sums.arrivals.streams[index].counts;
        (!kinds.is_empty()).then(|| {
            format!(
                "stream {}: {} of {} packets arrived damaged and are not lost ({})",
                stream.name,
                count(counts.packets()),
                count(received.received + received.duplicates),
                kinds.join(", ")
            )
        })
    }

    /// A stream of many flows that may come by several ports, and came by one only.
    fn only_path(&self, index: usize, stream: &StreamPlan) -> Option<String> {
        let vary = stream.vary.as_deref().filter(|_| !stream.also_to.is_empty())?;
        let mut paths = self.sums.paths.of(index);
        let (Some((port, path)), None) = (paths.next(), paths.next()) else { return None };
        let varies = Varies::of(vary, &stream.packet.headers);
        if path.received < FLOWS_MIN as u64 || varies.flows < FLOWS_MIN {
            return None;
        }
        let hint = match varies.addresses {
            true => "",
            false => {
                "; devices that choose paths by addresses alone do not spread ports (a select group of Open vSwitch does not look at \
                 UDP ports): vary addresses, too"
            }
        };
        let port = &self.trial.plan.ports[port].name;
        Some(format!("stream {}: all its flows came by port {port}, none by another{hint}", stream.name))
    }
}

/// Differences between the flows of a stream: in the addresses and ports of its headers.
struct Varies {
    addresses: bool,
    /// Number of flows seen in the first packets.
    flows: usize,
}

impl Varies {
    fn of(vary: &Vary, headers: &[Header]) -> Self {
        let addresses = vary.writes.iter().any(|write| is_end_of(write, headers, &["ipv4", "ipv6"]));
        let flows = ["ipv4", "ipv6", "udp", "tcp", "sctp"];
        let ends = vary.writes.iter().filter(|write| is_end_of(write, headers, &flows));
        let ends: Vec<usize> = ends.map(|write| write.variable).collect();
        let values = Vary { writes: Vec::new(), ..vary.clone() };
        let mut nothing = Packet { bytes: vec![], offsets: vec![], payload: 0, checksums: vec![] };
        let flows = Program::new(&values, &mut nothing, None).map_or(0, |program| {
            let flow = |number| {
                let values = program.values(number);
                ends.iter().map(|variable| values[*variable]).collect::<Vec<_>>()
            };
            (0..LOOKED_AT).map(flow).collect::<HashSet<_>>().len()
        });
        Self { addresses, flows }
    }
}

/// Whether the source or destination of one of the protocols is written.
fn is_end_of(write: &Write, headers: &[Header], protocols: &[&str]) -> bool {
    let Target::Field { header, field } = write.target else { return false };
    let protocol = headers.get(header).map(|header| header.protocol.name);
    protocol.is_some_and(|name| protocols.contains(&name)) && matches!(field.name, "src" | "dst")
}

/// Reasons for which everything fails at once, and where to look then.
const HINTS: [(Reason, &str); 7] = [
    (
        Reason::Refused,
        "were refused: does a server listen at that address and port, or does a device on the way refuse them?",
    ),
    (
        Reason::Http4xx,
        "got a status of 4xx: does the server have the requested resource? Check 'path' and the Host header",
    ),
    (
        Reason::NoHttp2,
        "found no HTTP/2: does the server support it at that port, and over TLS? 'version: 1.1' uses HTTP/1.1, 'auto' what the server chooses \
         over TLS (eagre http: without --h2)",
    ),
    (
        Reason::NoHttp3,
        "found no HTTP/3: does the server speak it at that port of UDP? 'version: 2' and '1.1' go over TCP (eagre http: without --h3)",
    ),
    (Reason::NoDoq, "found no DNS over QUIC: does the server speak it at that port of UDP (853 unless set)?"),
    (
        Reason::DohContentType,
        "got responses of HTTP that are no DNS messages: does the server speak DNS over HTTPS at that 'path' and 'host'?",
    ),
    (
        Reason::TlsProtocol,
        "negotiated no version of TLS: does the port use TLS, and which versions? A port of plain HTTP responds in HTTP",
    ),
];
/// Share of sessions that fail for one reason so that the reason is looked into.
const NEARLY_ALL: f64 = 0.9;

/// A rate of requests that was not kept, because sessions were not free when requests were due.
fn left_out(plan: &SessionPlan, counts: &Counts, unsent: i64) -> Option<String> {
    let unsent = u64::try_from(unsent).ok().filter(|unsent| *unsent > 0)?;
    let due = counts.requests.saturating_sub(counts.redirects.followed).saturating_add(unsent);
    let fate = if plan.load.late { "still waited at the end" } else { "were left out" };
    (unsent as f64 > due as f64 * LEFT_OUT_MIN).then(|| {
        format!(
            "sessions {}: {} of {} requests due {fate}: no session was free for them; 'concurrent' gives more sessions{}",
            plan.name,
            count(unsent),
            count(due),
            if plan.load.late { "" } else { ", and with 'late_requests: send' they are sent late, with times from when they were due" }
        )
    })
}

/// A rate of sessions that was not kept, because as many as there may be were open when more were due.
fn withheld(plan: &SessionPlan, counts: &Counts, withheld: u64) -> Option<String> {
    let due = counts.attempted.saturating_add(withheld);
    (withheld as f64 > due as f64 * LEFT_OUT_MIN).then(|| {
        format!(
            "sessions {}: {} of {} sessions due were not opened, because as many as 'concurrent' allows were open",
            plan.name,
            count(withheld),
            count(due)
        )
    })
}

/// Note on redirects that were not followed, with what to do about the most frequent ones.
fn of_redirects(name: &str, counts: &RedirectCounts) -> Option<String> {
    let by_reason = Unfollowed::ALL.into_iter().zip(counts.unfollowed);
    let (reason, most) = by_reason.max_by_key(|(_, redirects)| *redirects).filter(|(_, most)| *most > 0)?;
    let why = match reason {
        Unfollowed::Limit => {
            "came after as many as 'redirects' allows (eagre http: --max-redirects): the server may redirect in a loop"
        }
        Unfollowed::NoLocation => "had no Location",
        Unfollowed::BadLocation => "had a Location that is no URI, or too long",
        Unfollowed::OtherScheme => {
            "lead to another scheme, such as from http to https; a session reaches one server: load the target itself"
        }
        Unfollowed::OtherHost => {
            "lead to another host than the Host field names; a session reaches one server: load the target itself, or set 'host'"
        }
        Unfollowed::OtherPort => "lead to another port; a session reaches one server: load the target itself",
        Unfollowed::Closed => {
            "came on connections that the server closed after them, and no other could be opened, or with HTTP/3; have it keep connections open"
        }
    };
    let all = counts.unfollowed.iter().sum::<u64>();
    Some(format!("sessions {name}: {} redirects were not followed; {} {why}", count(all), count(most)))
}

/// Whether a round of sessions failed before others took their places, and none did better.
fn waited_to_retry(plan: &SessionPlan, counts: &Counts) -> bool {
    let load = &plan.load;
    // A session that waits for an answer first takes longer than the pause.
    let is_quick = |reason: &Reason| !reason.name().ends_with("timeout");
    let failed: u64 = Reason::ALL.into_iter().filter(is_quick).map(|reason| counts.failed(reason)).sum();
    load.open == OpenRate::Max
        && load.count.is_none()
        && counts.completed + counts.bytes_received == 0
        && failed >= load.concurrent.unwrap_or(LoadPlan::MAX_CONCURRENT)
}

/// Notes on the results of an entry's clients.
fn of_sessions(plan: &SessionPlan, counts: &Counts) -> Vec<String> {
    let name = &plan.name;
    let mut notes = Vec::new();
    if counts.unasked > 0 {
        notes.push(format!(
            "sessions {name}: {} requests were not sent because servers closed their connections before; set 'requests' to what a \
             server takes on one connection, and 'think' to less than it keeps an idle one",
            count(counts.unasked)
        ));
    }
    notes.extend(of_redirects(name, &counts.redirects));
    let untrusted = counts.failed(Reason::TlsCertificate);
    if untrusted > 0 {
        let why: Vec<&str> = counts.details.keys().map(String::as_str).collect();
        notes.push(format!(
            "sessions {name}: {} failed because the server's certificate was not accepted ({}); name its root in 'tls: {{verify: {{roots: \
             file.pem}}}}' (eagre http: --cacert), or leave 'verify' out (-k)",
            count(untrusted),
            why.join(", ")
        ));
    }
    if let Some((due, sent)) =
        counts.ttlb_due.histogram.quantile(0.99).zip(counts.ttlb.histogram.quantile(0.99))
        && due as f64 > sent as f64 * WAITED_MIN
    {
        notes.push(format!(
            "sessions {name}: 99% of responses were there within {} of when their request was due, and within {} of when it was sent: \
             requests waited for a free session; the first is what users of the server would see",
            quantity(due as f64, "ns"),
            quantity(sent as f64, "ns")
        ));
    }
    if let Some(seconds) = counts.kept_s {
        notes.push(format!(
            "sessions {name}: servers announced to keep idle connections for {seconds} s (Keep-Alive: timeout={seconds}), and 'think' \
             is longer"
        ));
    }
    let attempted = counts.attempted + counts.carried;
    let hint = HINTS
        .iter()
        .find(|(reason, _)| attempted > 0 && counts.failed(*reason) as f64 >= attempted as f64 * NEARLY_ALL);
    if let Some((reason, hint)) = hint.filter(|_| plan.carrier == Carrier::Tcp || plan.is_quic()) {
        notes.push(format!(
            "sessions {name}: {} of {} {hint}",
            count(counts.failed(*reason)),
            count(attempted)
        ));
    }
    if waited_to_retry(plan, counts) {
        notes.push(format!(
            "sessions {name}: all failed; after a round of such failures new sessions wait before they take the place of failed ones, \
             up to a second: a rate of opening ('open: 1000/s') and a 'count' are not slowed down"
        ));
    }
    let refused = counts.failed(Reason::Refused) + counts.failed(Reason::Unreachable);
    let silent = counts.failed(Reason::ResponseTimeout)
        + if plan.is_quic() { counts.failed(Reason::SetupTimeout) } else { 0 };
    if plan.carrier == Carrier::Udp && refused > 0 && silent > 0 {
        notes.push(format!(
            "sessions {name}: {} were refused by ICMP errors and {} got no response: hosts limit ICMP errors (Linux: 6 at once, then \
             one a second; IPv6: 10 a second), so the time-outs may be refusals",
            count(refused),
            count(silent)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use field::{Source, Variable};
    use wire::protocol;

    fn vary(fields: &[(usize, &str)], values: u128) -> (Vary, Vec<Header>) {
        let headers: Vec<_> =
            ["ipv4", "udp"].iter().map(|name| Header::new(protocol(name).unwrap())).collect();
        let write = |(variable, (header, name)): (usize, &(usize, &str))| {
            let field = headers[*header].protocol.fields.iter().find(|field| field.name == *name).unwrap();
            Write { variable, target: Target::Field { header: *header, field }, mask: u128::MAX }
        };
        let writes = fields.iter().enumerate().map(write).collect();
        let source = Source::Range { first: 1, step: 1, count: values, width: 32 };
        let variables = fields.iter().map(|_| Variable::new(source.clone())).collect();
        (Vary { variables, writes, flows: None }, headers)
    }

    #[test]
    fn flows_differ_in_addresses_and_ports() {
        let of = |fields: &[(usize, &str)], values| {
            let (vary, headers) = vary(fields, values);
            let varies = Varies::of(&vary, &headers);
            (varies.addresses, varies.flows)
        };
        assert_eq!(of(&[(1, "src")], 100), (false, 100));
        assert_eq!(of(&[(0, "dst"), (1, "dst")], 50), (true, 50));
        assert_eq!(of(&[(0, "id")], 50), (false, 1));
    }
}
