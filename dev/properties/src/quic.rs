//! Ends of sessions over QUIC, for the properties of what they carry: a connection without encryption, whose datagrams are pieces of streams.

use session::plan::{KeyKind, ServerIdentity, SessionPlan, TlsClient, TlsPlan, TlsServer, TlsVerify};
use session::quic::{Quic, QuicAccepted, QuicEvent, QuicRead, QuicSide, QuicStats};
use session::secure::{Agreed, Layer, SecureError};
use session::{Apps, Counts, Flow};
use std::collections::{BTreeMap, VecDeque};
use tcp::{App, End, FlowId, GroupId, Io};
use units::Nanos;

const NOW: Nanos = Nanos(1_000_000);
const CLIENT: GroupId = GroupId(0);

/// Settings of encryption, which is none.
pub(crate) fn tls() -> TlsPlan {
    TlsPlan {
        tls12: false,
        tls13: true,
        suites: Vec::new(),
        groups: Vec::new(),
        alpn: Vec::new(),
        key_log: None,
        client: TlsClient {
            server_name: None,
            resumption: None,
            identity: None,
            verify: TlsVerify::Off,
            key_share_reuse: None,
        },
        server: TlsServer {
            identity: ServerIdentity::Generated { names: Vec::new(), key: KeyKind::EcdsaP256 },
            tickets: 0,
            client_roots: None,
        },
    }
}

/// Counts of an end after the other one's unidirectional stream with these bytes, if there are any, and the bytes of stream 0 in pieces of
/// `len`, and its end.
pub(crate) fn over_streams(
    plans: &[SessionPlan],
    group: GroupId,
    control: &[u8],
    bytes: &[u8],
    len: usize,
) -> Counts {
    let mut apps = Apps::new(plans, 0, 1, |_| Layer::Quic(Box::new(Factory)));
    let mut flow = if group == CLIENT { apps.start(NOW, group, 0) } else { Flow::default() };
    let mut closed = false;
    let mut tell = |apps: &mut Apps, flow: &mut Flow, tell: &mut dyn FnMut(&mut Apps, &mut Flow, &mut Io)| {
        if !closed {
            let mut io = Io::for_datagrams(FlowId(0), group, Vec::new());
            tell(apps, flow, &mut io);
            closed = io.asked_to_close();
            if io.asked_to_tend() {
                let mut io = Io::for_datagrams(FlowId(0), group, Vec::new());
                apps.tended(NOW, flow, &mut io);
                closed |= io.asked_to_close();
            }
        }
    };
    tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.opened(NOW, flow, io));
    let of = |stream: u8, ends: u8, bytes: &[u8]| [&[stream, ends], bytes].concat();
    let mut datagrams = vec![of(0, 0, &[])];
    if !control.is_empty() {
        datagrams.push(of(if group == CLIENT { 3 } else { 2 }, 0, control));
    }
    datagrams.extend(bytes.chunks(len.max(1)).map(|piece| of(0, 0, piece)));
    datagrams.push(of(0, 1, &[]));
    for datagram in datagrams {
        tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.received(NOW, flow, io, &datagram));
    }
    apps.closed(NOW, &mut flow, FlowId(0), group, End::Closed);
    assert_eq!(apps.extras(), 0);
    assert_eq!(apps.counts(group).failed_in_all() + apps.counts(group).completed, 1);
    apps.counts(group).clone()
}

/// A connection whose datagrams are pieces of streams: the stream, whether it ends, and bytes. The first shakes hands.
#[derive(Default)]
struct Streams {
    is_client: bool,
    opened: [u64; 2],
    events: VecDeque<QuicEvent>,
    connected: bool,
    inbox: BTreeMap<u64, (Vec<u8>, bool)>,
    closed: bool,
}

impl Quic for Streams {
    fn receive(&mut self, _: Nanos, datagram: &[u8], _: u8) {
        if !std::mem::replace(&mut self.connected, true) {
            return self.events.push_back(QuicEvent::Connected);
        }
        let [stream, ends, bytes @ ..] = datagram else { return };
        let (all, ended) = self.inbox.entry(u64::from(*stream)).or_default();
        all.extend_from_slice(bytes);
        *ended |= *ends == 1;
        self.events.push_back(QuicEvent::Readable(u64::from(*stream)));
    }

    fn poll(&mut self) -> Option<QuicEvent> {
        self.events.pop_front()
    }

    fn open(&mut self, bidirectional: bool) -> Option<u64> {
        let opened = &mut self.opened[usize::from(!bidirectional)];
        *opened += 1;
        Some((*opened - 1) * 4 + u64::from(!bidirectional) * 2 + u64::from(!self.is_client))
    }

    fn send(&mut self, _: u64, bytes: &[u8]) -> Option<usize> {
        Some(bytes.len())
    }

    fn finish(&mut self, stream: u64) {
        self.events.push_back(QuicEvent::Delivered(stream));
    }

    fn reset(&mut self, _: u64, _: u64) {}

    fn stop(&mut self, _: u64, _: u64) {}

    fn read(&mut self, stream: u64, take: &mut dyn FnMut(&[u8])) -> QuicRead {
        let Some((bytes, ended)) = self.inbox.get_mut(&stream) else { return QuicRead::Closed };
        if !bytes.is_empty() {
            take(&std::mem::take(bytes));
        }
        if *ended { QuicRead::Finished } else { QuicRead::Blocked }
    }

    fn close(&mut self, _: Nanos, _: u64) {
        self.closed = true;
    }

    fn transmit(&mut self, _: Nanos, _: &mut Vec<u8>, _: &mut Vec<u64>) -> bool {
        false
    }

    fn marks(&self) -> bool {
        false
    }

    fn timeout(&mut self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _: Nanos) {}

    fn has_early_keys(&self) -> bool {
        false
    }

    fn is_early_accepted(&self) -> bool {
        false
    }

    fn update_keys(&mut self) {}

    fn agreed(&self) -> Option<Agreed> {
        None
    }

    fn moved_to(&mut self) -> Option<u32> {
        None
    }

    fn rouses(&mut self) -> Option<u32> {
        None
    }

    fn moved(&mut self, _: bool) {}

    fn stats(&self) -> QuicStats {
        QuicStats::default()
    }

    fn is_drained(&self) -> bool {
        self.closed
    }
}

struct Factory;

impl QuicSide for Factory {
    fn connect(&mut self, _: Nanos, _: u64, _: u32) -> Result<Box<dyn Quic>, SecureError> {
        Ok(Box::new(Streams { is_client: true, ..Streams::default() }))
    }

    fn accept(&mut self, now: Nanos, _: u32, datagram: &[u8], ecn: u8) -> QuicAccepted {
        let mut stream = Streams::default();
        stream.receive(now, datagram, ecn);
        QuicAccepted::Connection(Box::new(stream))
    }

    fn off_path(&mut self, _: u32) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn closed(&mut self, _: u32) {}
}
