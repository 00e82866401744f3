//! Cookies that a session keeps. Source: RFC 6265.
//!
//! Invariant: a jar holds at most [`COOKIES_MAX`] cookies and [`BYTES_MAX`] bytes of names and values, whatever servers send.
//!
//! Not here: public suffixes (section 5.3 step 5). No list of them is known, so a domain of one label is taken for one.

use crate::counts::CookieCounts;
use std::net::IpAddr;

/// Most cookies of a session (section 6.1 requires 50 of a domain).
const COOKIES_MAX: usize = 50;
/// Most bytes of the names and values of a session's cookies, so that any Cookie field fits in what servers take.
const BYTES_MAX: usize = 8_000;
/// Longest value of a Set-Cookie field that is read (section 6.1).
const COOKIE_MAX: usize = 4_096;
/// An instant before all others.
const LONG_AGO: u64 = 0;

/// Place of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The Host field: a name or an address, in lower case, without port.
    pub host: &'a [u8],
    /// Path without query.
    pub path: &'a [u8],
    /// Whether it goes over TLS or QUIC.
    pub secure: bool,
}

/// A cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    domain: Box<[u8]>,
    /// Only for the very host that set it.
    host_only: bool,
    path: Box<[u8]>,
    secure: bool,
    /// Seconds since 1970-01-01 UTC.
    expires: Option<u64>,
    /// Order of creation.
    created: u32,
}

impl Cookie {
    fn bytes(&self) -> usize {
        self.name.len() + self.value.len()
    }

    /// Whether a request gets it (section 5.4 step 1).
    fn is_for(&self, place: &Place<'_>, now: u64) -> bool {
        let host = if self.host_only {
            *self.domain == *place.host
        } else {
            domain_matches(place.host, &self.domain)
        };
        let lives = self.expires.is_none_or(|end| now < end);
        host && lives && path_matches(place.path, &self.path) && (place.secure || !self.secure)
    }
}

/// Cookies of a session.
#[derive(Debug, Default)]
pub(super) struct Jar {
    cookies: Vec<Cookie>,
    created: u32,
}

impl Jar {
    /// Takes a Set-Cookie field of a response (sections 5.2 and 5.3). `now`: seconds since 1970-01-01 UTC.
    pub(super) fn set(&mut self, value: &[u8], place: &Place<'_>, now: u64, counts: &mut CookieCounts) {
        let Some(mut cookie) = read(value, place, now) else {
            counts.rejected += 1;
            return;
        };
        let is_same = |other: &Cookie| {
            other.name == cookie.name && other.domain == cookie.domain && other.path == cookie.path
        };
        let old = self.cookies.iter().position(is_same).map(|at| self.cookies.remove(at));
        if cookie.expires.is_some_and(|end| end <= now) {
            counts.deleted += u64::from(old.is_some());
            return;
        }
        self.created += 1;
        cookie.created = old.map_or(self.created, |old| old.created);
        counts.stored += 1;
        self.cookies.push(cookie);
        self.make_room(now, counts);
    }

    /// Drops cookies until the limits hold: first those that have expired, then the oldest.
    fn make_room(&mut self, now: u64, counts: &mut CookieCounts) {
        let is_full = |all: &[Cookie]| {
            all.len() > COOKIES_MAX || all.iter().map(Cookie::bytes).sum::<usize>() > BYTES_MAX
        };
        if !is_full(&self.cookies) {
            return;
        }
        self.cookies.retain(|cookie| cookie.expires.is_none_or(|end| now < end));
        while is_full(&self.cookies)
            && let Some(oldest) = (0..self.cookies.len()).min_by_key(|at| self.cookies[*at].created)
        {
            self.cookies.remove(oldest);
            counts.evicted += 1;
        }
    }

    /// Value of the Cookie field of a request; empty without cookies for it (section 5.4).
    pub(super) fn field(&self, place: &Place<'_>, now: u64) -> Vec<u8> {
        let mut all: Vec<&Cookie> = self.cookies.iter().filter(|cookie| cookie.is_for(place, now)).collect();
        all.sort_by_key(|cookie| (std::cmp::Reverse(cookie.path.len()), cookie.created));
        let mut out = Vec::new();
        for cookie in all {
            if !out.is_empty() {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
        out
    }
}

/// Attributes of a cookie.
#[derive(Default)]
struct Attributes<'a> {
    domain: Option<&'a [u8]>,
    path: Option<&'a [u8]>,
    secure: bool,
    expires: Option<u64>,
    max_age: Option<u64>,
}

/// Reads the value of a Set-Cookie field; `None` if it is to be ignored.
fn read(value: &[u8], place: &Place<'_>, now: u64) -> Option<Cookie> {
    let has_controls = value.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 127));
    if value.len() > COOKIE_MAX || has_controls {
        return None;
    }
    let mut parts = value.split(|byte| *byte == b';');
    let (name, text) = pair(parts.next()?);
    let text = text.filter(|_| !name.is_empty())?;
    let mut attributes = Attributes::default();
    parts.for_each(|part| attribute(part, now, &mut attributes));
    let own = place.host.to_ascii_lowercase();
    let (domain, host_only) = match attributes.domain.filter(|domain| !domain.is_empty()) {
        None => (own, true),
        Some(domain) => {
            let domain = domain.strip_prefix(b".").unwrap_or(domain).to_ascii_lowercase();
            if domain == own {
                let is_alone = is_address(&own) || !own.contains(&b'.');
                (own, is_alone)
            } else if domain.contains(&b'.') && domain_matches(&own, &domain) {
                (domain, false)
            } else {
                return None;
            }
        }
    };
    let path = match attributes.path {
        Some(path) if path.first() == Some(&b'/') => path,
        _ => default_path(place.path),
    };
    Some(Cookie {
        name: name.into(),
        value: text.into(),
        domain: domain.into(),
        host_only,
        path: path.into(),
        secure: attributes.secure,
        expires: attributes.max_age.or(attributes.expires),
        created: 0,
    })
}

