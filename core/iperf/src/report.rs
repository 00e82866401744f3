//! The report: the names and units of iperf3's `-J`, and in addition what limited the test.

use serde::Serialize;

/// The whole report.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// Parameters.
    pub start: Start,
    /// Figures during the test.
    pub intervals: Vec<Interval>,
    /// Results.
    pub end: End,
    /// Why it ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Parameters.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Start {
    /// The streams.
    pub connected: Vec<Connected>,
    /// Name and version of the program.
    pub version: String,
    /// The machine.
    pub system_info: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// The server, in a client's report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connecting_to: Option<Peer>,
    /// The client, in a server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_connection: Option<Peer>,
    /// Identifier of the test on all its connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie: Option<String>,
    /// A word of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// Largest segment of the control connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_mss_default: Option<u32>,
    /// Bits per second of each stream; 0 for as many as go.
    pub target_bitrate: u64,
    /// The same, paced by the kernel.
    pub fq_rate: u64,
    /// Requested size of socket buffers, or 0.
    pub sock_bufsize: u64,
    /// Actual size of the send buffer.
    pub sndbuf_actual: u64,
    /// And to receive.
    pub rcvbuf_actual: u64,
    /// The test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_start: Option<TestStart>,
}

/// A stream's two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Connected {
    /// Its number.
    pub socket: u64,
    /// Address here.
    pub local_host: String,
    /// Port here.
    pub local_port: u16,
    /// Address there.
    pub remote_host: String,
    /// Port there.
    pub remote_port: u16,
}

/// An instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Timestamp {
    /// As in mail.
    pub time: String,
    /// Seconds since 1970.
    pub timesecs: u64,
}

/// Another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// The test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestStart {
    /// `TCP` or `UDP`.
    pub protocol: &'static str,
    /// Streams in each direction.
    pub num_streams: u32,
    /// Octets of a write, or of a UDP packet.
    pub blksize: u32,
    /// Seconds that do not count.
    pub omit: u64,
    /// Seconds; 0 if something else ends it.
    pub duration: u64,
    /// Octets that end it, or 0.
    pub bytes: u64,
    /// Blocks that end it, or 0.
    pub blocks: u64,
    /// 1 if the server sends.
    pub reverse: u8,
    /// Type of service.
    pub tos: u8,
    /// Bits per second of each stream; 0 for as many as go.
    pub target_bitrate: u64,
    /// 1 if both send.
    pub bidir: u8,
    /// Bits per second that the kernel paces.
    pub fqrate: u64,
}

/// Figures of streams for some time. Figures that do not apply are absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Figures {
    /// The stream's number; absent in sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<u64>,
    /// From when, seconds since the beginning, or since what does not count was over.
    pub start: f64,
    /// Until when.
    pub end: f64,
    /// Duration.
    pub seconds: f64,
    /// Octets of data.
    pub bytes: u64,
    /// Of data.
    pub bits_per_second: f64,
    /// Segments that the sender sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Congestion window of the sender, octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_cwnd: Option<u64>,
    /// Window of the receiver, octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_wnd: Option<u64>,
    /// Round trip time, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u64>,
    /// Its mean deviation, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rttvar: Option<u64>,
    /// Largest packet of the path, octets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmtu: Option<u64>,
    /// Largest of the intervals' congestion windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snd_cwnd: Option<u64>,
    /// Largest of the intervals' windows of the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snd_wnd: Option<u64>,
    /// Largest of the intervals' round trip times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<u64>,
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<u64>,
    /// Their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_rtt: Option<u64>,
    /// Mean deviation of packets' time under way (RFC 3550).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<f64>,
    /// Packets that did not come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_packets: Option<u64>,
    /// Packets that were sent, as far as the receiver knows of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Lost ones of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
    /// Packets that came after one sent later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// Packets that came before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Whether this time does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    /// Whether this end is the one that sends.
    pub sender: bool,
}

