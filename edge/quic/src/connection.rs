//! One connection, as the session sees it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use quinn_proto::{
    ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, EndpointEvent, Event, ReadError,
    SendDatagramError, StreamEvent, StreamId, TransportErrorCode, VarInt, WriteError,
};
use session::quic::{Quic, QuicEnd, QuicEvent, QuicRead, QuicStats, QuicUnsent};
use session::secure::{Agreed, SecureError};
use units::Nanos;

use crate::crypto::Shared;
use crate::side::{BUSY_FROM, Clock, Hub, STREAMS_BUSY};

/// Datagrams made at a time.
const AT_ONCE: usize = 10;
/// The alert of a peer without a common application protocol (RFC 7301 section 3.2), as a code of QUIC.
const NO_APPLICATION_PROTOCOL: u64 = 0x100 + 120;
/// Codes of alerts.
const ALERTS: std::ops::Range<u64> = 0x100..0x200;
/// The server does not want the connection (RFC 9000 section 20.1).
const CONNECTION_REFUSED: u64 = 2;
/// Time without an end of the handshake after which a client with early data probes at first: three times the initial
/// round-trip time (RFC 9002 section 6.2.2).
const PROBE_AFTER: Nanos = Nanos::from_secs(1);
/// The longest time between two probes.
const PROBE_EVERY: Nanos = Nanos::from_secs(32);
/// Time that a handshake takes without losses, in addition to round trips.
const SHAKEN_WITHIN: Duration = Duration::from_millis(5);
/// The longest time of those round trips.
const SHAKEN_MOST: Duration = Duration::from_millis(500);
/// Bytes of the end of a handshake after which no more datagrams are kept.
const LAST_WORDS_MAX: usize = 8 << 10;
/// Time by which an acknowledgement may be delayed (RFC 9000 section 18.2).
const ACK_DELAY: Duration = Duration::from_millis(25);
/// The application gave the connection up before the handshake was done.
const APPLICATION_ERROR: u64 = 12;

/// Datagrams that left at one instant.
#[derive(Default)]
struct LastWords {
    at: Nanos,
    bytes: Vec<u8>,
    lengths: Vec<u64>,
}

/// Probes that the library does not send.
struct Probes {
    at: Nanos,
    /// Time from that one to the next.
    next: Nanos,
    until: Until,
}

enum Until {
    /// The handshake is done.
    Done,
    /// The handshake is confirmed.
    Confirmed,
    /// There were more ACK frames than this.
    Acknowledged(u64),
}

/// A connection on its flow.
pub(crate) struct Connection {
    hub: Arc<Hub>,
    clock: Clock,
    /// Name of the path, and number of the flow.
    name: SocketAddr,
    flow: u32,
    handle: ConnectionHandle,
    connection: quinn_proto::Connection,
    outcome: Shared,
    /// Room for DATAGRAM frames that wait to be sent, while there are none.
    room: usize,
    /// Events that were not returned yet.
    events: VecDeque<QuicEvent>,
    /// The endpoint has forgotten it.
    drained: bool,
    /// Another flow, for which something waits: a datagram of its connection, or one that it is to send.
    rouses: Option<u32>,
    /// Probes of a client.
    probes: Option<Probes>,
    /// When a client began whose handshake is not confirmed.
    unconfirmed: Option<Nanos>,
    /// Of such a client: the datagrams with the end of its handshake, and whether they are to be sent again.
    last_words: LastWords,
    repeats: bool,
    /// Whether it uses congestion marks, and its last datagrams were to carry them.
    uses_ecn: bool,
    marks: bool,
    marked: u64,
}

/// A congestion mark, as the library knows it.
pub(crate) fn mark(ecn: u8) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(ecn)
}

impl Connection {
    pub(crate) fn new(
        hub: Arc<Hub>,
        clock: Clock,
        (name, flow, uses_ecn): (SocketAddr, u32, bool),
        (handle, mut connection): (ConnectionHandle, quinn_proto::Connection),
        outcome: Shared,
    ) -> Self {
        hub.paths().own(handle, flow);
        let room = connection.datagrams().send_buffer_space();
        Self {
            hub,
            clock,
            name,
            flow,
            handle,
            connection,
            outcome,
            room,
            events: VecDeque::new(),
            drained: false,
            rouses: None,
            probes: None,
            unconfirmed: None,
            last_words: LastWords::default(),
            repeats: false,
            uses_ecn,
            marks: uses_ecn,
            marked: 0,
        }
    }

