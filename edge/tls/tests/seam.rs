//! A client and a server of this crate, in memory.

mod common;

use common::{Authority, NAME, Trouble, Wire, plan, sides};
use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use session::plan::{
    By, Content, Identity, KeyKind, Part, SelectionOrder, ServerIdentity, TlsPlan, TlsVerify, Values,
};
use session::secure::{Secure, SecureError};
use std::sync::{Arc, Mutex};
use tls::TlsError;
use units::Nanos;

fn shaken(plan: TlsPlan) -> Wire {
    let mut wire = Wire::between(&sides(plan));
    wire.run().expect("a handshake");
    wire
}

fn trouble(plan: TlsPlan) -> Vec<Trouble> {
    Wire::between(&sides(plan)).run().expect_err("no handshake")
}

fn certificate(reason: &str) -> SecureError {
    SecureError::Certificate(reason.to_owned())
}

fn text(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn they_agree_and_talk() {
    let mut wire = Wire::between(&sides(plan()));
    assert_eq!(wire.client.agreed(), None);
    wire.client.send(b"said before the handshake");
    wire.server.send(b"as well");
    wire.run().expect("a handshake");
    wire.client.send(b", and after it");
    wire.run().expect("bytes");
    assert_eq!(wire.server_got, b"said before the handshake, and after it");
    assert_eq!(wire.client_got, b"as well");
    let agreed = wire.client.agreed().expect("agreed");
    assert_eq!((agreed.version, agreed.group, agreed.resumed), ("1.3", "X25519", false));
    assert_eq!(wire.server.agreed(), Some(agreed));
}

#[test]
fn every_version_suite_group_and_key() {
    let mut tried = 0;
    for suite in tls::suites() {
        for group in tls::groups() {
            let is13 = !suite.contains("_ECDHE_");
            if !is13 && group.contains("MLKEM") {
                continue;
            }
            let key = if suite.contains("_RSA_") { KeyKind::Rsa2048 } else { KeyKind::EcdsaP256 };
            // One RSA key is slow enough.
            if key == KeyKind::Rsa2048 && !(suite.contains("CHACHA20") && group == "secp384r1") {
                continue;
            }
            let mut plan = plan();
            plan.suites = text(&[suite]);
            plan.groups = text(&[group]);
            plan.server.identity = ServerIdentity::Generated { names: text(&[NAME]), key };
            let wire = shaken(plan);
            let agreed = wire.client.agreed().expect("agreed");
            assert_eq!(agreed.version, if is13 { "1.3" } else { "1.2" });
            assert_eq!((agreed.suite, agreed.group), (suite, group));
            assert_eq!(wire.server.agreed(), Some(agreed));
            tried += 1;
        }
    }
    assert_eq!(tried, 3 * 8 + 3 * 4 + 1);
}

#[test]
fn p384_keys_and_one_version_only() {
    for (tls12, tls13, expected) in [(true, false, "1.2"), (false, true, "1.3")] {
        let mut plan = plan();
        (plan.tls12, plan.tls13) = (tls12, tls13);
        plan.server.identity = ServerIdentity::Generated { names: text(&[NAME]), key: KeyKind::EcdsaP384 };
        assert_eq!(shaken(plan).client.agreed().expect("agreed").version, expected);
    }
}

#[test]
fn the_hybrid_is_there_when_asked_for_and_a_wrong_guess_is_asked_again() {
    let mut client = plan();
    client.groups = text(&["X25519MLKEM768"]);
    let asked = shaken(client.clone());
    assert_eq!(asked.client.agreed().expect("agreed").group, "X25519MLKEM768");
    // The client guesses P-384, the server takes X25519 only: HelloRetryRequest (RFC 8446 section 4.1.4).
    client.groups = text(&["secp384r1", "x25519"]);
    let mut server = plan();
    server.groups = text(&["x25519"]);
    let mut wire = Wire::new(
        sides(client).client().expect("a client").start(Nanos::ZERO, 0),
        sides(server).server().expect("a server").start(Nanos::ZERO, 0),
    );
    wire.run().expect("a handshake");
    assert_eq!(wire.client.agreed().expect("agreed").group, "X25519");
}

#[test]
fn sessions_are_resumed() {
    for (tls12, version) in [(true, "1.2"), (false, "1.3")] {
        let mut plan = plan();
        (plan.tls12, plan.tls13) = (tls12, !tls12);
        plan.client.resumption = Some(4);
        plan.server.tickets = 2;
        let sides = sides(plan);
        let mut client = sides.client().expect("a client");
        for number in 0..6 {
            // Each from a worker of its own: a ticket of one is taken by all.
            let mut server = sides.server().expect("a server");
            let mut wire = Wire::new(client.start(Nanos::ZERO, number), server.start(Nanos::ZERO, number));
            wire.run().expect("a handshake");
            let agreed = wire.client.agreed().expect("agreed");
            assert_eq!((agreed.version, agreed.resumed), (version, number > 0), "flow {number}");
            assert_eq!(wire.server.agreed().expect("agreed").resumed, number > 0);
        }
        let mut another = sides.client().expect("a client");
        let mut server = sides.server().expect("a server");
        let mut wire = Wire::new(another.start(Nanos::ZERO, 0), server.start(Nanos::ZERO, 0));
        wire.run().expect("a handshake");
        assert!(!wire.client.agreed().expect("agreed").resumed, "workers share no sessions");
    }
}

#[test]
fn nothing_is_resumed_if_one_side_does_not_want_to() {
    for (kept, tickets) in [(None, 2), (Some(0), 2), (Some(10), 0)] {
        for tls13 in [false, true] {
            let mut plan = plan();
            (plan.tls12, plan.tls13) = (!tls13, tls13);
            plan.client.resumption = kept;
            plan.server.tickets = tickets;
            let sides = sides(plan);
            let mut client = sides.client().expect("a client");
            let mut server = sides.server().expect("a server");
            for number in 0..3 {
                let mut wire =
                    Wire::new(client.start(Nanos::ZERO, number), server.start(Nanos::ZERO, number));
                wire.run().expect("a handshake");
                assert!(!wire.client.agreed().expect("agreed").resumed);
            }
        }
    }
}

#[test]
fn no_more_sessions_are_kept_than_asked_for() {
    let mut plan = plan();
    plan.tls12 = false;
    plan.client.resumption = Some(3);
    plan.client.server_name = Some(Content {
        parts: vec![Part::Decimal(Values::SESSION, 1), Part::Bytes(b".server.test"[..].into())],
    });
    plan.server.tickets = 1;
    let sides = sides(plan);
    let mut client = sides.client().expect("a client");
    let mut server = sides.server().expect("a server");
    let mut resumed = |number| {
        let mut wire = Wire::new(client.start(Nanos::ZERO, number), server.start(Nanos::ZERO, number));
        wire.run().expect("a handshake");
        wire.client.agreed().expect("agreed").resumed
    };
    assert!((0..5).all(|name| !resumed(name)));
    // The last three are known. What is resumed is renewed.
    assert_eq!([2, 3, 4, 4, 0, 1].map(&mut resumed), [true, true, true, true, false, false]);
}

/// The server's name in a client's first flight (RFC 6066 section 3), located by the bytes before it.
fn said_name(flow: &mut dyn Secure) -> Option<String> {
    let mut hello = Vec::new();
    flow.take_output(&mut hello);
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + usize::from(hello[at]);
    at += 2 + usize::from(u16::from_be_bytes([hello[at], hello[at + 1]]));
    at += 1 + usize::from(hello[at]) + 2;
    while at + 4 <= hello.len() {
        let len = usize::from(u16::from_be_bytes([hello[at + 2], hello[at + 3]]));
        let body = &hello[at + 4..at + 4 + len];
        if hello[at..at + 2] == [0, 0] {
            return Some(String::from_utf8_lossy(&body[5..]).into_owned());
        }
        at += 4 + len;
    }
    None
}

#[test]
fn the_servers_name_follows_the_flows_number() {
    let items: Arc<[Arc<[u8]>]> = Arc::new([b"a.test"[..].into(), b"b.test"[..].into()]);
    let listed = |order| Part::List { items: items.clone(), order, by: By::Session };
    let numbered = vec![
        Part::Bytes(b"h"[..].into()),
        Part::Decimal(Values::Range { first: 7, step: 1, count: 2, by: By::Session }, 3),
        Part::Bytes(b".test"[..].into()),
    ];
    let cases = [
        (Some(vec![Part::Bytes(b"one.test"[..].into())]), [Some("one.test"); 3]),
        (Some(vec![listed(SelectionOrder::Sequential)]), [Some("a.test"), Some("b.test"), Some("a.test")]),
        (Some(numbered), [Some("h007.test"), Some("h008.test"), Some("h007.test")]),
        (None, [None; 3]),
    ];
    for (parts, expected) in cases {
        let mut plan = plan();
        plan.client.server_name = parts.map(|parts| Content { parts });
        let mut client = sides(plan).client().expect("a client");
        for (number, name) in expected.into_iter().enumerate() {
            assert_eq!(said_name(&mut *client.start(Nanos::ZERO, number as u64)).as_deref(), name);
        }
    }
    let mut plan = plan();
    plan.client.server_name = Some(Content { parts: vec![listed(SelectionOrder::Random { seed: 1 })] });
    let mut client = sides(plan).client().expect("a client");
    let mut names: Vec<_> =
        (0..64).map(|number| said_name(&mut *client.start(Nanos::ZERO, number))).collect();
    names.sort();
    names.dedup();
    assert_eq!(names, [Some("a.test".to_owned()), Some("b.test".to_owned())]);
}

#[test]
fn a_flow_whose_name_is_none_fails_alone() {
    let items: Arc<[Arc<[u8]>]> = Arc::new([b"a.test"[..].into(), b"not a name"[..].into()]);
    let mut plan = plan();
    plan.client.server_name = Some(Content {
        parts: vec![Part::List { items, order: SelectionOrder::Sequential, by: By::Session }],
    });
    let mut client = sides(plan).client().expect("a client");
    let mut flow = client.start(Nanos::ZERO, 1);
    flow.send(b"x");
    flow.close();
    let mut out = Vec::new();
    flow.take_output(&mut out);
    assert!(out.is_empty() && flow.agreed().is_none() && !flow.peer_closed());
    let error = flow.receive(Nanos::ZERO, b"x", &mut Vec::new()).expect_err("no name");
    assert!(matches!(error, SecureError::Protocol(reason) if reason.contains("not a name")));
}

#[test]
fn generated_certificates_can_be_verified() {
    let mut trusting = plan();
    trusting.client.verify = TlsVerify::Generated;
    shaken(trusting.clone());
    // Without a name in the handshake the one it was made for is verified.
    trusting.client.server_name = None;
    shaken(trusting.clone());
    trusting.server.identity = ServerIdentity::Generated { names: Vec::new(), key: KeyKind::EcdsaP256 };
    shaken(trusting.clone());
    trusting.client.server_name = Some(Content::bytes("another.test"));
    assert_eq!(
        trouble(trusting),
        [
            Trouble::Client(certificate("not valid for name")),
            Trouble::Server(SecureError::AlertReceived("bad_certificate")),
        ]
    );
}

#[test]
fn bad_certificates_are_called_by_their_fault() {
    let authority = Authority::new("good");
    let other = Authority::new("other");
    let mut start = plan();
    start.client.verify = TlsVerify::Roots(authority.pem.clone());
    let with = |identity: Identity| {
        let mut plan = start.clone();
        plan.server.identity = ServerIdentity::Given(identity);
        plan
    };
    shaken(with(authority.signs(NAME, |_| {})));
    let cases = [
        (other.signs(NAME, |_| {}), "unknown issuer", "unknown_ca"),
        (authority.signs("x.test", |_| {}), "not valid for name", "bad_certificate"),
        (
            authority.signs(NAME, |it| it.not_after = rcgen::date_time_ymd(2020, 1, 1)),
            "expired",
            "certificate_expired",
        ),
        (
            authority.signs(NAME, |it| it.not_before = rcgen::date_time_ymd(4000, 1, 1)),
            "not valid yet",
            "certificate_expired",
        ),
        (
            authority
                .signs(NAME, |it| it.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth]),
            "invalid purpose",
            "unsupported_certificate",
        ),
    ];
    for (identity, reason, alert) in cases {
        for tls13 in [true, false] {
            let mut plan = with(identity.clone());
            plan.tls13 = tls13;
            let expected =
                [Trouble::Client(certificate(reason)), Trouble::Server(SecureError::AlertReceived(alert))];
            assert_eq!(trouble(plan), expected);
        }
        // Nobody asks.
        let mut plan = with(identity);
        plan.client.verify = TlsVerify::Off;
        shaken(plan);
    }
}

