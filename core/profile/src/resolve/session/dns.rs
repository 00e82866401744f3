//! DNS: queries of clients, and responses of emulated servers.

use super::app::{Resolved, Surroundings};
use super::http::default_host;
use crate::document::OneOrMany;
use crate::document::content::TextDoc;
use crate::document::dns::{AnswerDoc, DnsDoc, DnsMethodDoc, DnsRuleDoc, RecordDoc};
use crate::document::quantity::Ip;
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use session::plan::{
    AppPlan, Content, Delay, DnsAnswer, DnsHttps, DnsPlan, DnsQuery, DnsRule, HttpVersion, Method, Part,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::Nanos;

/// Where DNS is; where it is over TLS and over QUIC (RFC 7858 section 3.1, RFC 9250 section 4.1.1); over HTTPS, and over HTTP in the clear.
const PORT: u16 = 53;
const SECURE_PORT: u16 = 853;
const HTTPS_PORT: u16 = 443;
const HTTP_PORT: u16 = 80;
/// Default path of requests over HTTPS (RFC 8484 section 4.1.1).
const PATH: &str = "/dns-query";
/// Default size of UDP responses that clients accept, bytes: fits every path of IPv6 (DNS flag day 2020).
const EDNS: u64 = 1_232;
/// Size of UDP responses without EDNS, bytes (RFC 1035 section 2.3.4).
const EDNS_NONE: u64 = 512;
const RETRIES: u8 = 2;
const RETRY_AFTER: Nanos = Nanos::from_secs(1);
/// Default time to live of records, s.
const TTL: u32 = 60;
/// Longest name, in text.
const NAME_MAX: usize = 253;
/// Longest part of a name between two dots.
const LABEL_MAX: usize = 63;

impl Resolver<'_> {
    pub(super) fn dns(
        &mut self,
        path: &str,
        doc: &DnsDoc,
        entry: &SessionDoc,
        room: Option<u64>,
        around: &Surroundings,
    ) -> Option<Resolved> {
        self.check_dns_carrier(path, doc, entry);
        let queries = self.queries(path, doc, around)?;
        if room.is_none() && doc.retries.is_some() {
            self.reading.fail(format!("{path}.retries"), "applies to UDP only");
        }
        if room.is_none() && doc.tcp_fallback.is_some() {
            self.reading.fail(format!("{path}.tcp_fallback"), "applies to UDP only");
        }
        let retry_after = doc.retry_after.as_ref().map_or(RETRY_AFTER, |time| time.0);
        if retry_after == Nanos::ZERO {
            self.reading.fail(format!("{path}.retry_after"), "must be longer than 0");
        }
        let rules = match &doc.rules {
            None => default_rules(),
            Some(rules) => {
                let mut all = Vec::new();
                for (index, rule) in rules.iter().enumerate() {
                    let rule = self.dns_rule(&format!("{path}.rules[{index}]"), rule);
                    all.push(rule);
                }
                all
            }
        };
        let plan = DnsPlan {
            queries,
            order: self.session_order(&format!("{path}.order"), doc.order),
            per_session: doc.times(),
            streams: doc.streams_per_connection.unwrap_or(1),
            think: self.delay(&format!("{path}.think"), doc.think.as_ref()),
            retries: doc.retries.unwrap_or(RETRIES),
            retry_after,
            tcp_fallback: room.is_some() && doc.tcp_fallback.unwrap_or(true),
            errors_fail: doc.errors_fail,
            padding: doc.padding.unwrap_or(false),
            rules: rules.into(),
            udp_room: room.map_or(u16::MAX, |room| room.min(u16::MAX.into()) as u16),
            https: entry.is_https().then(|| self.dns_https(path, doc, around)),
        };
        let port = match (entry.is_https(), entry.is_quic() || entry.has_tls()) {
            (false, false) => PORT,
            (false, true) => SECURE_PORT,
            (true, false) => HTTP_PORT,
            (true, true) => HTTPS_PORT,
        };
        Some(Resolved { app: AppPlan::Dns(Arc::new(plan)), port: Some(port) })
    }

    /// Requests of HTTP that queries are in.
    fn dns_https(&mut self, path: &str, doc: &DnsDoc, around: &Surroundings) -> DnsHttps {
        let target = doc.path.clone().unwrap_or_else(|| PATH.to_owned());
        let is_wrong = |byte: &u8| !byte.is_ascii_graphic() || matches!(byte, b'{' | b'}' | b'#');
        if !target.starts_with('/') || target.as_bytes().iter().any(is_wrong) {
            let reason = "a path begins with '/', has no spaces (write %20), and no variable: the one of a GET, {?dns}, is added";
            self.reading.fail(format!("{path}.path"), reason);
        }
        let host = match &doc.host {
            Some(host) => self.field_text(&format!("{path}.host"), host),
            None => Content::bytes(default_host(around)),
        };
        let method = match doc.method {
            Some(DnsMethodDoc::Get) => Method::Get,
            Some(DnsMethodDoc::Post) | None => Method::Post,
        };
        DnsHttps { version: doc.version(), method, path: target, host }
    }

    /// Checks settings that need QUIC, HTTPS, or encryption.
    fn check_dns_carrier(&mut self, path: &str, doc: &DnsDoc, entry: &SessionDoc) {
        if doc.streams_per_connection.is_some() && !entry.is_quic() && !entry.is_https() {
            let reason = "applies to QUIC and HTTPS only; set 'transport: quic' or 'https', or remove it";
            self.reading.fail(format!("{path}.streams_per_connection"), reason);
        }
        if doc.streams_per_connection.is_some() && entry.is_https() && doc.version() == HttpVersion::One {
            let reason = "HTTP/1.1 has no streams; set 'version: 2', '3' or 'auto', or remove it";
            self.reading.fail(format!("{path}.streams_per_connection"), reason);
        }
        let of_https = [
            ("version", doc.version.is_some()),
            ("method", doc.method.is_some()),
            ("path", doc.path.is_some()),
            ("host", doc.host.is_some()),
        ];
        for (key, _) in of_https.into_iter().filter(|(_, is_there)| *is_there && !entry.is_https()) {
            let reason = "applies to HTTPS only; set 'transport: https', or remove it";
            self.reading.fail(format!("{path}.{key}"), reason);
        }
        if doc.padding == Some(true) && !entry.is_quic() && !entry.has_tls() {
            let reason = "hides the lengths of encrypted messages only (RFC 7830 section 6); set 'tls' or 'transport: quic', or remove it";
            self.reading.fail(format!("{path}.padding"), reason);
        }
        if doc.padding == Some(true) && self.edns(path, doc).is_none() {
            let reason = "is an option of EDNS, which '512B' turns off; remove one of them";
            self.reading.fail(format!("{path}.edns"), reason);
        }
    }

    /// Queries with weights; may be empty if clients are external.
    fn queries(&mut self, path: &str, doc: &DnsDoc, around: &Surroundings) -> Option<Vec<(DnsQuery, u32)>> {
        let edns = self.edns(path, doc);
        let query =
            |name, kind| DnsQuery { name, kind, recursion: doc.recursion.unwrap_or(true), edns_bytes: edns };
        if let Some(queries) = &doc.queries {
            if doc.names.is_some() || doc.kind.is_some() {
                let key = if doc.names.is_some() { "names" } else { "type" };
                self.reading.fail(format!("{path}.{key}"), "conflicts with 'queries'; remove one of them");
            }
            let mut all = Vec::new();
            for (index, one) in queries.iter().enumerate() {
                let name = self.dns_name(&format!("{path}.queries[{index}].name"), &one.name);
                all.push((query(name, one.kind.as_ref().map_or(1, |kind| kind.number())), one.weight.0));
            }
            return Some(all);
        }
        let Some(names) = &doc.names else {
            if !around.client {
                return Some(Vec::new());
            }
            self.reading.fail(path, "no names to query: set 'names', such as www.example.com, or 'queries'");
            return None;
        };
        let kind = doc.kind.as_ref().map_or(1, |kind| kind.number());
        let path = format!("{path}.names");
        // Names that are listed are queries of their own: each may vary, and they are counted by themselves.
        let TextDoc::List(list) = names else {
            return Some(vec![(query(self.dns_name(&path, names), kind), 1)]);
        };
        let mut all = Vec::new();
        for (index, name) in list.iter().enumerate() {
            let name = self.dns_name(&format!("{path}[{index}]"), &TextDoc::One(name.clone()));
            all.push((query(name, kind), 1));
        }
        Some(all)
    }

    fn edns(&mut self, path: &str, doc: &DnsDoc) -> Option<u16> {
        let bytes = doc.edns.as_ref().map_or(EDNS, |bytes| bytes.0);
        if !(EDNS_NONE..=65_535).contains(&bytes) {
            self.reading.fail(format!("{path}.edns"), "from 512B to 65535B");
        }
        (bytes > EDNS_NONE).then_some(bytes.min(65_535) as u16)
    }

    fn dns_name(&mut self, path: &str, doc: &TextDoc) -> Content {
        let content = self.text(path, doc);
        let texts: Vec<&[u8]> = match &content.parts[..] {
            [Part::Bytes(bytes)] => vec![bytes],
            [Part::List { items, .. }] => items.iter().map(|item| &item[..]).collect(),
            _ => Vec::new(),
        };
        if let Some(reason) = texts.iter().find_map(|text| unfit(text)) {
            self.reading.fail(path, reason);
        }
        content
    }

    fn dns_rule(&mut self, path: &str, doc: &DnsRuleDoc) -> DnsRule {
        let suffix = doc.suffix.clone().unwrap_or_default();
        if let Some(reason) = unfit(suffix.as_bytes()).filter(|_| !suffix.is_empty()) {
            self.reading.fail(format!("{path}.suffix"), reason);
        }
        let answers = doc.answers.iter().enumerate();
        let answers: Vec<DnsAnswer> = answers
            .filter_map(|(index, answer)| self.dns_answer(&format!("{path}.answers[{index}]"), answer))
            .collect();
        if doc.silent && !doc.answers.is_empty() {
            self.reading.fail(format!("{path}.silent"), "can't be used with 'answers'");
        }
        DnsRule {
            suffix: suffix.trim_end_matches('.').to_owned(),
            kinds: doc.types.iter().flat_map(OneOrMany::with_paths).map(|(_, kind)| kind.number()).collect(),
            code: doc.code,
            answers,
            ttl: doc
                .ttl
                .as_ref()
                .map_or(TTL, |ttl| u32::try_from(ttl.0.0 / 1_000_000_000).unwrap_or(u32::MAX)),
            delay: self.delay(&format!("{path}.delay"), doc.delay.as_ref()),
            silent: doc.silent,
        }
    }

    fn dns_answer(&mut self, path: &str, doc: &AnswerDoc) -> Option<DnsAnswer> {
        let record = match doc {
            AnswerDoc::Address(Ip(first)) => return Some(DnsAnswer::Address { first: *first, count: 1 }),
            AnswerDoc::Full(record) => record,
        };
        let RecordDoc { address, count, kind, data, text } = record;
        match (address, kind, data, text) {
            (Some(Ip(first)), None, None, None) => {
                Some(DnsAnswer::Address { first: *first, count: count.unwrap_or(1) })
            }
            (None, Some(kind), Some(data), None) if count.is_none() => {
                Some(DnsAnswer::Data { kind: kind.number(), data: data.0.clone().into() })
            }
            (None, Some(kind), None, Some(text)) if count.is_none() && text.len() <= 255 => {
                let data = [&[text.len() as u8], text.as_bytes()].concat();
                Some(DnsAnswer::Data { kind: kind.number(), data: data.into() })
            }
            _ => {
                let reason = "a record is an 'address', with 'count' if wanted, or a 'type' with 'data', or with a 'text' \
                    of at most 255 bytes";
                self.reading.fail(path, reason);
                None
            }
        }
    }
}

