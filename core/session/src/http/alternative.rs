//! Alternative services: servers announce in responses that HTTP/3 reaches them, too, and clients go there with their next connections.
//! Source: RFC 7838.
//!
//! The servers of an entry are one origin: what one announces counts for all. An alternative on another host is ignored, because its
//! address is unknown.
//!
//! Not here: opening connections (`clients`), HTTP/3 itself (`h3`).

use crate::counts::{AltSvcCounts, Reason};
use units::Nanos;

/// Lifetime without `ma`, seconds (RFC 7838 section 3.1).
const MAX_AGE_S: u32 = 86_400;
/// Time without another try at an alternative that could not be reached (section 2.4 leaves it open; browsers begin with this time).
const BROKEN: Nanos = Nanos::from_secs(300);

/// The field's name in HTTP/2 and HTTP/3.
pub(super) const FIELD: &str = "alt-svc";
/// Fields of heads that are looked at.
pub(super) const FIELDS: &[&str] = &[FIELD];

/// The value of an Alt-Svc field, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AltSvc {
    /// HTTP/3 reaches the server at this port of the same host, for this number of seconds.
    Http3 {
        /// UDP port.
        port: u16,
        /// Lifetime, seconds.
        max_age_s: u32,
    },
    /// All alternatives are withdrawn.
    Clear,
}

impl AltSvc {
    /// Reads a value: its first alternative that can be used. `None` without one, and for one that is malformed.
    pub fn read(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?.trim();
        if text == "clear" {
            return Some(Self::Clear);
        }
        split(text, ',').into_iter().find_map(Self::one)
    }

    fn one(text: &str) -> Option<Self> {
        let parts = split(text, ';');
        let (protocol, authority) = parts.first()?.split_once('=')?;
        if protocol.trim() != "h3" {
            return None;
        }
        let authority = authority.trim().strip_prefix('"')?.strip_suffix('"')?;
        let port = authority.strip_prefix(':')?.parse().ok().filter(|port| *port > 0)?;
        let mut max_age_s = MAX_AGE_S;
        for part in &parts[1..] {
            if let Some(("ma", age)) = part.split_once('=').map(|(name, age)| (name.trim(), age.trim())) {
                let age = age.trim_matches('"');
                let is_number = !age.is_empty() && age.bytes().all(|byte| byte.is_ascii_digit());
                // More seconds than fit are as good as for ever.
                max_age_s = is_number.then(|| age.parse().unwrap_or(u32::MAX))?;
            }
        }
        Some(Self::Http3 { port, max_age_s })
    }
}

/// Parts between separators that are not quoted.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .map(str::trim)
    .collect()
}

/// An alternative, as the clients of an entry know it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Alternative {
    port: Option<u16>,
    until: Nanos,
    broken_until: Nanos,
}

impl Alternative {
    /// The port to go to.
    pub(crate) fn port(&self, now: Nanos) -> Option<u16> {
        self.port.filter(|_| now < self.until && self.broken_until <= now)
    }

    /// A response has announced something.
    pub(crate) fn learn(&mut self, now: Nanos, what: AltSvc, counts: &mut AltSvcCounts) {
        match what {
            AltSvc::Http3 { port, max_age_s } => {
                counts.announced += 1;
                self.port = Some(port);
                self.until = now.saturating_add(Nanos::from_secs(max_age_s.into()));
            }
            AltSvc::Clear => {
                counts.cleared += 1;
                self.port = None;
            }
        }
    }

    /// A connection there has failed; if that means that there is no way, others go elsewhere for some time.
    pub(crate) fn failed(&mut self, now: Nanos, reason: Reason, counts: &mut AltSvcCounts) {
        let is_closed = matches!(
            reason,
            Reason::SetupTimeout
                | Reason::Refused
                | Reason::Unreachable
                | Reason::NoHttp3
                | Reason::TlsAlert
                | Reason::TlsCertificate
        );
        if is_closed {
            counts.broken += u64::from(self.broken_until <= now);
            self.broken_until = now.saturating_add(BROKEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_servers_send_them() {
        let http3 = |port, max_age_s| Some(AltSvc::Http3 { port, max_age_s });
        for (text, expected) in [
            ("h3=\":443\"; ma=2592000", http3(443, 2_592_000)),
            ("h3=\":8443\"", http3(8_443, 86_400)),
            ("h2=\"alt.example.com:8000\", h3=\":50781\"; persist=1; ma=\"5\"", http3(50_781, 5)),
            ("h3-29=\":443\"; ma=1,h3=\":444\";ma=2,quic=\":445\"", http3(444, 2)),
            ("h3=\":443\"; ma=99999999999", http3(443, u32::MAX)),
            ("clear", Some(AltSvc::Clear)),
            ("h3=\"a,b;c:443\", h3=\":1\"", http3(1, 86_400)),
            ("h3=\"alt.example.com:443\"", None),
            ("h3=:443", None),
            ("h3=\":0\"", None),
            ("h3=\":443\"; ma=-1", None),
            ("h3", None),
            ("", None),
        ] {
            assert_eq!(AltSvc::read(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(AltSvc::read(b"h3=\":443\"; x=\xff"), None);
    }

    #[test]
    fn an_alternative_ages_and_may_be_withdrawn_or_broken() {
        let second = Nanos::from_secs;
        let (mut one, mut counts) = (Alternative::default(), AltSvcCounts::default());
        assert_eq!(one.port(second(0)), None);
        one.learn(second(1), AltSvc::Http3 { port: 443, max_age_s: 10 }, &mut counts);
        assert_eq!(
            (one.port(second(1)), one.port(second(10)), one.port(second(11))),
            (Some(443), Some(443), None)
        );
        one.failed(second(2), Reason::Reset, &mut counts);
        assert_eq!(one.port(second(2)), Some(443));
        one.failed(second(2), Reason::SetupTimeout, &mut counts);
        one.learn(second(3), AltSvc::Http3 { port: 443, max_age_s: 1_000 }, &mut counts);
        assert_eq!((one.port(second(3)), one.port(second(302))), (None, Some(443)));
        one.learn(second(302), AltSvc::Clear, &mut counts);
        assert_eq!(one.port(second(302)), None);
        assert_eq!((counts.announced, counts.cleared, counts.broken), (2, 1, 1));
    }
}
