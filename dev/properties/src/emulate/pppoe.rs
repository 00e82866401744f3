//! Frames of any bytes to PPPoE clients at each step towards their addresses.

use ::emulate::may_concern;
use ::emulate::pppoe::{PppoeClients, PppoeConfig, PppoeMethod};
use units::Nanos;

const CLIENTS: u32 = 2;
const NOW: Nanos = Nanos::from_secs(10);
/// Rounds of requests and replies until a client is up: discovery, LCP, PAP, IPCP.
const ROUNDS: u8 = 6;
const AC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];

/// Clients that receive a frame continue to send, a limited number at a time, none has another's address, and all end.
pub(super) fn check(how: u8, frame: &[u8]) {
    let (mut clients, _) = clients(how % (ROUNDS + 1));
    let before = clients.up();
    let heard = clients.take(NOW, frame);
    assert!(!heard || may_concern(frame), "took a frame that the filter drops");
    assert!(clients.up().abs_diff(before) <= 1);
    for session in clients.sessions() {
        assert!(!session.ip.is_unspecified() && session.session != 0 && session.client < CLIENTS);
        assert_eq!(clients.session_of(session.ip), Some(session));
    }
    let mut frames = Vec::new();
    (0..40).for_each(|second| clients.poll(Nanos::from_secs(10 + second), &mut frames));
    assert!(
        frames.len() <= 400 && frames.iter().all(|frame| (60..=1_514).contains(&frame.len())),
        "{}",
        frames.len()
    );
    let counts = clients.counts();
    let tallies = clients.views().map(|view| u64::from(view.tally.sessions)).sum::<u64>();
    assert_eq!(tallies, counts.sessions);
    clients.release(Nanos::from_secs(50));
    (50..60).for_each(|second| clients.poll(Nanos::from_secs(second), &mut frames));
    assert!(clients.up() == 0 && clients.next_due() == Nanos::MAX, "all have ended");
}

/// The replies of an access concentrator at each step.
pub(super) fn seeds() -> impl Iterator<Item = Vec<u8>> {
    (0..=ROUNDS)
        .flat_map(|rounds| clients(rounds).1.into_iter().map(move |frame| [&[rounds], &frame[..]].concat()))
}

/// Clients after some rounds, and the next messages to them.
fn clients(rounds: u8) -> (PppoeClients, Vec<Vec<u8>>) {
    let mut clients = PppoeClients::new(PppoeConfig {
        pool: super::pool(CLIENTS),
        retry: Nanos::from_secs(3),
        service: String::new(),
        ac: None,
        user: "u{n}".into(),
        password: "p{n}".into(),
        methods: vec![PppoeMethod::MsChapV2, PppoeMethod::ChapMd5, PppoeMethod::Pap],
        mtu: 1_492,
        dns: false,
        ipv6: false,
        keepalive: Some(Nanos::from_secs(5)),
        keepalive_misses: 3,
        circuit_id: None,
        remote_id: None,
    });
    let mut heard: Vec<Vec<u8>> = Vec::new();
    for round in 0..=rounds {
        let mut asked = Vec::new();
        clients.poll(NOW, &mut asked);
        heard = asked.iter().flat_map(|frame| answers(frame)).collect();
        if round < rounds {
            heard.iter().for_each(|frame| _ = clients.take(NOW, frame));
        }
    }
    (clients, heard)
}

/// An access concentrator's replies to a client's frame.
fn answers(asked: &[u8]) -> Vec<Vec<u8>> {
    let frame = |discovery: bool, code: u8, session: u8, payload: &[u8]| {
        let mut frame = [&asked[6..12], &AC, &[0x88, if discovery { 0x63 } else { 0x64 }]].concat();
        frame.extend([0x11, code, 0, session, 0, payload.len() as u8]);
        frame.extend(payload);
        frame
    };
    let payload = &asked[20..20 + usize::from(u16::from_be_bytes([asked[18], asked[19]]))];
    let say = |bytes: &[u8]| frame(false, 0, 7, bytes);
    match (asked[13], asked[15]) {
        (0x63, 0x09) => {
            vec![frame(true, 0x07, 0, &[payload, &[1, 2, 0, 2, b'a', b'c', 1, 4, 0, 2, 9, 9]].concat())]
        }
        (0x63, 0x19) => vec![frame(true, 0x65, 7, payload)],
        (0x64, _) => {
            let mut back = payload.to_vec();
            match (&payload[..2], payload[2]) {
                ([0xc0, 0x21], 1) => {
                    back[2] = 2;
                    vec![say(&[0xc0, 0x21, 1, 1, 0, 12, 1, 4, 5, 0xd4, 3, 4, 0xc0, 0x23]), say(&back)]
                }
                ([0xc0, 0x23], 1) => vec![say(&[0xc0, 0x23, 2, payload[3], 0, 5, 0])],
                ([0x80, 0x21], 1) if payload[8..12] == [0; 4] => {
                    let nak = [0x80, 0x21, 3, payload[3], 0, 10, 3, 6, 10, 0, 0, 9];
                    vec![say(&nak), say(&[0x80, 0x21, 1, 1, 0, 10, 3, 6, 10, 0, 0, 1])]
                }
                ([0x80, 0x21], 1) => {
                    back[2] = 2;
                    vec![say(&back)]
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_lead_to_an_address() {
        assert_eq!(
            (0..=ROUNDS).map(|rounds| clients(rounds).0.up()).collect::<Vec<_>>(),
            [0, 0, 0, 0, 0, 0, 1]
        );
        assert!(seeds().count() >= usize::from(ROUNDS));
    }
}
