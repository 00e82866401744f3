//! A toy in place of TLS: a handshake of two messages, then records of a length and bytes that are turned around.

use crate::counts::Reason;
use crate::plan::*;
use crate::secure::{Agreed, Secure, SecureError, SecureSide};
use crate::testing::{Wire, plan};
use proptest::prelude::*;
use std::sync::Arc;
use tcp::End;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);
const HELLO: &[u8] = b"HELLO";
const ALERT: &[u8] = b"ALERT";
/// A record of this length marks the end.
const CLOSE: u16 = u16::MAX;

#[derive(Clone, Copy)]
enum Manner {
    Good,
    Alerts,
    Silent,
}

struct Toy {
    client: bool,
    manner: Manner,
    hello: bool,
    closed: bool,
    input: Vec<u8>,
    held: Vec<u8>,
    out: Vec<u8>,
}

struct ToySide(bool, Manner);

impl SecureSide for ToySide {
    fn start(&mut self, _: Nanos, _: u64) -> Box<dyn Secure> {
        let out = if self.0 { HELLO.to_vec() } else { Vec::new() };
        let (input, held) = (Vec::new(), Vec::new());
        Box::new(Toy { client: self.0, manner: self.1, hello: false, closed: false, input, held, out })
    }
}

impl Toy {
    fn record(&mut self, plain: &[u8]) {
        for piece in plain.chunks(1000) {
            self.out.extend((piece.len() as u16).to_be_bytes());
            self.out.extend(piece.iter().map(|byte| byte ^ 0x5a));
        }
    }
}

impl Secure for Toy {
    fn receive(&mut self, _: Nanos, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), SecureError> {
        self.input.extend_from_slice(bytes);
        if !self.hello {
            if self.input.len() < HELLO.len() {
                return Ok(());
            }
            if self.input.starts_with(ALERT) {
                return Err(SecureError::AlertReceived("handshake_failure"));
            }
            if !self.input.starts_with(HELLO) {
                self.out.extend(ALERT);
                return Err(SecureError::Protocol("no hello".to_owned()));
            }
            self.input.drain(..HELLO.len());
            match self.manner {
                Manner::Silent => return Ok(()),
                Manner::Alerts => {
                    self.out.extend(ALERT);
                    return Err(SecureError::Certificate("expired".to_owned()));
                }
                Manner::Good => {}
            }
            self.hello = true;
            if !self.client {
                self.out.extend(HELLO);
            }
            let held = std::mem::take(&mut self.held);
            self.record(&held);
        }
        while let Some((len, rest)) = self.input.split_first_chunk::<2>() {
            let len = u16::from_be_bytes(*len);
            if len == CLOSE {
                self.closed = true;
                break;
            }
            let Some(record) = rest.get(..usize::from(len)) else { break };
            plain.extend(record.iter().map(|byte| byte ^ 0x5a));
            self.input.drain(..2 + usize::from(len));
        }
        Ok(())
    }

    fn send(&mut self, plain: &[u8]) {
        if self.hello { self.record(plain) } else { self.held.extend_from_slice(plain) }
    }

    fn close(&mut self) {
        self.out.extend(CLOSE.to_be_bytes());
    }

