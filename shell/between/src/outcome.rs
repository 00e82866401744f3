//! Outcome of a test: this end's results for the other one, and the end of the report, made from both ends' results.

use crate::meter::Meter;
use crate::stream::{Shared, Stream, is_udp};
use iperf::report::{End, EndStream, Figures, Processors, rate, share};
use iperf::{Direction, Number, Results, Role, StreamResult, Test, Until};
use units::Nanos;

/// Processor load of this program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    started: Nanos,
    at: Nanos,
}

impl Usage {
    pub(crate) fn start(shared: &Shared) -> Self {
        Self { started: os::cpu::process_time(), at: shared.now() }
    }

    /// In percent of a processor.
    pub(crate) fn percent(self, shared: &Shared) -> f64 {
        let time = (shared.now() - self.at).as_secs_f64();
        if time > 0.0 { (os::cpu::process_time() - self.started).as_secs_f64() * 100.0 / time } else { 0.0 }
    }
}

/// This end's results of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Own {
    pub(crate) id: u64,
    pub(crate) is_sender: bool,
    pub(crate) bytes: u64,
    /// Sent, or the highest number that came; what does not count is among them.
    pub(crate) packets: u64,
    omitted_packets: u64,
    lost: u64,
    omitted_lost: u64,
    reordered: u64,
    duplicates: u64,
    jitter_s: f64,
    pub(crate) retransmits: Option<u64>,
    /// Duration of the count.
    pub(crate) seconds: f64,
    figures: Figures,
}

/// This end's results of the streams. `sent` are packets of senders at the other end, if these are known.
pub(crate) fn own(test: &Test, streams: &[Stream], meter: &Meter, sent: Option<&Results>) -> Vec<Own> {
    let Some((until, looks)) = &meter.end else { return Vec::new() };
    // What is under way at the end counts if it counts how much comes, not for how long.
    let is_complete = is_udp(test) || !matches!(test.until, Until::Time(_));
    let of = |(index, stream): (usize, &Stream)| {
        let counts = if is_complete { stream.counts() } else { looks[index].counts };
        let base = &meter.base[index];
        let seconds = (*until - meter.since).as_secs_f64();
        let extremes = &meter.extremes[index];
        let is_sender = stream.role == Role::Sender;
        let heard = counts.heard;
        let tcp = crate::limit::tcp(stream);
        let mut own = Own {
            id: stream.id,
            is_sender,
            bytes: counts.bytes - base.counts.bytes,
            packets: if is_sender { counts.sent } else { heard.highest },
            omitted_packets: if is_sender { base.counts.sent } else { base.counts.heard.highest },
            lost: heard.lost(),
            omitted_lost: base.counts.heard.lost(),
            reordered: heard.reordered - base.counts.heard.reordered,
            duplicates: heard.duplicates - base.counts.heard.duplicates,
            jitter_s: heard.jitter_s,
            retransmits: tcp
                .zip(base.tcp)
                .map(|(now, then)| now.retransmitted.saturating_sub(then.retransmitted)),
            seconds,
            figures: Figures::default(),
        };
        if is_complete && !is_sender && counts.last > meter.since {
            // The end of a test comes behind its last packet.
            own.seconds = (counts.last - meter.since).as_secs_f64();
        }
        if !is_udp(test) {
            (own.packets, own.omitted_packets, own.lost, own.omitted_lost) = (0, 0, 0, 0);
        } else if !is_sender && let Some(told) = sent.and_then(|sent| sent.streams.get(index)) {
            own.take_sent(told.packets.count());
        }
        if let Some(mean) = extremes.rtt_sum.checked_div(extremes.looks) {
            own.figures.max_snd_cwnd = Some(extremes.window);
            own.figures.max_snd_wnd = extremes.peer_window;
            own.figures.max_rtt = Some(extremes.rtt_max);
            own.figures.min_rtt = Some(extremes.rtt_min);
            own.figures.mean_rtt = Some(mean);
        }
        own
    };
    streams.iter().enumerate().map(of).collect()
}

impl Own {
    /// Takes how many packets were sent: those after the highest number that came are lost, too.
    fn take_sent(&mut self, sent: u64) {
        self.lost += sent.saturating_sub(self.packets);
        self.packets = self.packets.max(sent);
    }

    fn told(&self) -> StreamResult {
        StreamResult {
            id: self.id.into(),
            bytes: self.bytes.into(),
            retransmits: self.retransmits.map_or(Number::UNKNOWN, Number::from),
            jitter: self.jitter_s,
            errors: self.lost.into(),
            omitted_errors: Some(self.omitted_lost.into()),
            packets: self.packets.into(),
            omitted_packets: Some(self.omitted_packets.into()),
            start_time: 0.0,
            end_time: self.seconds,
        }
    }
}

/// This end's results for the other one.
pub(crate) fn told(own: &[Own], usage: f64, congestion: Option<String>, output: Option<String>) -> Results {
    let sends = own.iter().any(|one| one.is_sender);
    Results {
        cpu_util_total: usage,
        cpu_util_user: 0.0,
        cpu_util_system: 0.0,
        sender_has_retransmits: if sends {
            Number(own.iter().any(|o| o.retransmits.is_some()).into())
        } else {
            Number::UNKNOWN
        },
        congestion_used: congestion,
        server_output_text: output,
        streams: own.iter().map(Own::told).collect(),
    }
}

