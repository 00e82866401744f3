//! One connection, as the session sees it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ConnectionError, ConnectionHandle, DatagramEvent, Dir, EndpointEvent, Event, ReadError, StreamEvent,
    StreamId, TransportErrorCode, VarInt, WriteError,
};
use session::quic::{Quic, QuicEnd, QuicEvent, QuicRead, QuicStats};
use session::secure::{Agreed, SecureError};
use units::Nanos;

use crate::crypto::Shared;
use crate::side::{Clock, Hub};

/// Datagrams made at a time.
const AT_ONCE: usize = 10;
/// The alert of a peer without a common application protocol (RFC 7301 section 3.2), as a code of QUIC.
const NO_APPLICATION_PROTOCOL: u64 = 0x100 + 120;
/// Codes of alerts.
const ALERTS: std::ops::Range<u64> = 0x100..0x200;
/// The server does not want the connection (RFC 9000 section 20.1).
const CONNECTION_REFUSED: u64 = 2;
/// The application gave the connection up before the handshake was done.
const APPLICATION_ERROR: u64 = 12;

/// A connection on its flow.
pub(crate) struct Connection {
    hub: Arc<Hub>,
    clock: Clock,
    name: SocketAddr,
    handle: ConnectionHandle,
    connection: quinn_proto::Connection,
    outcome: Shared,
    /// Events that were not returned yet.
    events: VecDeque<QuicEvent>,
    /// The endpoint has forgotten it.
    drained: bool,
}

impl Connection {
    pub(crate) fn new(
        hub: Arc<Hub>,
        clock: Clock,
        name: SocketAddr,
        (handle, connection): (ConnectionHandle, quinn_proto::Connection),
        outcome: Shared,
    ) -> Self {
        Self { hub, clock, name, handle, connection, outcome, events: VecDeque::new(), drained: false }
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

    fn end(&self, reason: ConnectionError) -> Option<QuicEnd> {
        let error = || self.outcome.lock().unwrap_or_else(PoisonError::into_inner).error.clone();
        Some(match reason {
            ConnectionError::VersionMismatch => {
                QuicEnd::NothingCommon("Version Negotiation: the server does not speak version 1 of QUIC")
            }
            ConnectionError::TransportError(own) => match error() {
                Some(SecureError::AlertReceived(_)) | None => QuicEnd::Protocol(own.to_string()),
                Some(error) if u64::from(own.code) == NO_APPLICATION_PROTOCOL => {
                    drop(error);
                    QuicEnd::NothingCommon("ALPN: no common application protocol")
                }
                Some(error) => QuicEnd::Tls(error),
            },
            ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
                NO_APPLICATION_PROTOCOL => {
                    QuicEnd::NothingCommon("ALPN: the other end does not speak HTTP/3")
                }
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

fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

impl Quic for Connection {
    #[inline]
    fn receive(&mut self, now: Nanos, datagram: &[u8]) {
        let at = self.clock.instant(now);
        let mut reply = Vec::new();
        let event =
            self.hub.endpoint().handle(at, self.name, None, None, BytesMut::from(datagram), &mut reply);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) if handle == self.handle => {
                self.connection.handle_event(event);
            }
            // A client that begins anew where an old connection has not ended.
            Some(DatagramEvent::NewConnection(incoming)) => self.hub.endpoint().ignore(incoming),
            // One of another flow's connection, or of none.
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
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => continue,
            });
        }
    }

    fn open(&mut self, bidirectional: bool) -> Option<u64> {
        let dir = if bidirectional { Dir::Bi } else { Dir::Uni };
        self.connection.streams().open(dir).map(|id| VarInt::from(id).into_inner())
    }

    #[inline]
    fn send(&mut self, id: u64, bytes: &[u8]) -> Option<usize> {
        match self.connection.send_stream(stream(id)?).write(bytes) {
            Ok(taken) => Some(taken),
            Err(WriteError::Blocked) => Some(0),
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => None,
        }
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

    fn close(&mut self, now: Nanos, code: u64) {
        self.connection.close(self.clock.instant(now), varint(code), Bytes::new());
        self.tend();
    }

    #[inline]
    fn transmit(&mut self, now: Nanos, out: &mut Vec<u8>, lengths: &mut Vec<u64>) -> bool {
        debug_assert!(out.is_empty());
        let Some(sent) = self.connection.poll_transmit(self.clock.instant(now), AT_ONCE, out) else {
            self.tend();
            return false;
        };
        let segment = sent.segment_size.unwrap_or(sent.size).max(1);
        lengths.extend(out.chunks(segment).map(|datagram| datagram.len() as u64));
        true
    }

    #[inline]
    fn timeout(&mut self) -> Option<Nanos> {
        self.connection.poll_timeout().map(|at| self.clock.nanos(at))
    }

    #[inline]
    fn wake(&mut self, now: Nanos) {
        self.connection.handle_timeout(self.clock.instant(now));
        self.tend();
    }

    fn agreed(&self) -> Option<Agreed> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).agreed
    }

    fn stats(&self) -> QuicStats {
        let stats = self.connection.stats();
        QuicStats {
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            datagrams_received: stats.udp_rx.datagrams,
            congestion_events: stats.path.congestion_events,
            rtt: Nanos(stats.path.rtt.as_nanos().min(u128::from(u64::MAX)) as u64),
        }
    }

    fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.drained {
            self.hub.endpoint().handle_event(self.handle, EndpointEvent::drained());
        }
    }
}