/// Every name has an address of each family.
fn default_rules() -> Vec<DnsRule> {
    let address = |first: IpAddr| DnsAnswer::Address { first, count: 1 };
    let answers = vec![
        address(Ipv4Addr::new(198, 18, 0, 1).into()),
        address(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1).into()),
    ];
    vec![DnsRule {
        suffix: String::new(),
        kinds: Vec::new(),
        code: 0,
        answers,
        ttl: TTL,
        delay: Delay::NONE,
        silent: false,
    }]
}

/// Why a text can't be a name; a dot at its end is its root, and one alone the root itself.
fn unfit(text: &[u8]) -> Option<&'static str> {
    let name = text.strip_suffix(b".").unwrap_or(text);
    let is_part = |part: &[u8]| (1..=LABEL_MAX).contains(&part.len());
    if !name.iter().all(u8::is_ascii_graphic) {
        return Some(
            "a name has no spaces, and only ASCII characters: an international one is written as it is sent, xn--…",
        );
    }
    let is_root = name.is_empty() && text == b".";
    let fits = is_root || name.len() <= NAME_MAX && name.split(|b| *b == b'.').all(is_part);
    (!fits).then_some("a name has parts of 1 to 63 bytes between dots, 253 bytes in all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_the_root_are_told_from_other_texts() {
        for name in ["a.test", "a.test.", ".", "_sip._tcp.a", "*.test"] {
            assert_eq!(unfit(name.as_bytes()), None, "{name}");
        }
        let long = format!("{}.test", "a".repeat(64));
        for (text, word) in
            [("", "parts"), ("a..b", "parts"), (&long, "parts"), ("a b", "spaces"), ("é.test", "ASCII")]
        {
            assert!(unfit(text.as_bytes()).is_some_and(|reason| reason.contains(word)), "{text}");
        }
    }
}