/// Name and value around the first `=`.
fn pair(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match part.iter().position(|byte| *byte == b'=') {
        Some(at) => (part[..at].trim_ascii(), Some(part[at + 1..].trim_ascii())),
        None => (part.trim_ascii(), None),
    }
}

/// An attribute; the last of a name counts (section 5.3). Unknown ones and values without meaning are passed over.
fn attribute<'a>(part: &'a [u8], now: u64, attributes: &mut Attributes<'a>) {
    let (name, value) = pair(part);
    let value = value.unwrap_or_default();
    if name.eq_ignore_ascii_case(b"expires") {
        attributes.expires = date(value).or(attributes.expires);
    } else if name.eq_ignore_ascii_case(b"max-age") {
        attributes.max_age = max_age(value, now).or(attributes.max_age);
    } else if name.eq_ignore_ascii_case(b"domain") {
        attributes.domain = Some(value).filter(|value| !value.is_empty()).or(attributes.domain);
    } else if name.eq_ignore_ascii_case(b"path") {
        attributes.path = Some(value);
    } else if name.eq_ignore_ascii_case(b"secure") {
        attributes.secure = true;
    }
}

/// The instant at which an age is reached (section 5.2.2).
fn max_age(value: &[u8], now: u64) -> Option<u64> {
    let (is_negative, digits) = match value.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, value),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let age =
        digits.iter().fold(0u64, |age, digit| age.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(if is_negative || age == 0 { LONG_AGO } else { now.saturating_add(age) })
}

/// Section 5.1.3.
fn domain_matches(host: &[u8], domain: &[u8]) -> bool {
    host == domain
        || host.strip_suffix(domain).is_some_and(|front| front.last() == Some(&b'.')) && !is_address(host)
}

fn is_address(host: &[u8]) -> bool {
    host.first() == Some(&b'[') || std::str::from_utf8(host).is_ok_and(|text| text.parse::<IpAddr>().is_ok())
}

/// Section 5.1.4.
fn default_path(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) if at > 0 && path[0] == b'/' => &path[..at],
        _ => b"/",
    }
}

/// Section 5.1.4.
fn path_matches(path: &[u8], of_cookie: &[u8]) -> bool {
    path.strip_prefix(of_cookie)
        .is_some_and(|rest| rest.is_empty() || of_cookie.last() == Some(&b'/') || rest.first() == Some(&b'/'))
}

/// Seconds since 1970-01-01 UTC of a cookie's date (section 5.1.1); instants before that are 0.
fn date(text: &[u8]) -> Option<u64> {
    let is_delimiter = |byte: &u8| matches!(byte, 9 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e);
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = clock(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = leading(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = leading(token, 2..=4)
        {
            year = Some(found);
        }
    }
    let ((hour, minute, second), day, month, year) = (time?, day?, month?, year?);
    let year = match year {
        70..=99 => year + 1_900,
        0..=69 => year + 2_000,
        _ => year,
    };
    let is_valid = (1..=31).contains(&day) && year >= 1_601 && hour <= 23 && minute <= 59 && second <= 59;
    let days = days(year, month, day).filter(|_| is_valid)?;
    Some(u64::try_from(days * 86_400 + (hour * 3_600 + minute * 60 + second) as i64).unwrap_or(LONG_AGO))
}

/// A number at the beginning with as many digits as in a range, followed by no digit.
fn leading(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let len = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits
        .contains(&len)
        .then(|| token[..len].iter().fold(0, |all, digit| all * 10 + u64::from(digit - b'0')))
}

/// `h:m:s`.
fn clock(token: &[u8]) -> Option<(u64, u64, u64)> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let whole = |part: &[u8]| leading(part, 1..=2).filter(|_| part.iter().all(u8::is_ascii_digit));
    let (hour, minute) = (whole(parts.next()?)?, whole(parts.next()?)?);
    Some((hour, minute, leading(parts.next()?, 1..=2)?))
}

/// Month from 0 of its name.
fn month_of(token: &[u8]) -> Option<u64> {
    const NAMES: &[u8] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let name = token.get(..3)?.to_ascii_lowercase();
    NAMES.chunks(3).position(|other| other == name).map(|at| at as u64)
}