/// The end of the report.
pub(crate) fn end(test: &Test, own: &[Own], there: &Results, usage: f64, congestion: Option<String>) -> End {
    let mut pairs: Vec<(Figures, Figures)> = Vec::new();
    for (index, here) in own.iter().enumerate() {
        pairs.push(both(test, here, &there.streams.get(index).cloned().unwrap_or_default()));
    }
    let first = own.first().is_some_and(|one| one.is_sender);
    let way = |is_first: bool| move |(sent, _): &&(Figures, Figures)| (sent.sender == first) == is_first;
    let sums = |is_first: bool| {
        let of: Vec<_> = pairs.iter().filter(way(is_first)).cloned().collect();
        (Figures::sum(of.iter().map(|pair| &pair.0)), Figures::sum(of.iter().map(|pair| &pair.1)))
    };
    let (sum_sent, sum_received) = sums(true);
    let reverse = sums(false);
    let whole = |sums: &(Option<Figures>, Option<Figures>)| {
        let (sent, received) = (sums.0.as_ref()?, sums.1.as_ref()?);
        Some(udp(sent, received))
    };
    let is_udp = is_udp(test);
    let own_congestion = congestion;
    let (sender, receiver) = if first {
        (own_congestion, there.congestion_used.clone())
    } else {
        (there.congestion_used.clone(), own_congestion)
    };
    End {
        sum: if is_udp { whole(&(sum_sent.clone(), sum_received.clone())) } else { None },
        sum_bidir_reverse: if is_udp && test.direction == Direction::Both { whole(&reverse) } else { None },
        streams: pairs
            .into_iter()
            .map(|(sent, received)| {
                if is_udp {
                    EndStream::Udp { udp: Box::new(udp(&sent, &received)) }
                } else {
                    EndStream::Tcp { sender: Box::new(sent), receiver: Box::new(received) }
                }
            })
            .collect(),
        sum_sent,
        sum_received,
        sum_sent_bidir_reverse: reverse.0,
        sum_received_bidir_reverse: reverse.1,
        cpu_utilization_percent: Some(Processors {
            host_total: usage,
            remote_total: there.cpu_util_total,
            remote_user: there.cpu_util_user,
            remote_system: there.cpu_util_system,
            ..Processors::default()
        }),
        sender_tcp_congestion: sender.filter(|_| !is_udp),
        receiver_tcp_congestion: receiver.filter(|_| !is_udp),
        limited_by: None,
    }
}

/// The sender's and the receiver's results of a stream.
fn both(test: &Test, here: &Own, there: &StreamResult) -> (Figures, Figures) {
    let plain = |bytes: u64, seconds: f64| Figures {
        socket: Some(here.id),
        end: seconds,
        seconds,
        bytes,
        bits_per_second: rate(bytes, seconds),
        sender: here.is_sender,
        ..Figures::default()
    };
    let own = plain(here.bytes, here.seconds);
    let took = if there.end_time > 0.0 { there.end_time } else { here.seconds };
    let is_behind = is_udp(test) && here.is_sender;
    let other = plain(there.bytes.count(), if is_behind { took.min(here.seconds) } else { took });
    let (mut sent, mut received) = if here.is_sender { (own, other) } else { (other, own) };
    if !is_udp(test) {
        sent.retransmits = if here.is_sender { here.retransmits } else { there.retransmits.known() };
        if here.is_sender {
            let Figures { max_snd_cwnd, max_snd_wnd, max_rtt, min_rtt, mean_rtt, .. } = here.figures;
            sent = Figures { max_snd_cwnd, max_snd_wnd, max_rtt, min_rtt, mean_rtt, ..sent };
        }
        return (sent, received);
    }
    // Packets that do not count are the same at both ends only as far as those go that this end counted itself.
    let omitted = here.omitted_packets;
    let (packets, lost, jitter) = if here.is_sender {
        let seen = there.packets.count();
        let behind = here.packets.saturating_sub(seen);
        let omitted_lost = there.omitted_errors.map_or(0, Number::count);
        (here.packets - omitted, there.errors.count().saturating_sub(omitted_lost) + behind, there.jitter)
    } else {
        (here.packets - omitted, here.lost.saturating_sub(here.omitted_lost), here.jitter_s)
    };
    (sent.packets, sent.lost_packets, sent.jitter_ms, sent.lost_percent) =
        (Some(packets), Some(0), Some(0.0), Some(0.0));
    received.packets = Some(packets);
    received.lost_packets = Some(lost);
    received.lost_percent = Some(share(lost, packets));
    received.jitter_ms = Some(jitter * 1e3);
    if !here.is_sender {
        (received.out_of_order, received.duplicates) = (Some(here.reordered), Some(here.duplicates));
    }
    (sent, received)
}

/// Duration of sending, and what was received.
fn udp(sent: &Figures, received: &Figures) -> Figures {
    Figures {
        jitter_ms: received.jitter_ms,
        lost_packets: received.lost_packets,
        packets: received.packets,
        lost_percent: received.lost_percent,
        out_of_order: received.out_of_order,
        duplicates: received.duplicates,
        ..sent.clone()
    }
}