    /// Lets the endpoint know what the connection wants of it: identifiers, and to be forgotten.
    #[inline]
    fn tend(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            self.drained |= event.is_drained();
            if let Some(back) = self.hub.endpoint().handle_event(self.handle, event) {
                self.connection.handle_event(back);
            }
        }
    }

    /// The connection is of a client that begins now. One with early data probes as long as its handshake lasts. The library sets no
    /// timer for it once all of its Initial packets are acknowledged, because its early data is not; so a server that may send
    /// nothing more before it has proved its address would wait forever (RFC 9002 section 6.2.2.1).
    pub(crate) fn of_client(mut self, now: Nanos) -> Self {
        self.unconfirmed = Some(now);
        let at = now.saturating_add(PROBE_AFTER);
        let probes = Probes { at, next: PROBE_AFTER + PROBE_AFTER, until: Until::Done };
        self.probes = self.connection.has_0rtt().then_some(probes);
        self
    }

    fn probe(&mut self, now: Nanos) {
        if self.connection.is_closed() {
            return self.probe_no_more();
        }
        let Some(probes) = &mut self.probes else { return };
        let is_through = match probes.until {
            Until::Done => !self.connection.is_handshaking(),
            Until::Confirmed => self.unconfirmed.is_none(),
            Until::Acknowledged(before) => self.connection.stats().frame_rx.acks > before,
        };
        if is_through {
            self.probes = None;
        } else if probes.at <= now {
            match probes.until {
                Until::Confirmed => self.repeats = true,
                _ => self.connection.ping(),
            }
            probes.at = now.saturating_add(probes.next);
            probes.next = (probes.next + probes.next).min(PROBE_EVERY);
        }
    }

    /// A client's handshake is done, or was confirmed: if packets of it were lost, the client sends the end of it again until it is
    /// confirmed, and then probes until something that it has sent since is acknowledged. The library doubles its timer for each
    /// probe of the handshake, and does not begin anew when it discards keys, as it should (RFC 9002 section 6.2.2): the end of the
    /// handshake, or a request, if it was lost, too, would be repeated half a minute later.
    #[cold]
    fn shake_on(&mut self, now: Nanos) {
        if self.connection.is_closed() {
            return self.probe_no_more();
        }
        let Some(since) = self.unconfirmed else { return };
        let stats = self.connection.stats();
        let is_confirmed = stats.frame_rx.handshake_done > 0;
        if is_confirmed {
            self.probe_no_more();
        } else if matches!(&self.probes, Some(Probes { until: Until::Confirmed, .. })) {
            return;
        }
        // Without a sample it is a third of a second.
        let usual = (stats.path.rtt * 3).min(SHAKEN_MOST) + SHAKEN_WITHIN;
        if u128::from(now.since(since).0) <= usual.as_nanos() {
            return;
        }
        let after = stats.path.rtt * 3 + ACK_DELAY;
        let next = Nanos(after.as_nanos().min(u128::from(PROBE_EVERY.0)) as u64);
        let (at, until) = match is_confirmed {
            true => (now, Until::Acknowledged(stats.frame_rx.acks)),
            false => (now.saturating_add(next), Until::Confirmed),
        };
        self.probes = Some(Probes { at, next, until });
        self.probe(now);
    }

    #[cold]
    fn probe_no_more(&mut self) {
        (self.probes, self.unconfirmed, self.repeats) = (None, None, false);
        self.last_words = LastWords::default();
    }

    /// Keeps a copy of the datagrams with which a client's handshake ends, and of what leaves with them.
    #[cold]
    fn keep_last_words(&mut self, now: Nanos, datagrams: &[u8], segment: usize) {
        let kept = &mut self.last_words;
        let is_first = kept.bytes.is_empty();
        let is_long = datagrams.first().is_some_and(|first| first & 0x80 != 0);
        let is_end = is_long && !self.connection.is_handshaking();
        if is_end && (is_first || kept.at == now && kept.bytes.len() < LAST_WORDS_MAX) {
            kept.at = now;
            kept.bytes.extend_from_slice(datagrams);
            kept.lengths.extend(datagrams.chunks(segment).map(|datagram| datagram.len() as u64));
        }
    }

    fn end(&self, reason: ConnectionError) -> Option<QuicEnd> {
        let error = || self.outcome.lock().unwrap_or_else(PoisonError::into_inner).error.clone();
        Some(match reason {
            ConnectionError::VersionMismatch => {
                QuicEnd::NothingCommon("Version Negotiation: the server does not speak version 1 of QUIC")
            }
            ConnectionError::TransportError(own) => match error() {
                Some(SecureError::AlertReceived(_)) | None => QuicEnd::Protocol(own.to_string()),
                Some(error) => QuicEnd::Tls(error),
            },
            ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
                NO_APPLICATION_PROTOCOL => QuicEnd::NothingCommon(tls::REFUSED_ALPN),
                code if ALERTS.contains(&code) => {
                    let alert = rustls::AlertDescription::from((code & 0xff) as u8);
                    QuicEnd::Tls(SecureError::AlertReceived(tls::alert_name(alert)))
                }
                CONNECTION_REFUSED => QuicEnd::Refused,
                // In Initial and Handshake packets an application's code is not told (RFC 9000 section 10.2.3).
                0 | APPLICATION_ERROR if self.connection.is_handshaking() => {
                    QuicEnd::Transport(name(close.error_code))
                }
                0 => QuicEnd::Application(0),
                _ => QuicEnd::Transport(name(close.error_code)),
            },
            ConnectionError::ApplicationClosed(close) => QuicEnd::Application(close.error_code.into_inner()),
            ConnectionError::Reset => QuicEnd::Reset,
            ConnectionError::TimedOut => QuicEnd::TimedOut,
            ConnectionError::LocallyClosed => return None,
            ConnectionError::CidsExhausted => {
                QuicEnd::Protocol("no connection identifiers are left".to_owned())
            }
        })
    }
}

