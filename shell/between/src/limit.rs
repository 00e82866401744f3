//! Limit of a test, as far as this end can determine it: a rate alone does not show it.

use crate::outcome::Own;
use crate::stream::{Socket, Stream, is_udp};
use iperf::report::{End, Figures};
use iperf::{Results, Role, Test};
use os::sockets::{TcpFigures, tcp_figures};
use units::{self as text, Nanos};

/// Share of a requested rate from which on it counts as reached.
const REACHED: f64 = 0.98;
/// A thread or program counts as busy from this share of its time on.
const BUSY: f64 = 0.9;
/// A cause is named from this share of the time on.
const MOST: f64 = 0.5;

pub(crate) fn tcp(stream: &Stream) -> Option<TcpFigures> {
    match &*stream.socket {
        Socket::Tcp(socket) if stream.role == Role::Sender => tcp_figures(socket).ok(),
        _ => None,
    }
}

pub(crate) fn segments(number: u64) -> String {
    format!("{} segment{}", text::count(number), if number == 1 { "" } else { "s" })
}

/// One sentence without its end.
pub(crate) fn by(test: &Test, streams: &[Stream], own: &[Own], there: &Results, end: &End) -> Option<String> {
    let seconds = own.first()?.seconds;
    let sent = end.sum_sent.as_ref()?;
    if let Some(rate) = test.rate.or(test.kernel_rate) {
        let asked = rate as f64 * f64::from(test.parallel);
        if sent.bits_per_second >= asked * REACHED {
            return Some(match no_room(streams).or_else(|| lost(end)) {
                Some(lost) => lost,
                None => format!("the requested rate ({})", text::quantity(asked, "bps")),
            });
        }
    }
    if let Some(text) = no_room(streams) {
        return Some(text);
    }
    if let Some(text) = own_processor(streams, seconds) {
        return Some(text);
    }
    let remote = there.cpu_util_total / 100.0;
    if remote >= BUSY {
        return Some(format!("the processor of the other host ({} of a core)", text::percent(remote)));
    }
    if is_udp(test) {
        return lost(end)
            .or_else(|| Some(format!("the sender, with {}", text::quantity(sent.bits_per_second, "bps"))));
    }
    if let Some(waits) = waits(streams) {
        return Some(waits);
    }
    Some(match sent.retransmits {
        Some(0) | None => "the network, or the other host".to_owned(),
        Some(number) => format!("the network: {} had to be sent again", segments(number)),
    })
}

fn lost(end: &End) -> Option<String> {
    let Figures { lost_packets, lost_percent, .. } = end.sum_received.as_ref()?;
    let lost = lost_packets.filter(|lost| *lost > 0)?;
    let share = text::percent(lost_percent.unwrap_or(0.0) / 100.0);
    Some(format!("the network or the receiver: {} packets ({share}) were lost", text::count(lost)))
}

/// Load of the busiest stream's thread, if it had no time left.
fn own_processor(streams: &[Stream], seconds: f64) -> Option<String> {
    let share = |time: Nanos| (time.as_secs_f64() / seconds).min(1.0);
    let times =
        streams.iter().map(|stream| stream.counts()).map(|counts| (share(counts.ran), share(counts.waited)));
    let (ran, waited) = times.max_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)))?;
    (ran + waited >= BUSY).then(|| match waited {
        waited if waited >= 0.1 => format!(
            "the processor of this host: a stream's thread ran {} of the time, and waited {} for a core that others had",
            text::percent(ran),
            text::percent(waited)
        ),
        _ => format!("the processor of this host: a stream's thread ran {} of the time", text::percent(ran)),
    })
}

/// Packets that came, and for which the sockets here had no room.
fn no_room(streams: &[Stream]) -> Option<String> {
    let dropped = |stream: &Stream| match &*stream.socket {
        Socket::Udp(socket) => os::sockets::dropped(socket).ok(),
        Socket::Tcp(_) => None,
    };
    let dropped: u64 = streams.iter().filter_map(dropped).sum();
    (dropped > 0).then(|| {
        let number = text::count(dropped);
        format!("this host: {number} packets or more came that the program did not read in time; a larger buffer may help (-w)")
    })
}

/// For what TCP waited most of the time.
fn waits(streams: &[Stream]) -> Option<String> {
    let (mut busy, mut peer, mut buffer) = (0, 0, 0);
    for tcp in streams.iter().filter_map(tcp) {
        busy += tcp.busy_us?;
        peer += tcp.peer_limited_us?;
        buffer += tcp.buffer_limited_us?;
    }
    let share = |part: u64| part as f64 / busy as f64;
    match (share(peer), share(buffer)) {
        (peer, _) if peer >= MOST => Some(format!(
            "the receiver's window ({} of the time): its buffer, or its program",
            text::percent(peer)
        )),
        (_, buffer) if buffer >= MOST => Some(format!(
            "the send buffer ({} of the time): a larger one may help (-w)",
            text::percent(buffer)
        )),
        _ => None,
    }
}
