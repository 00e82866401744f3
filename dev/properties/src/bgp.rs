//! Messages of any bytes from a BGP peer: they are read within bounds, and a session survives them all.
//!
//! The first byte of an input selects the session's state: before the peer's OPEN message, before its KEEPALIVE, or
//! established; and whether prefixes have path identifiers; the rest is data of the peer.

use ::bgp::{
    AddPath, Attributes, GroupConfig, HEADER, Header, Identity, Mac, Message, PORT, PathIds, PeerConfig,
    RouteRange, Speaker, SpeakerConfig, State, may_concern, next_message,
};
use std::net::{IpAddr, Ipv4Addr};
use tcp::{App, End, FlowId, GroupId, Io, Sink, Stack, Transport};
use units::Nanos;

const OURS: Mac = [2, 0, 0, 0, 0, 1];
const THEIRS: Mac = [2, 0, 0, 0, 0, 2];
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// Routes of the peer that are kept.
const KEPT: u32 = 3;
const MARKER: [u8; 16] = [0xff; 16];

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    read(bytes, [false; 2]);
    read(bytes, [true; 2]);
    let steps = usize::from(how % 3);
    let mut link = Link::new();
    let open = open(how / 3 % 2 == 1);
    let before = [&[][..], &open[..], &[open.clone(), keep_alive()].concat()[..]][steps].to_vec();
    link.say(&before);
    let expected = [State::OpenSent, State::OpenConfirm, State::Established][steps];
    assert_eq!(link.speaker.state(0), expected);
    let counts = link.speaker.counts();
    link.say(bytes);
    let now = link.speaker.counts();
    let routes = now.received_ipv4 + now.received_ipv6 + now.received_withdrawn;
    assert!(routes <= bytes.len() as u64, "a route has a byte at least");
    assert!(now.notifications.0 <= counts.notifications.0 + 1, "a peer gets one NOTIFICATION");
    if let Some(heard) = link.speaker.heard(0) {
        assert!(heard.routes().len() <= KEPT as usize && heard.left_out() <= routes);
    }
    // It is still there, and can be ended.
    link.speaker.shut(link.now);
    link.pass(Nanos::from_secs(5));
    assert!(link.speaker.is_over());
}

/// Reads messages one after the other.
fn read(mut bytes: &[u8], ids: PathIds) {
    let _ = may_concern(bytes);
    while let Some(Ok((message, len))) = next_message(bytes, ids) {
        let header = Header::read(bytes).expect("all there").expect("it was read");
        assert!(header.len == len && (HEADER..=4_096).contains(&len) && len <= bytes.len());
        assert_eq!(next_message(&bytes[..len - 1], ids), None, "a part is no message");
        match message {
            Message::Open(open) => {
                assert!(!open.identifier.is_unspecified() && !matches!(open.hold_s, 1 | 2))
            }
            Message::Update(update) => {
                assert!((update.ipv4 + update.ipv6 + update.withdrawn) as usize <= len - HEADER);
            }
            Message::Notification(what) => assert!(!what.to_string().is_empty()),
            Message::KeepAlive => assert_eq!(len, HEADER),
            Message::Refresh(_) => assert_eq!(len, HEADER + 4),
        }
        bytes = &bytes[len..];
    }
}

/// A peer that sends given data.
#[derive(Default)]
struct Peer {
    said: Vec<u8>,
}

impl App for Peer {
    type Flow = ();

    fn opened(&mut self, _: Nanos, _: &mut (), _: &mut Io) {}
    fn received(&mut self, _: Nanos, _: &mut (), _: &mut Io, _: &[u8]) {}
    fn finished(&mut self, _: Nanos, _: &mut (), io: &mut Io) {
        io.close();
    }
    fn acknowledged(&mut self, _: Nanos, _: &mut (), _: &mut Io, _: u64) {}
    fn woke(&mut self, _: Nanos, _: &mut (), _: &mut Io) {}
    fn closed(&mut self, _: Nanos, _: &mut (), _: FlowId, _: GroupId, _: End) {}
    fn fill(&mut self, _: &(), _: GroupId, offset: u64, out: &mut [u8]) {
        let from = offset as usize;
        out.copy_from_slice(&self.said[from..from + out.len()]);
    }
}

#[derive(Default)]
struct Frames(Vec<Vec<u8>>);

impl Sink for Frames {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.0.push(vec![0; len]);
        self.0.last_mut().map(Vec::as_mut_slice)
    }
}

/// A speaker and its peer.
struct Link {
    speaker: Speaker,
    stack: Stack<Peer>,
    peer: Peer,
    flow: FlowId,
    now: Nanos,
}