/// Carries a handshake of TLS 1.3 in which the server's certificate is another of the same size than its key's: the
/// signature over the handshake is wrong.
fn shaken_by_an_impostor(verify: TlsVerify) -> Result<(), Vec<Trouble>> {
    let (own, other) = (KeyPair::generate().expect("a key"), KeyPair::generate().expect("a key"));
    let parameters = CertificateParams::new(vec![NAME.to_owned()]).expect("parameters");
    let certificate = parameters.self_signed(&other).expect("a certificate");
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = PrivateKeyDer::try_from(own.serialize_der()).expect("a key");
    let key = provider.key_provider.load_private_key(key).expect("a key");
    let certified = CertifiedKey::new(vec![certificate.der().clone()], key);
    let mut server = rustls::ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    server.send_tls13_tickets = 0;
    let mut server = rustls::ServerConnection::new(Arc::new(server)).expect("a server");
    let mut plan = plan();
    plan.client.verify = verify;
    let mut client = sides(plan).client().expect("a client").start(Nanos::ZERO, 0);
    for _ in 0..2 {
        let mut bytes = Vec::new();
        client.take_output(&mut bytes);
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            server.read_tls(&mut left).expect("read");
            server.process_new_packets().expect("TLS");
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("written");
        }
        client.receive(Nanos::ZERO, &bytes, &mut Vec::new()).map_err(|error| vec![Trouble::Client(error)])?;
    }
    assert!(client.agreed().is_some() && !server.is_handshaking());
    Ok(())
}