/// The name of a code in RFC 9000 section 20.1.
fn name(code: TransportErrorCode) -> String {
    format!("{code:?}")
}

fn stream(id: u64) -> Option<StreamId> {
    VarInt::from_u64(id).ok().map(StreamId::from)
}

/// Number of bytes that a stream has accepted; `None` if it accepts no more, ever.
#[inline]
fn taken(written: Result<usize, WriteError>) -> Option<usize> {
    match written {
        Ok(taken) => Some(taken),
        Err(WriteError::Blocked) => Some(0),
        Err(WriteError::Stopped(_) | WriteError::ClosedStream) => None,
    }
}

fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

impl Quic for Connection {
    #[inline]
    fn receive(&mut self, now: Nanos, datagram: &[u8], ecn: u8) {
        let at = self.clock.instant(now);
        let mut reply = Vec::new();
        let datagram = self.hub.copied(datagram);
        let event = self.hub.endpoint().handle(at, self.name, None, mark(ecn), datagram, &mut reply);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) if handle == self.handle => {
                self.connection.handle_event(event);
                if self.unconfirmed.is_some() && !self.connection.is_handshaking() {
                    self.shake_on(now);
                }
                if self.connection.is_handshaking() {
                    // A server that could send nothing more has a probe due: it comes before other data.
                    self.connection.handle_timeout(at);
                }
            }
            // A client that begins anew where an old connection has not ended.
            Some(DatagramEvent::NewConnection(incoming)) => self.hub.endpoint().ignore(incoming),
            // One of another flow's connection, whose client uses this one's addresses now.
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                self.rouses = self.hub.paths().post(handle, event);
            }
            // One of no connection.
            _ => {}
        }
        self.tend();
    }

    #[inline]
    fn poll(&mut self) -> Option<QuicEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            return Some(match self.connection.poll()? {
                Event::Connected => QuicEvent::Connected,
                Event::ConnectionLost { reason } => match self.end(reason) {
                    Some(end) => QuicEvent::Lost(end),
                    None => continue,
                },
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = self.connection.streams().accept(dir) {
                        if dir == Dir::Bi && id.index() == BUSY_FROM {
                            self.connection.set_max_concurrent_streams(dir, STREAMS_BUSY.into());
                        }
                        self.events.push_back(QuicEvent::Readable(VarInt::from(id).into_inner()));
                    }
                    continue;
                }
                Event::Stream(StreamEvent::Readable { id }) => {
                    QuicEvent::Readable(VarInt::from(id).into_inner())
                }
                Event::Stream(StreamEvent::Writable { id }) => {
                    QuicEvent::Writable(VarInt::from(id).into_inner())
                }
                Event::Stream(StreamEvent::Finished { id }) => {
                    QuicEvent::Delivered(VarInt::from(id).into_inner())
                }
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    QuicEvent::Stopped(VarInt::from(id).into_inner(), error_code.into_inner())
                }
                Event::Stream(StreamEvent::Available { .. }) => QuicEvent::Available,
                Event::DatagramReceived => QuicEvent::Datagram,
                Event::HandshakeDataReady | Event::DatagramsUnblocked => continue,
            });
        }
    }

    fn open(&mut self, bidirectional: bool) -> Option<u64> {
        let dir = if bidirectional { Dir::Bi } else { Dir::Uni };
        self.connection.streams().open(dir).map(|id| VarInt::from(id).into_inner())
    }

    #[inline]
    fn send(&mut self, id: u64, bytes: &[u8]) -> Option<usize> {
        taken(self.connection.send_stream(stream(id)?).write(bytes))
    }

    fn send_lasting(&mut self, id: u64, bytes: &'static [u8]) -> Option<usize> {
        let chunks = &mut [Bytes::from_static(bytes)];
        taken(self.connection.send_stream(stream(id)?).write_chunks(chunks).map(|written| written.bytes))
    }

    #[inline]
    fn finish(&mut self, id: u64) {
        if let Some(id) = stream(id) {
            // It fails only for one that is over already.
            let _ = self.connection.send_stream(id).finish();
        }
    }

    fn reset(&mut self, id: u64, code: u64) {
        if let Some(id) = stream(id) {
            let _ = self.connection.send_stream(id).reset(varint(code));
        }
    }

    fn stop(&mut self, id: u64, code: u64) {
        if let Some(id) = stream(id) {
            let _ = self.connection.recv_stream(id).stop(varint(code));
        }
    }

    #[inline]
    fn read(&mut self, id: u64, take: &mut dyn FnMut(&[u8])) -> QuicRead {
        let Some(id) = stream(id) else { return QuicRead::Closed };
        let mut from = self.connection.recv_stream(id);
        let Ok(mut chunks) = from.read(true) else { return QuicRead::Closed };
        let outcome = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => take(&chunk.bytes),
                Ok(None) => break QuicRead::Finished,
                Err(ReadError::Blocked) => break QuicRead::Blocked,
                Err(ReadError::Reset(code)) => break QuicRead::Reset(code.into_inner()),
            }
        };
        // What is owed because of it is sent with the next packet in any case.
        let _ = chunks.finalize();
        outcome
    }

    fn send_datagram(&mut self, bytes: &[u8]) -> Result<(), QuicUnsent> {
        let mut datagrams = self.connection.datagrams();
        // One that waits for too long gives way to those after it.
        match datagrams.send(Bytes::copy_from_slice(bytes), true) {
            Ok(()) | Err(SendDatagramError::Blocked(_)) => Ok(()),
            Err(SendDatagramError::TooLarge) => datagrams
                .max_size()
                .map_or(Err(QuicUnsent::Unsupported), |most| Err(QuicUnsent::TooLong(most))),
            Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {
                Err(QuicUnsent::Unsupported)
            }
        }
    }

    fn read_datagram(&mut self) -> Option<Vec<u8>> {
        self.connection.datagrams().recv().map(|bytes| bytes.to_vec())
    }

    fn datagrams_left(&mut self) -> usize {
        self.room.saturating_sub(self.connection.datagrams().send_buffer_space())
    }

    fn close(&mut self, now: Nanos, code: u64) {
        self.connection.close(self.clock.instant(now), varint(code), Bytes::new());
        self.tend();
    }

    #[inline]
    fn transmit(&mut self, now: Nanos, out: &mut Vec<u8>, lengths: &mut Vec<u64>) -> bool {
        debug_assert!(out.is_empty());
        if std::mem::take(&mut self.repeats) && !self.last_words.bytes.is_empty() {
            out.extend_from_slice(&self.last_words.bytes);
            lengths.extend_from_slice(&self.last_words.lengths);
            return true;
        }
        let Some(sent) = self.connection.poll_transmit(self.clock.instant(now), AT_ONCE, out) else {
            self.tend();
            return false;
        };
        let segment = sent.segment_size.unwrap_or(sent.size).max(1);
        if sent.destination != self.name {
            // A path that is tried, or was left: over its own flow, if there still is one.
            let mut paths = self.hub.paths();
            if let Some(flow) = paths.flow(&sent.destination) {
                paths.send_off(flow, out.chunks(segment).map(<[u8]>::to_vec));
                self.rouses = Some(flow);
            }
            out.clear();
            return true;
        }
        if self.unconfirmed.is_some() {
            self.keep_last_words(now, out, segment);
        }
        self.marks = self.uses_ecn && sent.ecn.is_some();
        self.marked += if self.marks { sent.size.div_ceil(segment) as u64 } else { 0 };
        lengths.extend(out.chunks(segment).map(|datagram| datagram.len() as u64));
        true
    }

    fn marks(&self) -> bool {
        self.marks
    }

    #[inline]
    fn timeout(&mut self) -> Option<Nanos> {
        let own = self.connection.poll_timeout().map(|at| self.clock.nanos(at));
        own.into_iter().chain(self.probes.as_ref().map(|probes| probes.at)).min()
    }

    #[inline]
    fn wake(&mut self, now: Nanos) {
        let mail = self.hub.paths().mail(self.handle);
        mail.into_iter().for_each(|event| self.connection.handle_event(event));
        if self.unconfirmed.is_some() && !self.connection.is_handshaking() {
            self.shake_on(now);
        }
        self.connection.handle_timeout(self.clock.instant(now));
        self.probe(now);
        self.tend();
    }

    fn moved_to(&mut self) -> Option<u32> {
        let name = self.connection.remote_address();
        if name == self.name {
            return None;
        }
        let mut paths = self.hub.paths();
        let other = paths.flow(&name)?;
        self.name = name;
        paths.exchange(self.flow, other);
        Some(other)
    }

    fn rouses(&mut self) -> Option<u32> {
        self.rouses.take()
    }

    fn moved(&mut self, knows: bool) {
        if knows {
            self.connection.local_address_changed();
        }
    }

    fn has_early_keys(&self) -> bool {
        self.connection.has_0rtt()
    }

    fn is_early_accepted(&self) -> bool {
        self.connection.accepted_0rtt()
    }

    fn update_keys(&mut self) {
        // Not before the handshake is confirmed, which its server does with HANDSHAKE_DONE (RFC 9001 sections 4.1.2 and 6.1).
        if self.connection.stats().frame_rx.handshake_done > 0 {
            self.connection.force_key_update();
        }
    }

    fn agreed(&self) -> Option<Agreed> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).agreed
    }

    fn stats(&self) -> QuicStats {
        let stats = self.connection.stats();
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        QuicStats {
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            datagrams_received: stats.udp_rx.datagrams,
            congestion_events: stats.path.congestion_events,
            ecn_sent: self.marked,
            ecn_failed: self.uses_ecn && !self.marks,
            key_updates: outcome.updates(),
            preferred_address: outcome.preferred_address,
            rtt: Nanos(stats.path.rtt.as_nanos().min(u128::from(u64::MAX)) as u64),
        }
    }

    fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.hub.paths().disown(self.handle);
        if !self.drained {
            self.hub.endpoint().handle_event(self.handle, EndpointEvent::drained());
        }
    }
}