impl Link {
    fn new() -> Self {
        let identity = Identity {
            own_as: 65_001,
            peer_as: 65_000,
            identifier: Ipv4Addr::new(10, 0, 0, 2),
            hold_s: 90,
            families: [true, true],
            own: [Some(LOCAL), None],
            number: 0,
            restart: None,
            add_path: [AddPath { receive: true, send: true }; 2],
        };
        let routes = RouteRange {
            name: String::new(),
            first: Ipv4Addr::new(16, 0, 0, 0).into(),
            prefix_len: 24,
            count: 10,
            step: 1,
            same: false,
            path_id: 1,
            attributes: Attributes::default(),
            table: None,
            advertise: Nanos::ZERO,
            withdraw: None,
            flap: None,
        };
        let peers = vec![PeerConfig {
            name: String::new(),
            host: 0,
            local: LOCAL,
            remote: REMOTE,
            identity,
            passive: true,
            retry: Nanos::from_secs(1),
            routes: [routes].into(),
            keep: KEPT,
        }];
        let hosts = vec![GroupConfig { own_mac: OURS, ..GroupConfig::default() }];
        let mut speaker = Speaker::new(SpeakerConfig { hosts, peers, rate: 1, seed: 1 });
        let now = Nanos::from_secs(1);
        speaker.begin(now);
        let group = GroupConfig { own_mac: THEIRS, hop_mac: Some(OURS), ..GroupConfig::default() };
        let mut stack = Stack::new(2, 1, vec![group]);
        let mut peer = Peer::default();
        let ends = ((REMOTE, 40_000).into(), (LOCAL, PORT).into());
        let flow = stack.connect(now, &mut peer, GroupId(0), Transport::Tcp, ends, None, ());
        let mut link = Self { speaker, stack, peer, flow: flow.expect("there is room"), now };
        link.pass(Nanos::from_millis(10));
        link
    }

    /// Lets the peer send data, and both sides process them.
    fn say(&mut self, bytes: &[u8]) {
        self.peer.said.extend(bytes);
        self.stack.with(self.now, &mut self.peer, self.flow, |_, (), io| io.send(bytes.len() as u64));
        self.pass(Nanos::from_millis(100));
    }

    fn pass(&mut self, span: Nanos) {
        let end = self.now + span;
        while self.now < end {
            let mut frames = Vec::new();
            self.speaker.poll(self.now, &mut frames);
            for frame in &frames {
                assert!(may_concern(frame));
                self.stack.receive(self.now, &mut self.peer, &[frame]);
            }
            self.stack.turn(self.now, &mut self.peer);
            let mut out = Frames::default();
            self.stack.transmit(self.now, &mut self.peer, &mut out);
            let Frames(sent) = out;
            for frame in &sent {
                self.speaker.take(self.now, frame);
            }
            let is_quiet = frames.is_empty() && sent.is_empty();
            let due = self.speaker.next_due().min(self.stack.next_due());
            let step = Nanos(self.now.0 + 50_000);
            self.now = if is_quiet { due.max(step).min(end) } else { step };
        }
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = (HEADER + body.len()) as u16;
    [&MARKER[..], &len.to_be_bytes(), &[kind], body].concat()
}

/// The peer's OPEN message, which may offer several paths for a prefix.
fn open(add_path: bool) -> Vec<u8> {
    let families = [1, 4, 0, 1, 0, 1];
    let paths: &[u8] = if add_path { &[69, 4, 0, 1, 1, 3] } else { &[] };
    let len = (families.len() + paths.len()) as u8;
    message(1, &[&[4, 0xfd, 0xe8, 0, 90, 10, 0, 0, 1, len + 2, 2, len][..], &families, paths].concat())
}

fn keep_alive() -> Vec<u8> {
    message(4, &[])
}

/// Messages of all types, good and bad ones.
pub fn seeds() -> Vec<Vec<u8>> {
    let route = [
        0, 0, 0, 20, 0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xe8, 0x40, 3, 4, 10, 0, 0, 1, 24, 10, 9, 8,
    ];
    let mut v6 = vec![0, 0, 0, 35, 0x90, 14, 0, 31, 0, 2, 1, 16];
    v6.extend([0x20; 16]);
    v6.extend([0, 64, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    let wrong_as = message(1, &[4, 0, 7, 0, 90, 10, 0, 0, 1, 0]);
    let four_bytes =
        message(1, &[4, 0x5b, 0xa0, 0, 90, 10, 0, 0, 1, 10, 2, 8, 65, 4, 0, 0, 0xfd, 0xe8, 2, 0]);
    let restarts = message(
        1,
        &[4, 0xfd, 0xe8, 0, 90, 10, 0, 0, 1, 14, 2, 12, 64, 10, 0x80, 120, 0, 1, 1, 0x80, 0, 2, 1, 0],
    );
    let messages = [
        (0, open(false)),
        (0, wrong_as),
        (0, restarts),
        (0, four_bytes),
        (1, keep_alive()),
        (1, message(3, &[2, 2])),
        (2, message(2, &route)),
        (2, message(2, &v6)),
        (2, message(2, &[0, 4, 24, 10, 9, 8, 0, 0])),
        (2, message(2, &[0, 0, 0, 0])),
        (2, message(2, &[0, 0, 0, 6, 0x80, 15, 3, 0, 2, 1])),
        (2, message(2, &[0, 9, 0, 0])),
        (2, message(5, &[0, 1, 0, 1])),
        (2, [keep_alive(), message(5, &[0, 2, 0, 1]), message(3, &[6, 2])].concat()),
        (2, message(9, &[])),
    ];
    messages.into_iter().map(|(how, bytes)| [&[how], &bytes[..]].concat()).collect()
}
