//! Properties of an idle path: its smallest round-trip time and the largest packet it carries (RFC 6349 sections 3.1,
//! 3.2).
//!
//! Sessions come one at a time, so each SYN meets an idle path. If both ends are emulated, a session sends messages
//! that just fill a packet, of one usual size after the other (RFC 4821 section 7.3), and at last more than fits: all
//! of them must not be fragmented. The largest packet that arrived in either direction is the result: exact where
//! routers report packets that are too big, else the largest of those sizes that came through. An external server gets
//! the profile's requests, and the largest packet of its responses counts: the path is not tested in the other
//! direction.

use super::{entry, keep};
use methods::{PathOutcome, TrialOutcome};
use profile::Plan;
use result::{ResultDocument, SideDetails};
use session::plan::{
    AppPlan, Content, Expect, LoadPlan, Mix, Op, OpenRate, Program, SessionPlan, SidePlan, Size,
};
use std::sync::Arc;
use units::Nanos;

/// Sessions, one at a time.
const SESSIONS: u64 = 10;
/// Time to wait for a message that does not come.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Usual sizes of packets, bytes: of tunnels, of PPPoE, of networks with larger ones (RFC 1191 section 7).
const USUAL: [u16; 12] = [576, 1280, 1400, 1440, 1460, 1472, 1480, 1492, 1500, 4352, 8166, 9000];
/// Option bytes of a segment with timestamps (RFC 7323 appendix A).
const TIMESTAMPS: u16 = 12;

/// Makes the Plan of a trial.
pub(super) fn shape(shaped: &mut Plan) -> Result<(), String> {
    let mut entry = entry::over_tcp(shaped)?.clone();
    let session = &mut entry.session;
    if entry::is_ours(session) {
        session.tls = None;
        session.mix = Mix::one(growing(session));
    }
    let patience = session.patience.response.map_or(PATIENCE, |own| own.min(PATIENCE));
    session.patience.response = Some(patience);
    session.load = LoadPlan { concurrent: Some(1), count: Some(SESSIONS), ..LoadPlan::at(OpenRate::Max) };
    keep(shaped, vec![entry]);
    Ok(())
}

/// Messages of growing packets, each sent back by the server.
fn growing(session: &SessionPlan) -> AppPlan {
    let sides = || session.client.iter().chain(&session.server);
    let mtu = sides().map(|side| side.mtu).min().unwrap_or(1500);
    let is_v6 = session.servers.addresses.iter().any(|range| range.first.is_ipv6());
    let options = if sides().any(|side: &SidePlan| side.tcp.timestamps) { TIMESTAMPS } else { 0 };
    let headers = if is_v6 { 60 } else { 40 } + options;
    let packets = USUAL.iter().filter(|packet| **packet < mtu);
    let mut sizes: Vec<u64> =
        packets.map(|packet| u64::from(packet.saturating_sub(headers).max(1))).collect();
    sizes.push(4 * u64::from(mtu));
    let content = |bytes: &u64| Content::generated(Size::Fixed(*bytes));
    let (send, expect) = (|b: &u64| Op::Send(content(b)), |b: &u64| Op::Expect(Expect::Content(content(b))));
    AppPlan::Program {
        client: Arc::new(Program { ops: sizes.iter().flat_map(|b| [send(b), expect(b)]).collect() }),
        server: Arc::new(Program { ops: sizes.iter().flat_map(|b| [expect(b), send(b)]).collect() }),
    }
}

/// Adds what the path is like.
pub(super) fn report(outcome: &mut TrialOutcome, plan: &Plan, document: &ResultDocument) {
    let Ok(entry) = entry::over_tcp(plan) else { return };
    let name = &entry.session.name;
    let row = &document.sessions[name];
    // No rate is asked for.
    outcome.valid |= outcome.generator_limited;
    outcome.generator_limited = false;
    let segments = row.client.as_ref().and_then(|client| client.rtt_ns.as_ref());
    let rtt = [row.seen.setup_ns.as_ref(), segments].into_iter().flatten().map(|times| times.min);
    let rtt = rtt.filter(|ns| *ns > 0).min();
    let largest = |side: &SideDetails| side.packet_max_bytes;
    let packet = [&row.client, &row.server].into_iter().flatten().filter_map(largest).min();
    if row.seen.completed == 0 {
        let failed: Vec<String> = row.seen.failed.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        outcome.reasons.push(format!(
            "sessions {name}: none completed ({}); packets larger than {} B may be lost on the path",
            failed.join(", "),
            packet.unwrap_or(0)
        ));
    }
    if let (Some(rtt_min_ns), Some(packet)) = (rtt, packet) {
        outcome.path = Some(PathOutcome { mtu_bytes: packet as u32, rtt_min_ns });
    }
}
