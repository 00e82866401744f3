//! Key exchange by shares that serve several handshakes: making one is part of what a handshake costs a client.
//!
//! Each thread has its own shares, so that workers never wait for each other. Not here: servers, whose shares serve once.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::agreement::{
    self, ECDH_P256, ECDH_P384, ECDH_P521, PrivateKey, UnparsedPublicKey, X25519, agree,
};
use aws_lc_rs::kem::{self, DecapsulationKey, ML_KEM_768, ML_KEM_1024};
use rustls::crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// A group: a curve, a key encapsulation, or both.
#[derive(Debug)]
struct Kind {
    name: NamedGroup,
    curve: Option<&'static Curve>,
    kem: Option<&'static kem::Algorithm<kem::AlgorithmId>>,
    /// Of both, the curve's part comes first.
    curve_first: bool,
}

#[derive(Debug)]
struct Curve {
    name: NamedGroup,
    algorithm: &'static agreement::Algorithm,
    /// Bytes of a share.
    len: usize,
    /// Its shares are uncompressed points, which begin with this byte (RFC 8446 section 4.2.8.2).
    begins: Option<u8>,
}

static OF_X25519: Curve = Curve { name: NamedGroup::X25519, algorithm: &X25519, len: 32, begins: None };
static OF_P256: Curve =
    Curve { name: NamedGroup::secp256r1, algorithm: &ECDH_P256, len: 65, begins: Some(4) };
static OF_P384: Curve =
    Curve { name: NamedGroup::secp384r1, algorithm: &ECDH_P384, len: 97, begins: Some(4) };
static OF_P521: Curve =
    Curve { name: NamedGroup::secp521r1, algorithm: &ECDH_P521, len: 133, begins: Some(4) };

const fn of_curve(curve: &'static Curve) -> Kind {
    Kind { name: curve.name, curve: Some(curve), kem: None, curve_first: true }
}

static KINDS: [Kind; 8] = [
    of_curve(&OF_X25519),
    of_curve(&OF_P256),
    of_curve(&OF_P384),
    of_curve(&OF_P521),
    Kind { name: NamedGroup::MLKEM768, curve: None, kem: Some(&ML_KEM_768), curve_first: false },
    Kind { name: NamedGroup::MLKEM1024, curve: None, kem: Some(&ML_KEM_1024), curve_first: false },
    Kind {
        name: NamedGroup::X25519MLKEM768,
        curve: Some(&OF_X25519),
        kem: Some(&ML_KEM_768),
        curve_first: false,
    },
    Kind {
        name: NamedGroup::secp256r1MLKEM768,
        curve: Some(&OF_P256),
        kem: Some(&ML_KEM_768),
        curve_first: true,
    },
];

/// The group whose shares serve this number of handshakes each; the group itself if it is not known here.
pub(crate) fn reused(group: &'static dyn SupportedKxGroup, times: u32) -> &'static dyn SupportedKxGroup {
    /// The library wants groups that are never freed. There are as many as profiles have numbers.
    static ALL: Mutex<Vec<&'static Reused>> = Mutex::new(Vec::new());
    let Some(kind) = KINDS.iter().find(|kind| kind.name == group.name()) else { return group };
    let wanted = Reused { kind, times };
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| known.is(&wanted)) {
        return *known;
    }
    let made: &'static Reused = Box::leak(Box::new(wanted));
    all.push(made);
    made
}

#[derive(Debug, Clone, Copy)]
struct Reused {
    kind: &'static Kind,
    times: u32,
}

/// A share, and the handshakes that it still serves.
struct Kept {
    group: Reused,
    share: Arc<Share>,
    left: u32,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

impl Reused {
    fn is(&self, other: &Self) -> bool {
        (self.kind.name, self.times) == (other.kind.name, other.times)
    }

    /// The share of the next handshake.
    fn share(self) -> Result<Arc<Share>, Error> {
        KEPT.with_borrow_mut(|all| {
            if let Some(kept) = all.iter_mut().find(|kept| kept.group.is(&self) && kept.left > 0) {
                kept.left -= 1;
                return Ok(kept.share.clone());
            }
            let share = Arc::new(Share::new(self.kind).ok_or(GetRandomFailed)?);
            all.retain(|kept| !kept.group.is(&self));
            all.push(Kept { group: self, share: share.clone(), left: self.times.saturating_sub(1) });
            Ok(share)
        })
    }
}

impl SupportedKxGroup for Reused {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Exchange { kind: self.kind, share: self.share()? }))
    }

    fn name(&self) -> NamedGroup {
        self.kind.name
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.kind.kem.is_none() || version == ProtocolVersion::TLSv1_3
    }
}

/// Keys, and their public parts in one.
struct Share {
    curve: Option<PrivateKey>,
    kem: Option<DecapsulationKey<kem::AlgorithmId>>,
    public: Vec<u8>,
}

