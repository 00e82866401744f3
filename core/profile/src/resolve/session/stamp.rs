//! STAMP: test packets of clients, and reflection of emulated servers.

use super::app::{Resolved, Surroundings};
use crate::document::quantity::Duration;
use crate::document::session::SessionDoc;
use crate::document::stamp::{StampDoc, StampReflectorDoc, StampTimestampsDoc};
use crate::resolve::Resolver;
use session::plan::{AppPlan, STAMP_HEADER, STAMP_PORT, StampForm, StampFormat, StampKey, StampPlan};
use std::sync::Arc;
use units::Nanos;

/// Default number of packets of a session.
const PACKETS: u32 = 10;
const INTERVAL: Nanos = Nanos::from_millis(100);
const WAIT: Nanos = Nanos::from_secs(1);
/// Longest interval and wait: idle flows of UDP end.
const TIME_MAX: Nanos = Nanos::from_secs(10);

impl Resolver<'_> {
    /// `room`: bytes of a datagram at most.
    pub(super) fn stamp(
        &mut self,
        path: &str,
        doc: &StampDoc,
        entry: &SessionDoc,
        room: Option<u64>,
        around: &Surroundings,
    ) -> Resolved {
        let packets = match doc.packets {
            Some(packets) => packets.times(),
            None => Some(PACKETS),
        };
        let usual = entry.request_rate.is_none().then_some(INTERVAL);
        let form = self.stamp_form(path, doc);
        // Of a key that is wrong, the length is unknown.
        let length = form.as_ref().map(|form| self.stamp_length(path, doc, form, room));
        let form = form.unwrap_or_default();
        let plan = StampPlan {
            packets,
            interval: self.stamp_time(&format!("{path}.interval"), doc.interval.as_ref()).or(usual),
            length: length.unwrap_or(form.base()),
            form,
            format: match doc.timestamps {
                StampTimestampsDoc::Ntp => StampFormat::Ntp,
                StampTimestampsDoc::Ptp => StampFormat::Ptp,
            },
            is_stateful: doc.reflector == StampReflectorDoc::Stateful,
            wait: self.stamp_time(&format!("{path}.wait"), doc.wait.as_ref()).unwrap_or(WAIT),
            has_one_clock: around.client && around.server,
        };
        Resolved { app: AppPlan::Stamp(Arc::new(plan)), port: Some(STAMP_PORT) }
    }

    fn stamp_time(&mut self, path: &str, time: Option<&Duration>) -> Option<Nanos> {
        let time = time?.0;
        if time == Nanos::ZERO || time > TIME_MAX {
            self.reading.fail(path, "must be longer than 0, and at most 10s");
        }
        Some(time)
    }

    fn stamp_length(&mut self, path: &str, doc: &StampDoc, form: &StampForm, room: Option<u64>) -> usize {
        let base = form.base() as u64;
        let Some(size) = doc.size.as_ref().map(|size| size.0) else { return form.base() };
        let (least, most) = (base + STAMP_HEADER as u64, room.unwrap_or(u16::MAX.into()));
        if size != base && !(least..=most).contains(&size) {
            let key = if *form == StampForm::Open { "without" } else { "with" };
            let reason = format!(
                "{key} a key a test packet has {base}B, or from {least}B to {most}B with Extra Padding"
            );
            self.reading.fail(format!("{path}.size"), reason);
        }
        size.clamp(base, most.max(base)) as usize
    }

    /// The form of packets; `None` if something is wrong with the key.
    fn stamp_form(&mut self, path: &str, doc: &StampDoc) -> Option<StampForm> {
        let (at, octets) = match (&doc.key, &doc.key_file) {
            (Some(_), Some(_)) => {
                self.reading.fail(format!("{path}.key_file"), "does not go with 'key'; remove one of them");
                return None;
            }
            (Some(key), None) => (format!("{path}.key"), Some(key.0.clone())),
            (None, Some(name)) => {
                let at = format!("{path}.key_file");
                let text = self.file(&at, name)?;
                (at, octets(&text))
            }
            (None, None) => return Some(StampForm::Open),
        };
        let key = octets.and_then(|octets| StampKey::new(&octets));
        if key.is_none() {
            let reason =
                "a key has 32 to 128 hexadecimal digits, two for each byte; 'openssl rand -hex 32' makes one";
            self.reading.fail(at, reason);
        }
        key.map(StampForm::Authenticated)
    }
}

/// Bytes of a text of hexadecimal digits, two for each.
fn octets(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = text.trim_ascii().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let octet = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    if rest.is_empty() { pairs.iter().map(octet).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hexadecimal_digits() {
        assert_eq!(octets(b"00fF10\n"), Some(vec![0, 0xff, 0x10]));
        for bad in ["0", "0g", "+1", "00 11"] {
            assert_eq!(octets(bad.as_bytes()), None, "{bad}");
        }
    }
}
