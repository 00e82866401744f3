//! Packets of sender and reflector (RFC 8762 sections 4.2 and 4.3), all numbers in network byte order.

use crate::form::{AUTHENTICATED_BASE, Form, Layout};
use crate::time::ErrorEstimate;

/// Octets of a packet without extensions, of either side, in unauthenticated mode.
pub const BASE: usize = 44;
/// Octets of the shortest packet of a TWAMP Light sender (RFC 5357 section 4.1.2), which has no field behind the error estimate.
pub const SHORTEST_REQUEST: usize = 14;

/// Fields of a sender's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Number of the packet in its session, from 0.
    pub number: u32,
    /// Time of departure, T1, as it is on the wire.
    pub sent: u64,
    /// The sender's clock.
    pub error: ErrorEstimate,
    /// Identifier of the session (RFC 8972 section 3); 0 is none.
    pub ssid: u16,
}

impl Request {
    /// Reads one; `None` if it is too short. The SSID is in what TWAMP Light has as padding.
    pub fn read(packet: &[u8], form: &Form) -> Option<Self> {
        let layout = form.layout();
        (packet.len() >= layout.shortest_request)
            .then(|| Self::fields(packet, 0, layout.sent, layout.sent + 10))
    }

    fn fields(packet: &[u8], number: usize, sent: usize, ssid: usize) -> Self {
        Self {
            number: u32_at(packet, number),
            sent: u64_at(packet, sent),
            error: ErrorEstimate::read(u16_at(packet, sent + 8)),
            ssid: u16_at(packet, ssid),
        }
    }

    /// Writes the fields into the first [`Form::base`] octets.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn write(&self, packet: &mut [u8], form: &Form) {
        let Layout { base, sent, .. } = *form.layout();
        packet[..base].fill(0);
        put(packet, 0, &self.number.to_be_bytes());
        put(packet, sent, &self.sent.to_be_bytes());
        put(packet, sent + 8, &self.error.write().to_be_bytes());
        put(packet, sent + 10, &self.ssid.to_be_bytes());
        form.seal(packet);
    }
}

/// Fields of a reflector's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The reflector's number in stateful mode, the sender's in stateless mode.
    pub number: u32,
    /// Time of departure, T3, as it is on the wire.
    pub sent: u64,
    /// The reflector's clock.
    pub error: ErrorEstimate,
    /// Copy of the request's.
    pub ssid: u16,
    /// Time of the request's arrival, T2, as it is on the wire.
    pub came: u64,
    /// The request.
    pub request: Request,
    /// TTL, or hop limit, with which the request came. TWAMP Light reflectors may leave it out.
    pub hops: Option<u8>,
}

impl Reply {
    /// Reads one; `None` if it is too short.
    pub fn read(packet: &[u8], form: &Form) -> Option<Self> {
        let layout = form.layout();
        if packet.len() < layout.shortest_reply {
            return None;
        }
        let ssid = layout.sent + 10;
        let Request { number, sent, error, ssid: _ } = Request::fields(packet, 0, layout.sent, ssid);
        let request = Request::fields(packet, layout.request_number, layout.request_sent, ssid);
        let (came, hops) = (u64_at(packet, layout.came), packet.get(layout.hops).copied());
        Some(Self { number, sent, error, ssid: request.ssid, came, request, hops })
    }

    /// Writes the fields into the first [`Form::base`] octets, or as many as there are, without the code of authenticated mode, which
    /// [`Reply::depart`] writes.
    pub fn write(&self, packet: &mut [u8], form: &Form) {
        let layout = form.layout();
        let mut all = [0; AUTHENTICATED_BASE];
        let base = &mut all[..layout.base];
        put(base, 0, &self.number.to_be_bytes());
        put(base, layout.sent, &self.sent.to_be_bytes());
        put(base, layout.sent + 8, &self.error.write().to_be_bytes());
        put(base, layout.sent + 10, &self.ssid.to_be_bytes());
        put(base, layout.came, &self.came.to_be_bytes());
        put(base, layout.request_number, &self.request.number.to_be_bytes());
        put(base, layout.request_sent, &self.request.sent.to_be_bytes());
        put(base, layout.request_sent + 8, &self.request.error.write().to_be_bytes());
        base[layout.hops] = self.hops.unwrap_or(0);
        let length = packet.len().min(layout.base);
        packet[..length].copy_from_slice(&base[..length]);
    }

