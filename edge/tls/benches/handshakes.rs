//! Cost of the seam: handshakes and bulk through [`tls::Sides`] compared with rustls used directly, on one core in one
//! run, both ends; handshakes of clients that read no certificate; and the memory of an idle flow.
//!
//! `cargo bench -p tls`, or `cargo bench -p tls -- "full TLS"` for that comparison alone. Rounds of the two take turns.
//! The best and the median of each are printed, because the machine is shared.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider, kx_group::X25519};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use session::plan::{Content, Identity, ServerIdentity, TlsClient, TlsPlan, TlsServer, TlsVerify};
use session::secure::{Secure, SecureSide};
use tls::Sides;
use units::Nanos;

const NAME: &str = "server.test";
const ROUNDS: usize = 15;
const HANDSHAKES: usize = 150;
const BULK_CALLS: usize = 512;
const BULK_BYTES: usize = 65_536;
const FLOWS: usize = 4_000;

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |what: &str| only.as_ref().is_none_or(|only| what.contains(only.as_str()));
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec![NAME.to_owned()])
        .and_then(|parameters| parameters.self_signed(&key))
        .expect("a certificate");
    let (chain, key) = (certificate.pem(), key.serialize_pem());
    for (resumed, what) in [(false, "full TLS 1.3 handshakes"), (true, "resumed TLS 1.3 handshakes")] {
        if !wanted(what) {
            continue;
        }
        let mut ours = Ours::new(&chain, &key, resumed);
        let mut plain = Plain::new(&chain, &key, resumed);
        compare(what, "/s", HANDSHAKES as f64, || ours.handshakes(resumed), || plain.handshakes(resumed));
    }
    if wanted("clients that verify") {
        verification(&chain, &key);
    }
    let what = "bulk, encrypted and decrypted";
    if wanted(what) {
        let mut ours = Ours::new(&chain, &key, false).established();
        let mut plain = Plain::new(&chain, &key, false).established();
        let megabytes = (BULK_CALLS * BULK_BYTES) as f64 / 1e6;
        compare(what, " MB/s", megabytes, || bulk(&mut ours), || plain.bulk());
    }
    if wanted("weight") {
        weigh(&chain, &key);
    }
}