    fn take_output(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn agreed(&self) -> Option<Agreed> {
        let agreed = Agreed { version: "1.3", suite: "TOY", group: "none", alpn: "", resumed: false };
        self.hello.then_some(agreed)
    }

    fn peer_closed(&self) -> bool {
        self.closed
    }
}

fn tls() -> Option<Arc<TlsPlan>> {
    Some(Arc::new(TlsPlan {
        key_log: None,
        tls12: true,
        tls13: true,
        suites: Vec::new(),
        groups: Vec::new(),
        alpn: Vec::new(),
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
    }))
}

fn wire(app: AppPlan, manner: Manner, cuts: &[usize]) -> Wire {
    let entry = SessionPlan { tls: tls(), ..plan(app) };
    let (client, server) = (ToySide(true, Manner::Good), ToySide(false, manner));
    Wire::secured(entry, cuts, Some(Box::new(client)), Some(Box::new(server)))
}

fn http(bytes: u64, requests: u32) -> AppPlan {
    let request = HttpRequest { response_bytes: Some(bytes), ..HttpRequest::get(&format!("/{bytes}"), "h") };
    AppPlan::Http(Arc::new(HttpPlan {
        requests: vec![(request, 1)],
        order: SelectionOrder::Sequential,
        per_connection: Some(requests),
        pipeline: 2,
        version: HttpVersion::One,
        streams: 1,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: true,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(HttpServer::sized(Size::Fixed(0))),
    }))
}

#[test]
fn applications_run_inside() {
    for bytes in [0, 10, 2_000_000] {
        let mut wire = wire(http(bytes, 3), Manner::Good, &[9_000, 100]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let client = wire.client();
        assert_eq!((client.transactions, client.tls.len(), client.handshake.samples()), (3, 1, 1));
        assert!(client.bytes_received > 3 * bytes && client.bytes_received < 3 * (bytes + 100));
        assert!(wire.sent(0).starts_with(HELLO));
        assert!(!wire.sent(0).windows(3).any(|bytes| bytes == b"GET"));
    }
}

/// Encrypted data have not arrived.
#[test]
fn a_response_counts_when_it_has_arrived() {
    for bytes in [20_000, 5_000_000] {
        let mut wire = wire(http(bytes, 1), Manner::Good, &[100]);
        for number in 0..10 {
            wire.open(number);
            wire.run(Nanos(120_000));
            wire.cut_off(1, End::Reset);
            wire.cut_off(0, End::Aborted);
        }
        let server = wire.server();
        assert_eq!((server.requests, server.failed(Reason::Reset)), (10, 10));
        assert_eq!((server.transactions, server.http), (0, [0; 5]));
        wire.open(10);
        wire.run(MINUTE);
        assert_eq!((wire.server().transactions, wire.server().http[1]), (1, 1));
    }
}

#[test]
fn streams_are_encrypted_only_as_far_as_there_is_room() {
    let mut entry = SessionPlan { tls: tls(), ..plan(AppPlan::bulk(Side::Server, None)) };
    entry.load.up = Some(Delay::Constant(Nanos::from_millis(5)));
    let (client, server) = (ToySide(true, Manner::Good), ToySide(false, Manner::Good));
    let mut wire = Wire::secured(entry, &[60_000], Some(Box::new(client)), Some(Box::new(server)));
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert!(wire.client().bytes_received > 1_000_000);
}

#[test]
fn handshakes_fail_for_a_reason() {
    for (manner, client, server) in [
        (Manner::Alerts, Reason::TlsAlert, Reason::TlsCertificate),
        (Manner::Silent, Reason::TlsTimeout, Reason::TlsTimeout),
    ] {
        let mut wire = wire(http(1, 1), manner, &[3]);
        wire.open(0);
        wire.run(MINUTE);
        assert_eq!(wire.client().failed(client), 1);
        // Whoever gave up first reset the other.
        assert_eq!(wire.server().failed(server) + wire.server().failed(Reason::Reset), 1);
        assert_eq!((wire.client().active(), wire.server().active(), wire.extras()), (0, 0, 0));
    }
    for (says, closes, reason) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", false, Reason::TlsProtocol),
        ("", true, Reason::ClosedEarly),
        ("", false, Reason::TlsTimeout),
    ] {
        let mut wire = wire(http(1, 1), Manner::Good, &[3]);
        wire.fake = Some((says.as_bytes().to_vec(), closes));
        wire.open(0);
        wire.run(MINUTE);
        if wire.ends_of()[0].is_none() {
            wire.cut_off(0, End::Closed);
        }
        assert_eq!(wire.client().failed(reason), 1, "{says} {closes}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn any_chunking_is_the_same(cuts in proptest::collection::vec(1usize..2_000, 1..10), bytes in 0u64..20_000) {
        let mut wire = wire(http(bytes, 2), Manner::Good, &cuts);
        wire.open(1);
        wire.run(MINUTE);
        wire.assert_complete(1);
    }
}
