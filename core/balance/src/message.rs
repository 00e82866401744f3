//! Requests and responses that name their sender: HTTP/1.1, or a line.
//!
//! A request carries the number of its session and its own; a response repeats both, and has the backend's number. So a
//! request that a balancer sends twice, or to another backend, is recognised.

use std::fmt::Write as _;

/// First bytes of a line.
const LINE: &[u8] = b"EAGRE/1 ";
/// Field with the numbers of session and request.
const NUMBER: &str = "X-Eagre-Request";
/// Field with the number of the backend.
const BACKEND: &str = "X-Backend";
/// Most fields of a message.
const FIELDS: usize = 200;

/// Form of requests and responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A line, for balancers of connections or datagrams.
    Line,
    /// HTTP/1.1, for balancers of requests.
    Http,
}

/// Requests of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    /// Their form.
    pub protocol: Protocol,
    /// Name of the host in requests of HTTP.
    pub host: String,
}

/// Start of what was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read<T> {
    /// More bytes are needed.
    Incomplete,
    /// No message of this kind.
    Malformed,
    /// A message, and its length.
    Whole(T, usize),
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Number of the session, and of the request in it; `None`: from someone else, such as a health check.
    pub(crate) numbers: Option<(u32, u32)>,
    is_http: bool,
    has_no_body: bool,
    /// Whether the connection ends after the response.
    pub(crate) closes: bool,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Response {
    /// Numbers of session and request; `None`: the balancer's own, such as an error page.
    pub(crate) numbers: Option<(u32, u32)>,
    pub(crate) backend: Option<u16>,
    /// Status of HTTP; 200 of a line.
    pub(crate) status: u16,
    /// Cookies set: name and value.
    pub(crate) cookies: Vec<String>,
    /// Whether the connection ends with it.
    pub(crate) closes: bool,
}

/// Request `number` of a session.
pub(crate) fn request(speech: &Speech, session: u32, number: u32, cookies: &str) -> Vec<u8> {
    match speech.protocol {
        Protocol::Line => format!("EAGRE/1 {session} {number}\n"),
        Protocol::Http => {
            let host = &speech.host;
            let mut text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{NUMBER}: {session} {number}\r\n");
            if !cookies.is_empty() {
                let _ = write!(text, "Cookie: {cookies}\r\n");
            }
            text + "\r\n"
        }
    }
    .into_bytes()
}

/// Reads a request of either form.
pub(crate) fn read_request(bytes: &[u8]) -> Read<Request> {
    if bytes.starts_with(LINE) || LINE.starts_with(bytes) {
        let Some((line, length)) = line(bytes) else { return incomplete(bytes) };
        let mut words = line.split(' ').skip(1).map(|word| word.parse::<u32>().ok());
        let (Some(Some(session)), Some(Some(number)), None) = (words.next(), words.next(), words.next())
        else {
            return Read::Malformed;
        };
        let numbers = Some((session, number));
        return Read::Whole(Request { numbers, is_http: false, has_no_body: false, closes: false }, length);
    }
    let Some((head, length)) = head(bytes) else { return incomplete(bytes) };
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ');
    let (method, Some(version)) = (words.next().unwrap_or_default(), words.nth(1)) else {
        return Read::Malformed;
    };
    if !version.starts_with("HTTP/1.") {
        return Read::Malformed;
    }
    let Some(fields) = fields(lines) else { return Read::Malformed };
    let body = of(&fields, "Content-Length").map_or(Some(0), |text| text.parse::<usize>().ok());
    let Some(whole) = body.and_then(|body| length.checked_add(body)) else { return Read::Malformed };
    if whole > bytes.len() {
        return if whole > crate::pipe::LONGEST { Read::Malformed } else { Read::Incomplete };
    }
    let connection = of(&fields, "Connection").unwrap_or_default();
    let closes = connection.eq_ignore_ascii_case("close")
        || version == "HTTP/1.0" && !connection.eq_ignore_ascii_case("keep-alive");
    let numbers = of(&fields, NUMBER).and_then(pair);
    Read::Whole(Request { numbers, is_http: true, has_no_body: method == "HEAD", closes }, whole)
}

/// Response of a backend.
pub(crate) fn response(request: &Request, backend: u16) -> Vec<u8> {
    let (session, number) = request.numbers.unwrap_or_default();
    if !request.is_http {
        return format!("EAGRE/1 {session} {number} {backend}\n").into_bytes();
    }
    let body = format!("backend {backend}\n");
    let mut text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{BACKEND}: {backend}\r\n", body.len());
    if request.numbers.is_some() {
        let _ = write!(text, "{NUMBER}: {session} {number}\r\n");
    }
    if request.closes {
        text.push_str("Connection: close\r\n");
    }
    text.push_str("\r\n");
    if !request.has_no_body {
        text.push_str(&body);
    }
    text.into_bytes()
}

/// Reads a response.
pub(crate) fn read_response(protocol: Protocol, bytes: &[u8]) -> Read<Response> {
    match protocol {
        Protocol::Line => {
            if !(bytes.starts_with(LINE) || LINE.starts_with(bytes)) {
                return Read::Malformed;
            }
            let Some((line, length)) = line(bytes) else { return incomplete(bytes) };
            let words: Vec<Option<u32>> = line.split(' ').skip(1).map(|word| word.parse().ok()).collect();
            let [Some(session), Some(number), Some(backend)] = words[..] else { return Read::Malformed };
            let Ok(backend) = u16::try_from(backend) else { return Read::Malformed };
            let numbers = Some((session, number));
            Read::Whole(
                Response { numbers, backend: Some(backend), status: 200, ..Response::default() },
                length,
            )
        }
        Protocol::Http => read_http(bytes),
    }
}