/// Days from 1970-01-01 to a day; `None` if the month has no such day.
fn days(year: u64, month: u64, day: u64) -> Option<i64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if day > *lengths.get(month as usize)? {
        return None;
    }
    let before = year - 1;
    let leaps = |year: u64| (year / 4 - year / 100 + year / 400) as i64;
    let years = (year as i64 - 1_970) * 365 + leaps(before) - leaps(1_969);
    Some(years + lengths[..month as usize].iter().sum::<u64>() as i64 + day as i64 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn place<'a>(host: &'a str, path: &'a str) -> Place<'a> {
        Place { host: host.as_bytes(), path: path.as_bytes(), secure: false }
    }

    fn sent(jar: &Jar, host: &str, path: &str) -> String {
        String::from_utf8(jar.field(&place(host, path), NOW)).unwrap()
    }

    #[test]
    fn dates_as_servers_send_them() {
        for (text, expected) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Thu, 01-Jan-1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800)),
            ("1 Jan 1900 0:0:0", Some(0)),
            ("Wed, 30 Feb 2024 00:00:00 GMT", None),
            ("Sun, 06 Nov 1994 24:00:00 GMT", None),
            ("06 Nov 08:49:37", None),
            ("1 Jan 1600 0:0:0", None),
            ("", None),
        ] {
            assert_eq!(date(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn cookies_go_to_their_hosts_and_paths() {
        let (mut jar, mut counts) = (Jar::default(), CookieCounts::default());
        let mut set = |text: &str| {
            jar.set(text.as_bytes(), &place("www.example.com", "/a/b"), NOW, &mut counts);
        };
        set("host=1");
        set("root=2; Path=/");
        set("all=3; Domain=.Example.com; Path=/");
        set("safe=4; Secure; Path=/");
        set("foreign=5; Domain=example.org");
        set("suffix=6; Domain=com");
        set("deep=7; Domain=x.www.example.com");
        set("=8");
        set("nothing");
        set("ctl=\x07");
        assert_eq!((counts.stored, counts.rejected), (4, 6));
        assert_eq!(sent(&jar, "www.example.com", "/a/c"), "host=1; root=2; all=3");
        assert_eq!(sent(&jar, "www.example.com", "/a"), "host=1; root=2; all=3");
        assert_eq!(sent(&jar, "www.example.com", "/ab"), "root=2; all=3");
        assert_eq!(sent(&jar, "example.com", "/a/"), "all=3");
        assert_eq!(sent(&jar, "badexample.com", "/a/"), "");
        let secure = Place { secure: true, ..place("www.example.com", "/") };
        assert_eq!(jar.field(&secure, NOW), b"root=2; all=3; safe=4");
    }

    #[test]
    fn addresses_have_no_domains() {
        let (mut jar, mut counts) = (Jar::default(), CookieCounts::default());
        jar.set(b"a=1; Domain=0.0.1", &place("10.0.0.1", "/"), NOW, &mut counts);
        jar.set(b"b=2; Domain=10.0.0.1", &place("10.0.0.1", "/"), NOW, &mut counts);
        assert_eq!((sent(&jar, "10.0.0.1", "/").as_str(), counts.rejected), ("b=2", 1));
    }

    #[test]
    fn cookies_expire_and_are_replaced() {
        let (mut jar, mut counts) = (Jar::default(), CookieCounts::default());
        let mut set = |jar: &mut Jar, text: &str, now| {
            jar.set(text.as_bytes(), &place("a.test", "/"), now, &mut counts);
        };
        set(&mut jar, "a=1; Max-Age=10", NOW);
        set(&mut jar, "b=1", NOW);
        set(&mut jar, "a=2; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", NOW);
        assert_eq!(sent(&jar, "a.test", "/"), "a=2; b=1");
        assert_eq!(jar.field(&place("a.test", "/"), NOW + 10), b"b=1");
        set(&mut jar, "b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", NOW);
        set(&mut jar, "c=3; Max-Age=-1", NOW);
        assert_eq!(sent(&jar, "a.test", "/"), "a=2");
        assert_eq!((counts.stored, counts.deleted), (3, 1));
    }

    #[test]
    fn a_jar_stays_small() {
        let (mut jar, mut counts) = (Jar::default(), CookieCounts::default());
        for number in 0..60 {
            jar.set(format!("n{number}=1").as_bytes(), &place("a.test", "/"), NOW, &mut counts);
        }
        assert_eq!((jar.cookies.len(), counts.evicted), (COOKIES_MAX, 10));
        assert!(!sent(&jar, "a.test", "/").contains("n9="), "the oldest go first");
        for number in 0..5 {
            let long = format!("l{number}={}", "x".repeat(3_000));
            jar.set(long.as_bytes(), &place("a.test", "/"), NOW, &mut counts);
        }
        jar.set(&[b'x'; COOKIE_MAX + 1], &place("a.test", "/"), NOW, &mut counts);
        assert!(jar.field(&place("a.test", "/"), NOW).len() <= BYTES_MAX + 2 * COOKIES_MAX);
        assert_eq!((jar.cookies.len(), counts.rejected), (2, 1));
    }
}