/// The client's part of full handshakes with `verify: none`, with `verify: nothing`, and with key shares that serve a
/// thousand handshakes besides, in turns.
fn verification(chain: &str, key: &str) {
    let ways = [(TlsVerify::Off, None), (TlsVerify::Nothing, None), (TlsVerify::Nothing, Some(1_000))];
    let mut sides = ways.map(|(verify, reuse)| Ours::verifying(chain, key, false, verify, reuse));
    let mut rates = [[0.0; ROUNDS]; 3];
    for round in 0..ROUNDS {
        for (rates, ours) in rates.iter_mut().zip(&mut sides) {
            rates[round] = HANDSHAKES as f64 / ours.client_time().as_secs_f64();
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_unstable_by(f64::total_cmp));
    for (which, at) in [("best", ROUNDS - 1), ("median", ROUNDS / 2)] {
        let [none, nothing, reusing] = [rates[0][at], rates[1][at], rates[2][at]];
        let (ratio, both) = (nothing / none, reusing / none);
        println!(
            "clients that verify {which:6} none {none:8.0}/s, nothing {nothing:8.0}/s, ratio {ratio:.3}, and reuse key \
             shares {reusing:8.0}/s, ratio {both:.3}"
        );
    }
}

fn compare(what: &str, unit: &str, amount: f64, mut ours: impl FnMut(), mut plain: impl FnMut()) {
    let mut rates = [[0.0; ROUNDS]; 2];
    for round in 0..ROUNDS {
        let works: [&mut dyn FnMut(); 2] = [&mut ours, &mut plain];
        for (rates, work) in rates.iter_mut().zip(works) {
            let start = Instant::now();
            work();
            rates[round] = amount / start.elapsed().as_secs_f64();
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_unstable_by(f64::total_cmp));
    for (which, at) in [("best", ROUNDS - 1), ("median", ROUNDS / 2)] {
        let [ours, plain] = [rates[0][at], rates[1][at]];
        let ratio = ours / plain;
        println!(
            "{what:32} {which:6} seam {ours:8.0}{unit}, rustls alone {plain:8.0}{unit}, ratio {ratio:.3}"
        );
    }
}

/// The two sides of the crate.
struct Ours {
    client: Box<dyn SecureSide>,
    server: Box<dyn SecureSide>,
    number: u64,
    bytes: Vec<u8>,
    plain: Vec<u8>,
}

impl Ours {
    fn new(chain: &str, key: &str, resumed: bool) -> Self {
        Self::verifying(chain, key, resumed, TlsVerify::Roots(chain.as_bytes().into()), None)
    }

    fn verifying(
        chain: &str,
        key: &str,
        resumed: bool,
        verify: TlsVerify,
        key_share_reuse: Option<u32>,
    ) -> Self {
        let plan = TlsPlan {
            tls12: false,
            tls13: true,
            suites: vec!["TLS_AES_128_GCM_SHA256".to_owned()],
            groups: vec!["x25519".to_owned()],
            alpn: Vec::new(),
            key_log: None,
            client: TlsClient {
                server_name: Some(Content::bytes(NAME)),
                resumption: resumed.then_some(8),
                identity: None,
                verify,
                key_share_reuse,
            },
            server: TlsServer {
                identity: ServerIdentity::Given(Identity {
                    chain: chain.as_bytes().into(),
                    key: key.as_bytes().into(),
                }),
                tickets: u8::from(resumed),
                client_roots: None,
            },
        };
        let sides = Sides::new(Arc::new(plan));
        Self {
            client: sides.client().expect("a client"),
            server: sides.server().expect("a server"),
            number: 0,
            bytes: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// Time of the client alone in a round of full handshakes.
    fn client_time(&mut self) -> Duration {
        let mut spent = Duration::ZERO;
        for _ in 0..HANDSHAKES {
            let start = Instant::now();
            let mut client = self.client.start(Nanos::ZERO, self.number);
            self.bytes.clear();
            client.take_output(&mut self.bytes);
            spent += start.elapsed();
            let mut server = self.server.start(Nanos::ZERO, self.number);
            server.receive(Nanos::ZERO, &self.bytes, &mut self.plain).expect("no error");
            self.bytes.clear();
            server.take_output(&mut self.bytes);
            let start = Instant::now();
            client.receive(Nanos::ZERO, &self.bytes, &mut self.plain).expect("no error");
            self.bytes.clear();
            client.take_output(&mut self.bytes);
            spent += start.elapsed();
            assert!(client.agreed().is_some());
            self.number += 1;
        }
        spent
    }

    fn handshakes(&mut self, resumed: bool) {
        for _ in 0..HANDSHAKES {
            let (client, _server) = self.shake();
            assert!(client.agreed().is_some_and(|agreed| agreed.resumed == resumed || self.number == 1));
        }
    }

    fn shake(&mut self) -> (Box<dyn Secure>, Box<dyn Secure>) {
        let mut client = self.client.start(Nanos::ZERO, self.number);
        let mut server = self.server.start(Nanos::ZERO, self.number);
        self.number += 1;
        for _ in 0..2 {
            carry(&mut *client, &mut *server, &mut self.bytes, &mut self.plain);
            carry(&mut *server, &mut *client, &mut self.bytes, &mut self.plain);
        }
        assert!(server.agreed().is_some());
        (client, server)
    }

    fn established(mut self) -> Established {
        let (client, server) = self.shake();
        Established { client, server, bytes: Vec::new(), plain: Vec::new(), said: vec![7; BULK_BYTES] }
    }
}

struct Established {
    client: Box<dyn Secure>,
    server: Box<dyn Secure>,
    bytes: Vec<u8>,
    plain: Vec<u8>,
    said: Vec<u8>,
}

fn bulk(flow: &mut Established) {
    for _ in 0..BULK_CALLS {
        flow.client.send(&flow.said);
        carry(&mut *flow.client, &mut *flow.server, &mut flow.bytes, &mut flow.plain);
        assert_eq!(black_box(&flow.plain).len(), BULK_BYTES);
    }
}

fn carry(from: &mut dyn Secure, to: &mut dyn Secure, bytes: &mut Vec<u8>, plain: &mut Vec<u8>) {
    bytes.clear();
    plain.clear();
    from.take_output(bytes);
    to.receive(Nanos::ZERO, bytes, plain).expect("no error");
}

/// rustls as its documentation shows it.
struct Plain {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    number: u64,
    bytes: Vec<u8>,
}

impl Plain {
    fn new(chain: &str, key: &str, resumed: bool) -> Self {
        let mut provider = default_provider();
        provider.kx_groups = vec![X25519];
        provider.cipher_suites.retain(|suite| format!("{suite:?}").contains("TLS13_AES_128_GCM_SHA256"));
        let provider = Arc::new(provider);
        let chain = CertificateDer::from_pem_slice(chain.as_bytes()).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
        let mut roots = RootCertStore::empty();
        roots.add(chain.clone()).expect("a root");
        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .expect("a version")
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .expect("a certificate");
        server.send_tls13_tickets = usize::from(resumed);
        server.session_storage = Arc::new(NoServerSessionStorage {});
        if resumed {
            server.ticketer = Ticketer::new().expect("tickets");
        } else {
            client.resumption = rustls::client::Resumption::disabled();
        }
        Self { client: Arc::new(client), server: Arc::new(server), number: 0, bytes: Vec::new() }
    }

    fn handshakes(&mut self, resumed: bool) {
        for _ in 0..HANDSHAKES {
            let (client, _server) = self.shake();
            let is_resumed = client.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
            assert!(is_resumed == resumed || self.number == 1);
        }
    }

    fn shake(&mut self) -> (ClientConnection, ServerConnection) {
        self.number += 1;
        let name = ServerName::try_from(NAME).expect("a name");
        let mut client = ClientConnection::new(self.client.clone(), name).expect("a client");
        let mut server = ServerConnection::new(self.server.clone()).expect("a server");
        for _ in 0..2 {
            self.bytes.clear();
            while client.wants_write() {
                client.write_tls(&mut self.bytes).expect("written");
            }
            let mut bytes = self.bytes.as_slice();
            while !bytes.is_empty() {
                server.read_tls(&mut bytes).expect("read");
                server.process_new_packets().expect("TLS");
            }
            self.bytes.clear();
            while server.wants_write() {
                server.write_tls(&mut self.bytes).expect("written");
            }
            let mut bytes = self.bytes.as_slice();
            while !bytes.is_empty() {
                client.read_tls(&mut bytes).expect("read");
                client.process_new_packets().expect("TLS");
            }
        }
        assert!(!server.is_handshaking());
        (client, server)
    }

    fn established(mut self) -> PlainEstablished {
        let (client, server) = self.shake();
        PlainEstablished {
            client,
            server,
            bytes: Vec::new(),
            heard: vec![0; BULK_BYTES],
            said: vec![7; BULK_BYTES],
        }
    }
}

struct PlainEstablished {
    client: ClientConnection,
    server: ServerConnection,
    bytes: Vec<u8>,
    heard: Vec<u8>,
    said: Vec<u8>,
}

impl PlainEstablished {
    fn bulk(&mut self) {
        for _ in 0..BULK_CALLS {
            let mut sent = 0;
            let mut heard = 0;
            while sent < self.said.len() {
                sent += self.client.writer().write(&self.said[sent..]).expect("written");
                self.bytes.clear();
                while self.client.wants_write() {
                    self.client.write_tls(&mut self.bytes).expect("written");
                }
                let mut bytes = self.bytes.as_slice();
                while !bytes.is_empty() {
                    self.server.read_tls(&mut bytes).expect("read");
                    self.server.process_new_packets().expect("TLS");
                    while let Ok(len @ 1..) = self.server.reader().read(&mut self.heard[heard..]) {
                        heard += len;
                    }
                }
            }
            assert_eq!(black_box(heard), BULK_BYTES);
        }
    }
}

/// Resident memory of established flows that have exchanged data, one side kept at a time.
fn weigh(chain: &str, key: &str) {
    for (side, resumed) in [("client", false), ("server", false), ("client", true)] {
        let mut ours = Ours::new(chain, key, resumed);
        let mut kept = Vec::with_capacity(FLOWS);
        let mut one = |kept: &mut Vec<Box<dyn Secure>>| {
            let (mut client, mut server) = ours.shake();
            client.send(b"a request");
            carry(&mut *client, &mut *server, &mut ours.bytes, &mut ours.plain);
            server.send(b"a response");
            carry(&mut *server, &mut *client, &mut ours.bytes, &mut ours.plain);
            kept.push(if side == "client" { client } else { server });
        };
        for _ in 0..FLOWS / 4 {
            one(&mut kept);
        }
        let before = resident();
        for _ in FLOWS / 4..FLOWS {
            one(&mut kept);
        }
        let grown = resident().saturating_sub(before) / (FLOWS - FLOWS / 4);
        // What is freed here would hide what the next turn takes.
        std::mem::forget(kept);
        println!(
            "memory of a {side}'s idle flow{}: {grown} bytes",
            if resumed { " with tickets" } else { "" }
        );
    }
}

/// Bytes of memory in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) * 1_024
}