fn read_http(bytes: &[u8]) -> Read<Response> {
    let Some((head, length)) = head(bytes) else { return incomplete(bytes) };
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    let (true, Some(status)) = (first.starts_with("HTTP/1."), status) else { return Read::Malformed };
    let Some(fields) = fields(lines) else { return Read::Malformed };
    // A backend's response has a length; what a balancer makes itself is an error page, and its body does not matter.
    let body = of(&fields, "Content-Length").and_then(|text| text.parse::<usize>().ok());
    let numbers = of(&fields, NUMBER).and_then(pair);
    let Some(whole) = length.checked_add(body.unwrap_or(0)) else { return Read::Malformed };
    if status == 200 && whole > bytes.len() {
        return if whole > crate::pipe::LONGEST { Read::Malformed } else { Read::Incomplete };
    }
    let is_cookie = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("Set-Cookie");
    let cookie = |(_, value): &(&str, &str)| value.split(';').next().unwrap_or_default().trim().to_owned();
    let response = Response {
        numbers,
        backend: of(&fields, BACKEND).and_then(|text| text.parse().ok()),
        status,
        cookies: fields.iter().filter(is_cookie).map(cookie).collect(),
        closes: of(&fields, "Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
            || body.is_none(),
    };
    Read::Whole(response, whole.min(bytes.len()))
}

fn incomplete<T>(bytes: &[u8]) -> Read<T> {
    if bytes.len() >= crate::pipe::LONGEST { Read::Malformed } else { Read::Incomplete }
}

/// A line without its end, and its length with it.
fn line(bytes: &[u8]) -> Option<(&str, usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).unwrap_or_default().trim_end(), end + 1))
}

/// The head of a message of HTTP, and its length with the empty line.
fn head(bytes: &[u8]) -> Option<(&str, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&bytes[..end]).unwrap_or_default(), end + 4))
}

/// Fields of a head: names and values. `None`: there are too many.
fn fields<'t>(lines: impl Iterator<Item = &'t str>) -> Option<Vec<(&'t str, &'t str)>> {
    let split = |line: &'t str| line.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let all: Vec<_> = lines.take(FIELDS + 1).filter_map(split).collect();
    (all.len() <= FIELDS).then_some(all)
}

fn of<'t>(fields: &[(&str, &'t str)], name: &str) -> Option<&'t str> {
    fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

fn pair(text: &str) -> Option<(u32, u32)> {
    let (session, number) = text.split_once(' ')?;
    Some((session.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speech(protocol: Protocol) -> Speech {
        Speech { protocol, host: "www.example.com".into() }
    }

    #[test]
    fn requests_and_responses_carry_their_numbers() {
        for protocol in [Protocol::Line, Protocol::Http] {
            let bytes = request(&speech(protocol), 7, 3, "a=b");
            for cut in 0..bytes.len() {
                assert_eq!(read_request(&bytes[..cut]), Read::Incomplete, "{protocol:?} {cut}");
            }
            let two = [&bytes[..], &bytes[..]].concat();
            let Read::Whole(asked, length) = read_request(&two) else { panic!("{protocol:?}") };
            assert_eq!((asked.numbers, length), (Some((7, 3)), bytes.len()));
            let bytes = response(&asked, 12);
            for cut in 0..bytes.len() {
                assert_eq!(read_response(protocol, &bytes[..cut]), Read::Incomplete, "{protocol:?} {cut}");
            }
            let Read::Whole(found, length) = read_response(protocol, &bytes) else { panic!("{protocol:?}") };
            assert_eq!((found.numbers, found.backend, found.status), (Some((7, 3)), Some(12), 200));
            assert_eq!((length, found.closes), (bytes.len(), false));
        }
    }

    #[test]
    fn health_checks_have_no_numbers_and_get_a_response() {
        let Read::Whole(asked, _) = read_request(b"OPTIONS / HTTP/1.0\r\n\r\n") else { panic!() };
        assert_eq!((asked.numbers, asked.closes), (None, true));
        let text = String::from_utf8(response(&asked, 1)).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("Connection: close"), "{text}");
        let Read::Whole(asked, _) = read_request(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n") else { panic!() };
        assert!(response(&asked, 1).ends_with(b"\r\n\r\n"), "HEAD gets no body");
    }

    #[test]
    fn cookies_and_error_pages_are_read() {
        let page = b"HTTP/1.0 503 Service Unavailable\r\ncache-control: no-cache\r\n\r\n<html>";
        let Read::Whole(found, _) = read_response(Protocol::Http, page) else { panic!() };
        assert_eq!((found.status, found.backend, found.closes), (503, None, true));
        let page =
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nset-cookie: SRV=b2; path=/\r\nx-backend: 2\r\n\r\n";
        let Read::Whole(found, _) = read_response(Protocol::Http, page) else { panic!() };
        assert_eq!((found.cookies, found.backend), (vec!["SRV=b2".to_owned()], Some(2)));
    }

    #[test]
    fn hostile_bytes_are_malformed() {
        for bytes in [
            &b"EAGRE/1 7\n"[..],
            b"EAGRE/1 7 99999999999\n",
            b"GET /\r\n\r\n",
            b"GET / SPDY/3\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n",
        ] {
            assert_eq!(read_request(bytes), Read::Malformed, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(read_request(&vec![b'a'; crate::pipe::LONGEST]), Read::Malformed);
        for bytes in [&b"EAGRE/1 7 1 70000\n"[..], b"SSH-2.0\n"] {
            assert_eq!(read_response(Protocol::Line, bytes), Read::Malformed);
        }
        assert_eq!(read_response(Protocol::Http, b"ICY 200 OK\r\n\r\n"), Read::Malformed);
    }
}