impl Share {
    fn new(kind: &Kind) -> Option<Self> {
        let curve = match kind.curve {
            Some(curve) => Some(PrivateKey::generate(curve.algorithm).ok()?),
            None => None,
        };
        let kem = match kind.kem {
            Some(kem) => Some(DecapsulationKey::generate(kem).ok()?),
            None => None,
        };
        let mut public = Vec::new();
        let of_curve = match &curve {
            Some(key) => key.compute_public_key().ok()?.as_ref().to_vec(),
            None => Vec::new(),
        };
        if let Some(key) = &kem {
            public.extend_from_slice(key.encapsulation_key().ok()?.key_bytes().ok()?.as_ref());
        }
        let at = if kind.curve_first { 0 } else { public.len() };
        public.splice(at..at, of_curve);
        Some(Self { curve, kem, public })
    }
}

struct Exchange {
    kind: &'static Kind,
    share: Arc<Share>,
}

fn wrong() -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

impl Exchange {
    /// A share's parts: the curve's, and the other one.
    fn parts<'a>(&self, share: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let Some(curve) = self.kind.curve else { return Some((&[], share)) };
        if self.kind.curve_first {
            share.split_at_checked(curve.len)
        } else {
            let (rest, own) = share.split_at_checked(share.len().checked_sub(curve.len)?)?;
            Some((own, rest))
        }
    }

    fn agree(&self, peer: &[u8]) -> Result<Vec<u8>, Error> {
        let (Some(curve), Some(key)) = (self.kind.curve, &self.share.curve) else { return Ok(Vec::new()) };
        if peer.len() != curve.len || curve.begins.is_some_and(|first| peer.first() != Some(&first)) {
            return Err(wrong());
        }
        agree(key, UnparsedPublicKey::new(curve.algorithm, peer), wrong(), |secret| Ok(secret.to_vec()))
    }

    fn decapsulate(&self, peer: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.share.kem {
            Some(key) => Ok(key.decapsulate(peer.into()).map_err(|_| wrong())?.as_ref().to_vec()),
            None if peer.is_empty() => Ok(Vec::new()),
            None => Err(wrong()),
        }
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let (of_curve, of_kem) = self.parts(peer).ok_or_else(wrong)?;
        let (of_curve, of_kem) = (self.agree(of_curve)?, self.decapsulate(of_kem)?);
        let all = if self.kind.curve_first { [of_curve, of_kem] } else { [of_kem, of_curve] };
        Ok(SharedSecret::from(&all.concat()[..]))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        let curve = self.kind.curve.filter(|_| self.kind.kem.is_some())?;
        let public = &self.share.public;
        let at = if self.kind.curve_first { 0 } else { public.len() - curve.len };
        Some((curve.name, &public[at..at + curve.len]))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        self.agree(peer).map(|secret| SharedSecret::from(&secret[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share.public
    }

    fn group(&self) -> NamedGroup {
        self.kind.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;

    #[test]
    fn every_group_agrees_as_often_as_a_share_serves_and_then_has_another() {
        for group in names::all_groups() {
            let reused = reused(group, 3);
            let name = group.name();
            assert_eq!(
                (reused.name(), reused.usable_for_version(ProtocolVersion::TLSv1_2)),
                (name, group.usable_for_version(ProtocolVersion::TLSv1_2))
            );
            let mut shares = Vec::new();
            let mut secrets = Vec::new();
            for _ in 0..7 {
                let client = reused.start().expect("a share");
                let share = client.pub_key().to_vec();
                let server = group.start_and_complete(&share).expect("a server's share");
                let secret = client.complete(&server.pub_key).expect("a secret");
                assert_eq!(secret.secret_bytes(), server.secret.secret_bytes(), "{name:?}");
                shares.push(share);
                secrets.push(secret.secret_bytes().to_vec());
            }
            let again: Vec<_> = shares.windows(2).map(|pair| pair[0] == pair[1]).collect();
            assert_eq!(again, [true, true, false, true, true, false], "{name:?}");
            secrets.sort();
            secrets.dedup();
            assert_eq!(secrets.len(), 7, "{name:?}: the server's share makes each secret another");
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for group in names::all_groups() {
            let reused = reused(group, 100);
            let good =
                group.start_and_complete(reused.start().expect("a share").pub_key()).expect("one").pub_key;
            let [longer, shorter] = [[&good[..], &[0]].concat(), good[1..].to_vec()];
            for bad in [&[][..], &[4], &longer, &shorter, &vec![0; good.len()]] {
                let is_kem = KINDS.iter().any(|kind| kind.name == group.name() && kind.curve.is_none());
                // A ciphertext of the right length decapsulates to something (FIPS 203).
                if !(is_kem && bad.len() == good.len()) {
                    let refused = reused.start().expect("a share").complete(bad);
                    assert!(refused.is_err(), "{:?}, {} bytes", group.name(), bad.len());
                }
            }
        }
    }

    #[test]
    fn half_of_a_hybrid_group_can_be_chosen() {
        let group = names::all_groups().find(|group| group.name() == NamedGroup::X25519MLKEM768).expect("it");
        let plain = names::all_groups().find(|group| group.name() == NamedGroup::X25519).expect("it");
        let client = reused(group, 2).start().expect("a share");
        let (name, share) = client.hybrid_component().expect("a half");
        assert_eq!(name, NamedGroup::X25519);
        let server = plain.start_and_complete(share).expect("a server's share");
        let secret = client.complete_hybrid_component(&server.pub_key).expect("a secret");
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
        assert!(reused(plain, 2).start().expect("a share").hybrid_component().is_none());
    }
}
