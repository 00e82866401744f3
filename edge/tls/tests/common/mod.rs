//! Plans to start from, certificates, and a wire between two flows.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use session::plan::{Content, Identity, KeyKind, ServerIdentity, TlsClient, TlsPlan, TlsServer, TlsVerify};
use session::secure::{Secure, SecureError};
use tls::Sides;
use units::Nanos;

pub(crate) const NAME: &str = "server.test";

/// All versions, suites and groups; a generated certificate, not verified; nothing resumed.
pub(crate) fn plan() -> TlsPlan {
    TlsPlan {
        tls12: true,
        tls13: true,
        suites: Vec::new(),
        groups: Vec::new(),
        alpn: Vec::new(),
        key_log: None,
        client: TlsClient {
            server_name: Some(Content::bytes(NAME)),
            resumption: None,
            identity: None,
            verify: TlsVerify::Off,
            key_share_reuse: None,
        },
        server: TlsServer {
            identity: ServerIdentity::Generated { names: vec![NAME.to_owned()], key: KeyKind::EcdsaP256 },
            tickets: 0,
            client_roots: None,
        },
    }
}

pub(crate) fn sides(plan: TlsPlan) -> Sides {
    Sides::new(Arc::new(plan))
}

/// An authority that signs.
pub(crate) struct Authority {
    pub pem: Arc<[u8]>,
    key: Arc<[u8]>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        Self::of(name, &[])
    }

    /// One that may also stand for servers of these names.
    pub(crate) fn of(name: &str, servers: &[&str]) -> Self {
        Self::changed(name, servers, |_| {})
    }

    pub(crate) fn changed(name: &str, servers: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let key = KeyPair::generate().expect("a key");
        let names = servers.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut parameters = CertificateParams::new(names).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        change(&mut parameters);
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let (pem, secret) = (certificate.pem().into_bytes(), key.serialize_pem().into_bytes());
        Self { pem: pem.into(), key: secret.into(), issuer: Issuer::new(parameters, key) }
    }

    /// Its own certificate and key.
    pub(crate) fn itself(&self) -> Identity {
        Identity { chain: self.pem.clone(), key: self.key.clone() }
    }

    pub(crate) fn signs(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        change(&mut parameters);
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        Identity {
            chain: certificate.pem().into_bytes().into(),
            key: key.serialize_pem().into_bytes().into(),
        }
    }
}

/// Two flows and what came out of them.
pub(crate) struct Wire {
    pub client: Box<dyn Secure>,
    pub server: Box<dyn Secure>,
    pub client_got: Vec<u8>,
    pub server_got: Vec<u8>,
    /// Bytes that went over the wire.
    pub carried: usize,
}

/// Side and kind of an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Client(SecureError),
    Server(SecureError),
}

impl Wire {
    pub(crate) fn new(client: Box<dyn Secure>, server: Box<dyn Secure>) -> Self {
        Self { client, server, client_got: Vec::new(), server_got: Vec::new(), carried: 0 }
    }

    pub(crate) fn between(sides: &Sides) -> Self {
        let mut client = sides.client().expect("a client");
        let mut server = sides.server().expect("a server");
        Self::new(client.start(Nanos::ZERO, 0), server.start(Nanos::ZERO, 0))
    }

    /// Carries bytes in both directions until there are none left. On trouble the other side still gets what is owed.
    pub(crate) fn run(&mut self) -> Result<(), Vec<Trouble>> {
        self.run_in_chunks(|| usize::MAX)
    }

    pub(crate) fn run_in_chunks(&mut self, mut chunk: impl FnMut() -> usize) -> Result<(), Vec<Trouble>> {
        let mut troubles = Vec::new();
        for _ in 0..1_000 {
            let mut to_server = Vec::new();
            let mut to_client = Vec::new();
            self.client.take_output(&mut to_server);
            self.server.take_output(&mut to_client);
            self.carried += to_server.len() + to_client.len();
            if to_server.is_empty() && to_client.is_empty() {
                return if troubles.is_empty() { Ok(()) } else { Err(troubles) };
            }
            if let Err(error) = feed(&mut *self.server, &to_server, &mut self.server_got, &mut chunk) {
                troubles.push(Trouble::Server(error));
            }
            if let Err(error) = feed(&mut *self.client, &to_client, &mut self.client_got, &mut chunk) {
                troubles.push(Trouble::Client(error));
            }
        }
        panic!("they talk for ever");
    }
}

fn feed(
    flow: &mut dyn Secure,
    mut bytes: &[u8],
    plain: &mut Vec<u8>,
    chunk: &mut impl FnMut() -> usize,
) -> Result<(), SecureError> {
    while !bytes.is_empty() {
        let (now, later) = bytes.split_at(chunk().clamp(1, bytes.len()));
        flow.receive(Nanos::ZERO, now, plain)?;
        bytes = later;
    }
    Ok(())
}
