//! Authentication of clients: PAP (RFC 1334), CHAP (RFC 1994), MS-CHAP version 2 (RFC 2759).

use super::PppoeClients;
use crate::pppoe::client::{Exchange, PppoeFailure, PppoeMethod, State};
use crate::pppoe::negotiation::REQUESTS_MAX;
use crate::pppoe::packet::{Control, code, protocol};
use crate::pppoe::secret::{MS_CHALLENGE, chap_md5, ms_proof, ms_response};
use units::Nanos;

/// LCP's option for each method (RFC 1661 section 6.2, RFC 1994 section 3, RFC 2759 section 2).
pub(super) fn option(method: PppoeMethod) -> &'static [u8] {
    match method {
        PppoeMethod::Pap => &[0xc0, 0x23],
        PppoeMethod::ChapMd5 => &[0xc2, 0x23, 5],
        PppoeMethod::MsChapV2 => &[0xc2, 0x23, 0x81],
    }
}

impl PppoeClients {
    /// Starts authentication, repeats a message without a reply, or gives up.
    pub(super) fn authenticate(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        if client.sent >= REQUESTS_MAX {
            self.fail(now, index, PppoeFailure::Authentication);
            return;
        }
        let is_again = client.sent > 0;
        client.sent += 1;
        let method = client.method;
        let wait = self.patience(1);
        self.clients[index as usize].timer = now.saturating_add(wait);
        if method == Some(PppoeMethod::Pap) {
            self.counts.repeated += u64::from(is_again);
            self.request(index);
        } else if is_again && self.clients[index as usize].challenge().is_some() {
            // RFC 1994 section 4.2: the answer may have been lost, and a response is answered again.
            self.counts.repeated += 1;
            self.respond(index);
        }
    }

    /// PAP's Authenticate-Request, with another identifier each time (RFC 1334 section 2.2.1).
    fn request(&mut self, index: u32) {
        let client = &mut self.clients[index as usize];
        client.id = client.id.wrapping_add(1);
        let id = client.id;
        let (user, password) = self.credentials(index);
        let mut data = Vec::new();
        for text in [user, password] {
            let text = &text.as_bytes()[..text.len().min(u8::MAX.into())];
            data.push(text.len() as u8);
            data.extend(text);
        }
        self.say(index, protocol::PAP, Control { code: code::PAP_REQUEST, id, data: &data });
    }

    /// CHAP's Response to the last challenge.
    fn respond(&mut self, index: u32) {
        let client = &self.clients[index as usize];
        let Some((id, challenge)) = client.challenge() else { return };
        let (user, password) = self.credentials(index);
        let mut data = Vec::new();
        if client.method == Some(PppoeMethod::MsChapV2) {
            let Some(challenge) = challenge.first_chunk::<MS_CHALLENGE>() else { return };
            let response = ms_response(&user, &password, challenge, &self.own_challenge(index, id));
            data.push(response.len() as u8);
            data.extend(response);
        } else {
            data.push(16);
            data.extend(chap_md5(id, password.as_bytes(), challenge));
        }
        data.extend(user.as_bytes());
        self.say(index, protocol::CHAP, Control { code: code::RESPONSE, id, data: &data });
    }

    /// A client's challenge to its peer (RFC 2759 section 4): the same on every call.
    fn own_challenge(&self, index: u32, id: u8) -> [u8; MS_CHALLENGE] {
        let client = &self.clients[index as usize];
        let number = u64::from(client.uniq) << 32 | u64::from(client.magic);
        random::wide_word(random::other_key(self.key), number ^ u64::from(id)).to_be_bytes()
    }

    /// Takes a message of PAP.
    pub(super) fn hear_pap(&mut self, now: Nanos, index: u32, packet: &Control<'_>) -> bool {
        let client = &self.clients[index as usize];
        let is_answer = client.method == Some(PppoeMethod::Pap)
            && client.state == State::Authenticating
            && client.id == packet.id;
        match packet.code {
            code::PAP_ACK if is_answer => self.let_in(now, index),
            code::PAP_NAK if is_answer => {
                self.note(packet.data.get(1..).unwrap_or_default());
                self.fail(now, index, PppoeFailure::Authentication);
            }
            _ => return false,
        }
        true
    }

    /// Takes a message of CHAP. A challenge may come at any time (RFC 1994 section 2).
    pub(super) fn hear_chap(&mut self, now: Nanos, index: u32, packet: &Control<'_>) -> bool {
        let client = &mut self.clients[index as usize];
        let is_chap = matches!(client.method, Some(PppoeMethod::ChapMd5 | PppoeMethod::MsChapV2));
        let is_open = matches!(client.state, State::Authenticating | State::Networking | State::Up);
        if !is_chap || !is_open {
            return false;
        }
        if packet.code == code::CHALLENGE {
            let Some((len, rest)) = packet.data.split_first() else { return false };
            let Some(challenge) = rest.get(..usize::from(*len)).filter(|one| !one.is_empty()) else {
                return false;
            };
            let exchange = client.exchange.get_or_insert_with(|| Box::new(Exchange::default()));
            exchange.challenge = Some((packet.id, challenge.to_vec()));
            self.respond(index);
            let client = &mut self.clients[index as usize];
            if client.state == State::Authenticating {
                client.sent = 1;
            } else if client.state == State::Up && client.method == Some(PppoeMethod::ChapMd5) {
                client.forget_challenge();
            }
            return true;
        }
        let is_answer = client.challenge().is_some_and(|(id, _)| id == packet.id);
        let is_waiting = client.state == State::Authenticating;
        match packet.code {
            code::SUCCESS if is_answer && !self.is_proven(index, packet.data) => {
                self.note(b"the access concentrator does not know the password");
                self.fail(now, index, PppoeFailure::Authentication);
            }
            code::SUCCESS if is_answer && is_waiting => self.let_in(now, index),
            code::SUCCESS if !is_waiting => self.clients[index as usize].forget_challenge(),
            code::FAILURE if is_answer || !is_waiting => {
                self.note(packet.data);
                self.fail(now, index, PppoeFailure::Authentication);
            }
            _ => return false,
        }
        true
    }

    /// Whether `message` proves that the peer knows the password, where the method supports it.
    fn is_proven(&self, index: u32, message: &[u8]) -> bool {
        let client = &self.clients[index as usize];
        let (Some(PppoeMethod::MsChapV2), Some((id, challenge))) = (client.method, client.challenge()) else {
            return true;
        };
        let Some(challenge) = challenge.first_chunk() else { return false };
        let (user, password) = self.credentials(index);
        let proof = ms_proof(&user, &password, challenge, &self.own_challenge(index, id));
        message.to_ascii_uppercase().starts_with(proof.as_bytes())
    }

    fn let_in(&mut self, now: Nanos, index: u32) {
        self.counts.authentication.record(now.since(self.clients[index as usize].entered).0);
        self.start_network(now, index);
    }
}

impl crate::pppoe::client::Client {
    /// An idle client remembers nothing it can do without.
    fn forget_challenge(&mut self) {
        if self.state == State::Up {
            self.exchange = None;
        }
    }

    /// The last challenge, while it is known.
    fn challenge(&self) -> Option<(u8, &[u8])> {
        let (id, challenge) = self.exchange.as_ref()?.challenge.as_ref()?;
        Some((*id, challenge))
    }
}