#[test]
fn a_wrong_signature_passes_only_where_nothing_is_verified() {
    assert_eq!(shaken_by_an_impostor(TlsVerify::Nothing), Ok(()));
    let refused = shaken_by_an_impostor(TlsVerify::Off).expect_err("a wrong signature");
    assert_eq!(refused, [Trouble::Client(certificate("bad signature"))]);
}

#[test]
fn each_secret_is_logged_once() {
    let secrets_13 = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    for (tls13, labels) in [(true, secrets_13.as_slice()), (false, &["CLIENT_RANDOM"])] {
        let mut of_sides = Vec::new();
        for by_clients in [true, false] {
            let lines = Arc::new(Mutex::new(Vec::new()));
            let taken = lines.clone();
            let log = tls::KeyLog::new(move |line| taken.lock().expect("a lock").push(line));
            let mut plan = plan();
            plan.tls13 = tls13;
            Wire::between(&sides(plan).logged(log, by_clients)).run().expect("a handshake");
            let mut lines = lines.lock().expect("a lock").clone();
            lines.sort();
            let found: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(found, labels, "by clients: {by_clients}");
            of_sides.push(lines);
        }
        assert_ne!(of_sides[0], of_sides[1], "each handshake has others");
    }
}

#[test]
fn a_trusted_certificate_may_be_the_servers_own() {
    let (own, other) = (Authority::of("own", &[NAME]), Authority::of("other", &[NAME]));
    let old = Authority::changed("old", &[NAME], |it| it.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let elsewhere = Authority::of("elsewhere", &["x.test"]);
    let between = |server: &Authority, trusted: &Authority, tls13| {
        let mut plan = plan();
        plan.tls13 = tls13;
        plan.client.verify = TlsVerify::Roots(trusted.pem.clone());
        plan.server.identity = ServerIdentity::Given(server.itself());
        plan
    };
    for tls13 in [true, false] {
        shaken(between(&own, &own, tls13));
        for (server, trusted, reason) in [
            (&own, &other, "an authority's, not a server's"),
            (&old, &old, "expired"),
            (&elsewhere, &elsewhere, "not valid for name"),
        ] {
            let found = trouble(between(server, trusted, tls13));
            assert_eq!(found.first(), Some(&Trouble::Client(certificate(reason))), "{reason}");
        }
    }
}

#[test]
fn clients_show_certificates_when_asked() {
    let authority = Authority::new("good");
    let other = Authority::new("other");
    for tls13 in [true, false] {
        let mut plan = plan();
        plan.tls13 = tls13;
        plan.server.client_roots = Some(authority.pem.clone());
        plan.client.identity = Some(authority.signs("client.test", |_| {}));
        shaken(plan.clone());
        plan.client.identity = Some(other.signs("client.test", |_| {}));
        assert_eq!(trouble(plan.clone())[0], Trouble::Server(certificate("unknown issuer")));
        plan.client.identity = None;
        let troubles = trouble(plan);
        assert_eq!(troubles[0], Trouble::Server(certificate("none presented")));
        // The library says it in TLS 1.2 too, where RFC 5246 section 7.4.6 has `handshake_failure`.
        assert_eq!(troubles[1], Trouble::Client(SecureError::AlertReceived("certificate_required")));
    }
}

#[test]
fn nothing_in_common_is_an_alert() {
    let pair = |change_client: fn(&mut TlsPlan), change_server: fn(&mut TlsPlan)| {
        let (mut client, mut server) = (plan(), plan());
        change_client(&mut client);
        change_server(&mut server);
        let mut wire = Wire::new(
            sides(client).client().expect("a client").start(Nanos::ZERO, 0),
            sides(server).server().expect("a server").start(Nanos::ZERO, 0),
        );
        let troubles = wire.run().expect_err("no handshake");
        let own = SecureError::NothingCommon("ALPN: no common application protocol");
        let is_own = matches!(&troubles[0], Trouble::Server(SecureError::Protocol(_)));
        assert!(is_own || troubles[0] == Trouble::Server(own), "{troubles:?}");
        assert!(wire.client.agreed().is_none() && wire.server.agreed().is_none());
        let alert = troubles.iter().find_map(|trouble| match trouble {
            Trouble::Client(SecureError::AlertReceived(why) | SecureError::NothingCommon(why)) => Some(*why),
            _ => None,
        });
        alert.unwrap_or_else(|| panic!("{troubles:?}"))
    };
    assert_eq!(pair(|it| it.tls12 = false, |it| it.tls13 = false), "protocol_version");
    assert_eq!(
        pair(
            |it| it.suites = text(&["TLS_AES_128_GCM_SHA256"]),
            |it| it.suites = text(&["TLS_AES_256_GCM_SHA384"])
        ),
        "handshake_failure"
    );
    assert_eq!(
        pair(|it| it.groups = text(&["x25519"]), |it| it.groups = text(&["secp256r1"])),
        "handshake_failure"
    );
    assert_eq!(
        pair(|it| it.alpn = text(&["h2"]), |it| it.alpn = text(&["http/1.1"])),
        "ALPN: the other end supports none of the application protocols"
    );
}

#[test]
fn application_protocols_are_agreed_upon() {
    let mut plan = plan();
    plan.alpn = text(&["h2", "http/1.1"]);
    shaken(plan);
}

#[test]
fn a_plan_that_cannot_be_is_refused_in_words() {
    let refused = |change: fn(&mut TlsPlan)| {
        let mut plan = plan();
        change(&mut plan);
        let sides = sides(plan);
        let error = sides.client().err().or_else(|| sides.server().err()).expect("refused");
        (error.to_string(), error)
    };
    let (said, error) = refused(|it| it.suites = text(&["TLS_RSA_WITH_RC4_128_MD5"]));
    assert!(matches!(error, TlsError::UnknownSuite { .. }));
    assert!(
        said.starts_with("no TLS suite is called 'TLS_RSA_WITH_RC4_128_MD5'; there are TLS_AES_"),
        "{said}"
    );
    assert!(said.contains("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"));
    let (said, _) = refused(|it| it.groups = text(&["x448"]));
    assert_eq!(
        said,
        "no key exchange group is called 'x448'; there are X25519, secp256r1, secp384r1, X25519MLKEM768, \
         SecP256r1MLKEM768, MLKEM768, MLKEM1024, secp521r1"
    );
    let (said, _) = refused(|it| {
        it.tls13 = false;
        it.suites = text(&["TLS_AES_128_GCM_SHA256"]);
        it.groups = text(&["x25519"]);
    });
    assert_eq!(said, "nothing can be agreed upon: TLS 1.2, suites TLS_AES_128_GCM_SHA256, groups X25519");
    let (said, _) = refused(|it| (it.tls12, it.tls13) = (false, false));
    assert!(said.starts_with("nothing can be agreed upon: TLS none, suites"), "{said}");
    let (said, _) = refused(|it| it.client.server_name = Some(Content::bytes("not a name")));
    assert_eq!(said, "'not a name' is neither a host name nor an address");
    let (said, _) = refused(|it| {
        it.client.server_name = None;
        it.client.verify = TlsVerify::Roots(Authority::new("x").pem);
    });
    assert_eq!(said, "a server's certificate can't be verified without the server's name");
    let (said, _) = refused(|it| it.alpn = text(&[""]));
    assert_eq!(said, "the application protocol '' must have 1 to 255 bytes");
    let (said, _) = refused(|it| it.client.verify = TlsVerify::Roots(b"-----".as_slice().into()));
    assert_eq!(said, "the roots of servers: there is no certificate in it (PEM)");
    let (said, _) = refused(|it| {
        it.server.client_roots =
            Some(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".as_slice().into());
    });
    assert!(said.starts_with("the roots of clients: "), "{said}");
    let given = |chain: &[u8], key: &[u8]| Identity { chain: chain.into(), key: key.into() };
    let mut broken = plan();
    let good = Authority::new("x").signs(NAME, |_| {});
    for (identity, expected) in [
        (given(b"", b""), "the server's certificate: there is no certificate in it (PEM)"),
        (
            given(&good.chain, b""),
            "the private key: there is no private key in it (PEM: PKCS#8, PKCS#1 or SEC1)",
        ),
        (given(&good.chain[..100], &good.key), "the server's certificate: its END line is missing (PEM)"),
        (
            given(&good.chain, &Authority::new("x").signs(NAME, |_| {}).key),
            "the server's certificate: the private key is not its key",
        ),
    ] {
        broken.server.identity = ServerIdentity::Given(identity);
        assert_eq!(sides(broken.clone()).server().err().expect("refused").to_string(), expected);
    }
    broken.server.identity = ServerIdentity::Given(good);
    broken.client.verify = TlsVerify::Generated;
    assert_eq!(sides(broken).client().err().expect("refused"), TlsError::NothingGenerated);
}

#[test]
fn ends_are_said_and_heard() {
    for tls13 in [true, false] {
        let mut plan = plan();
        plan.tls13 = tls13;
        let mut wire = Wire::between(&sides(plan));
        // Closed before the handshake: what was said before comes first.
        wire.client.send(b"all there is");
        wire.client.close();
        wire.client.send(b"too late");
        wire.run().expect("a handshake");
        assert_eq!(wire.server_got, b"all there is");
        assert!(wire.server.peer_closed() && !wire.client.peer_closed());
        // The other direction is still open, and this side may say it twice.
        wire.server.send(b"an answer");
        wire.server.close();
        wire.server.close();
        wire.run().expect("an end");
        assert_eq!(wire.client_got, b"an answer");
        assert!(wire.client.peer_closed());
        // What comes after the end is ignored.
        wire.client.receive(Nanos::ZERO, b"garbage", &mut wire.client_got).expect("ignored");
        assert_eq!(wire.client_got, b"an answer");
    }
}

#[test]
fn garbage_is_no_tls() {
    let sides = sides(plan());
    for mut flow in [
        sides.client().expect("a client").start(Nanos::ZERO, 0),
        sides.server().expect("a server").start(Nanos::ZERO, 0),
    ] {
        let mut plain = Vec::new();
        let error = flow.receive(Nanos::ZERO, b"GET / HTTP/1.1\r\n\r\n", &mut plain).expect_err("no TLS");
        assert!(matches!(error, SecureError::Protocol(_)), "{error:?}");
        // It stays failed, with the same reason, and owes an alert.
        assert_eq!(flow.receive(Nanos::ZERO, b"x", &mut plain), Err(error));
        let mut out = Vec::new();
        flow.take_output(&mut out);
        assert_eq!(out[out.len() - 7..][..5], [21, 3, 3, 0, 2], "an alert");
        flow.send(b"x");
        flow.close();
        assert!(plain.is_empty() && flow.agreed().is_none());
    }
}

#[test]
fn a_changed_byte_is_found() {
    let mut wire = shaken(plan());
    wire.client.send(b"good");
    let mut bytes = Vec::new();
    wire.client.take_output(&mut bytes);
    wire.client.send(b"bad");
    wire.client.take_output(&mut bytes);
    *bytes.last_mut().expect("bytes") ^= 1;
    let error = wire.server.receive(Nanos::ZERO, &bytes, &mut wire.server_got).expect_err("changed");
    assert!(matches!(error, SecureError::Protocol(_)), "{error:?}");
    assert_eq!(wire.server_got, b"good");
    assert_eq!(wire.run(), Err(vec![Trouble::Client(SecureError::AlertReceived("bad_record_mac"))]));
}

#[test]
fn much_goes_both_ways() {
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for tls13 in [true, false] {
        let mut plan = plan();
        plan.tls13 = tls13;
        let mut wire = Wire::between(&sides(plan));
        wire.client.send(&bytes);
        wire.server.send(&bytes);
        wire.run_in_chunks(|| 1_448).expect("bytes");
        assert!(wire.client_got == bytes && wire.server_got == bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_do_not_matter(
        chunks in prop::collection::vec(1_usize..3_000, 1..20),
        said in prop::collection::vec(any::<u8>(), 0..40_000),
        tls13 in any::<bool>(),
    ) {
        let mut plan = plan();
        plan.tls13 = tls13;
        let mut wire = Wire::between(&sides(plan));
        wire.client.send(&said);
        wire.server.send(&said);
        wire.server.close();
        let mut turns = chunks.iter().cycle();
        wire.run_in_chunks(|| *turns.next().expect("endless")).expect("bytes");
        prop_assert_eq!(&wire.client_got, &said);
        prop_assert_eq!(&wire.server_got, &said);
        prop_assert!(wire.client.peer_closed());
    }

    #[test]
    fn random_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        record in prop::option::of((20_u8..25, any::<u16>())),
        cut in 0_usize..6,
    ) {
        let mut wire = Wire::between(&sides(plan()));
        // Some steps of a good handshake, then nonsense, with or without the head of a record.
        for step in 0..cut {
            let mut out = Vec::new();
            let (from, to) =
                if step % 2 == 0 { (&mut wire.client, &mut wire.server) } else { (&mut wire.server, &mut wire.client) };
            from.take_output(&mut out);
            to.receive(Nanos::ZERO, &out, &mut Vec::new()).expect("good so far");
        }
        let mut nonsense = Vec::new();
        if let Some((kind, version)) = record {
            nonsense.push(kind);
            nonsense.extend_from_slice(&(0x0300 | (version & 3)).to_be_bytes());
            nonsense.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        }
        nonsense.extend_from_slice(&bytes);
        let mut plain = Vec::new();
        for flow in [&mut wire.client, &mut wire.server] {
            let _ = flow.receive(Nanos::ZERO, &nonsense, &mut plain);
            let _ = flow.receive(Nanos::ZERO, &nonsense, &mut plain);
            flow.send(b"x");
            flow.close();
            flow.take_output(&mut Vec::new());
        }
        prop_assert!(plain.is_empty());
    }

    #[test]
    fn changed_handshakes_are_survived(at in any::<prop::sample::Index>(), by in 1_u8.., turn in 0_usize..4, tls13 in any::<bool>()) {
        let mut plan = plan();
        plan.tls13 = tls13;
        let mut wire = Wire::between(&sides(plan));
        for step in 0..6 {
            let mut out = Vec::new();
            let (from, to) =
                if step % 2 == 0 { (&mut wire.client, &mut wire.server) } else { (&mut wire.server, &mut wire.client) };
            from.take_output(&mut out);
            if step == turn && !out.is_empty() {
                let at = at.index(out.len());
                out[at] ^= by;
            }
            let _ = to.receive(Nanos::ZERO, &out, &mut Vec::new());
        }
    }
}