    /// Writes T3, which is known last, and the code of authenticated mode.
    pub fn depart(packet: &mut [u8], sent: u64, form: &Form) {
        put(packet, form.layout().sent, &sent.to_be_bytes());
        form.seal(packet);
    }
}

fn put(packet: &mut [u8], at: usize, bytes: &[u8]) {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The octets at a place; zeros behind the end, as for padding that a TWAMP Light sender left out.
fn octets<const N: usize>(packet: &[u8], at: usize) -> [u8; N] {
    packet.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u16_at(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(octets(packet, at))
}

fn u32_at(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets(packet, at))
}

pub(crate) fn u64_at(packet: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(octets(packet, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Key;
    use crate::time::Format;

    #[test]
    fn fields_are_where_the_rfc_has_them() {
        let request = Request {
            number: 0x0102_0304,
            sent: 0x1112_1314_1516_1718,
            error: ErrorEstimate::of(None, Format::Ptp),
            ssid: 0x2122,
        };
        let mut packet = [0xff; BASE];
        request.write(&mut packet, &Form::Open);
        assert_eq!(&packet[..16], b"\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18\x7f\xff\x21\x22");
        assert_eq!(packet[16..], [0; 28]);
        assert_eq!(Request::read(&packet, &Form::Open), Some(request));
        assert_eq!(Request::read(&packet[..13], &Form::Open), None);
        assert_eq!(Request::read(&packet[..14], &Form::Open), Some(Request { ssid: 0, ..request }));
        let reply = Reply {
            number: 7,
            sent: 0x3132_3334_3536_3738,
            error: ErrorEstimate::read(0x8001),
            ssid: 0x2122,
            came: 0x4142_4344_4546_4748,
            request,
            hops: Some(63),
        };
        let mut packet = [0xff; 48];
        reply.write(&mut packet, &Form::Open);
        assert_eq!(packet[..16], *b"\0\0\0\x0712345678\x80\x01\x21\x22");
        assert_eq!(packet[16..40], *b"ABCDEFGH\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18\x7f\xff\0\0");
        assert_eq!(packet[40..], *b"\x3f\0\0\0\xff\xff\xff\xff");
        assert_eq!(Reply::read(&packet, &Form::Open), Some(reply));
        assert_eq!(Reply::read(&packet[..38], &Form::Open), Some(Reply { hops: None, ..reply }));
        assert_eq!(Reply::read(&packet[..37], &Form::Open), None);
    }

    #[test]
    fn fields_of_authenticated_mode_are_where_the_rfc_has_them() {
        let form = Form::Authenticated(Key::new(b"0123456789abcdef").unwrap());
        let error = ErrorEstimate::read(0x8001);
        let request = Request { number: 0x0102_0304, sent: 0x1112_1314_1516_1718, error, ssid: 0x2122 };
        let mut packet = [0xff; AUTHENTICATED_BASE];
        request.write(&mut packet, &form);
        let expected = [
            &b"\x01\x02\x03\x04"[..],
            &[0; 12],
            b"\x11\x12\x13\x14\x15\x16\x17\x18\x80\x01\x21\x22",
            &[0; 68],
        ]
        .concat();
        assert_eq!((&packet[..96], form.is_authentic(&packet)), (&expected[..], true));
        assert_eq!(Request::read(&packet, &form), Some(request));
        assert_eq!(Request::read(&packet[..111], &form), None);
        let (sent, came) = (0x3132_3334_3536_3738, 0x4142_4344_4546_4748);
        let reply = Reply { number: 7, sent, error, ssid: 0x2122, came, request, hops: Some(63) };
        reply.write(&mut packet, &form);
        Reply::depart(&mut packet, sent, &form);
        let times =
            [&b"\0\0\0\x07"[..], &[0; 12], b"12345678\x80\x01\x21\x22", &[0; 4], b"ABCDEFGH", &[0; 8]]
                .concat();
        assert_eq!(packet[..48], times);
        let copies = [
            &b"\x01\x02\x03\x04"[..],
            &[0; 12],
            b"\x11\x12\x13\x14\x15\x16\x17\x18\x80\x01",
            &[0; 6],
            b"\x3f",
            &[0; 15],
        ]
        .concat();
        assert_eq!(packet[48..96], copies);
        assert_eq!((Reply::read(&packet, &form), form.is_authentic(&packet)), (Some(reply), true));
    }
}