impl Figures {
    /// Sum of all, in the time of the first; `None` if there are none.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let first = all.next()?;
        let mut sum = Self { socket: None, ..Self::default() };
        (sum.start, sum.end, sum.seconds) = (first.start, first.end, first.seconds);
        (sum.omitted, sum.sender) = (first.omitted, first.sender);
        let mut jitters = 0.0;
        let mut number = 0.0;
        for one in std::iter::once(first).chain(all) {
            sum.bytes += one.bytes;
            add(&mut sum.retransmits, one.retransmits);
            add(&mut sum.lost_packets, one.lost_packets);
            add(&mut sum.packets, one.packets);
            jitters += one.jitter_ms.unwrap_or(0.0);
            number += 1.0;
        }
        sum.jitter_ms = first.jitter_ms.map(|_| jitters / number);
        sum.lost_percent = sum.lost_packets.map(|lost| share(lost, sum.packets.unwrap_or(0)));
        sum.bits_per_second = rate(sum.bytes, sum.seconds);
        Some(sum)
    }
}

fn add(sum: &mut Option<u64>, one: Option<u64>) {
    if let Some(one) = one {
        *sum = Some(sum.unwrap_or(0) + one);
    }
}

/// Bits per second.
pub fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// Lost packets of all, in percent.
pub fn share(lost: u64, packets: u64) -> f64 {
    if packets == 0 { 0.0 } else { lost as f64 * 100.0 / packets as f64 }
}

/// An interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Interval {
    /// Each stream.
    pub streams: Vec<Figures>,
    /// All of them; of a test in both directions those that go the way of the first.
    pub sum: Figures,
    /// The others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_bidir_reverse: Option<Figures>,
}

/// Results of a stream at both ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EndStream {
    /// Over TCP.
    Tcp {
        /// The one that sent.
        sender: Box<Figures>,
        /// The one that received.
        receiver: Box<Figures>,
    },
    /// Over UDP: how long was sent, and what was received.
    Udp {
        /// Both.
        udp: Box<Figures>,
    },
}

/// Results. Sums of tests in both directions cover the streams that the client sent; the others have separate names.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct End {
    /// Each stream.
    pub streams: Vec<EndStream>,
    /// Over UDP: how long was sent, and what was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Figures>,
    /// Senders' results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent: Option<Figures>,
    /// Receivers' results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received: Option<Figures>,
    /// From the server: what it sent and received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_bidir_reverse: Option<Figures>,
    /// From the server: what it sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent_bidir_reverse: Option<Figures>,
    /// From the server: what the client received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received_bidir_reverse: Option<Figures>,
    /// Processor load of the two programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_utilization_percent: Option<Processors>,
    /// Congestion control of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_tcp_congestion: Option<String>,
    /// Of the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_tcp_congestion: Option<String>,
    /// Limit of the test, as far as this end can determine it: not in iperf3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
}

/// Processor load of the two programs, in percent of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Processors {
    /// This one.
    pub host_total: f64,
    /// In the program.
    pub host_user: f64,
    /// In the kernel.
    pub host_system: f64,
    /// The other one.
    pub remote_total: f64,
    /// In the program.
    pub remote_user: f64,
    /// In the kernel.
    pub remote_system: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_what_their_streams_have() {
        let one = |bytes, lost, jitter| Figures {
            socket: Some(1),
            seconds: 2.0,
            bytes,
            packets: Some(100),
            lost_packets: Some(lost),
            jitter_ms: Some(jitter),
            ..Figures::default()
        };
        let sum = Figures::sum(&[one(1000, 1, 0.5), one(3000, 2, 1.5)]).unwrap();
        assert_eq!((sum.socket, sum.bytes, sum.bits_per_second), (None, 4000, 16_000.0));
        assert_eq!((sum.packets, sum.lost_packets, sum.lost_percent), (Some(200), Some(3), Some(1.5)));
        assert_eq!((sum.jitter_ms, sum.retransmits), (Some(1.0), None));
        assert_eq!(Figures::sum(&[]), None);
    }
}
