//! Targets of redirects. Source: RFC 3986 section 5, RFC 9110 section 10.2.2.
//!
//! A session reaches one server, so that only targets of the same origin can be followed.

use crate::counts::Unfollowed;

/// Longest path and query that is followed, bytes (RFC 9110 section 4.1 recommends 8,000 at least).
const TARGET_MAX: usize = 8_000;

/// Path and query of the target of `location`, in a response to a request for `target` from `authority` (the Host field).
pub(super) fn resolve(
    location: &[u8],
    authority: &[u8],
    target: &[u8],
    secure: bool,
) -> Result<Vec<u8>, Unfollowed> {
    let location = location.trim_ascii();
    let location = location.split(|byte| *byte == b'#').next().unwrap_or_default();
    if location.iter().any(|byte| matches!(byte, 0..=31 | 127)) {
        return Err(Unfollowed::BadLocation);
    }
    let (rest, has_scheme) = match scheme(location) {
        Some((name, rest)) => {
            let own: &[u8] = if secure { b"https" } else { b"http" };
            if !name.eq_ignore_ascii_case(own) {
                return Err(Unfollowed::OtherScheme);
            }
            (rest, true)
        }
        None => (location, false),
    };
    let path = match rest.strip_prefix(b"//") {
        Some(rest) => {
            let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
            same_origin(&rest[..end], authority, secure)?;
            absolute(&rest[end..])
        }
        // `http:path` has no server.
        None if has_scheme => return Err(Unfollowed::BadLocation),
        None => relative(rest, target),
    };
    let path = encoded(&without_dots(&path));
    if path.len() > TARGET_MAX { Err(Unfollowed::BadLocation) } else { Ok(path) }
}

/// The scheme of a URI, and what follows its colon; `None` is a relative reference.
fn scheme(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (first, others) = text[..colon].split_first()?;
    let is_scheme = first.is_ascii_alphabetic()
        && others.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    is_scheme.then(|| (&text[..colon], &text[colon + 1..]))
}

/// Host in lower case, and port.
pub(super) fn host_and_port(authority: &[u8]) -> (Vec<u8>, Option<&[u8]>) {
    let after_user = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let colon = after_user.iter().rposition(|byte| *byte == b':');
    let end = after_user.iter().rposition(|byte| *byte == b']').unwrap_or(0);
    let colon = colon.filter(|at| *at >= end);
    let (host, port) =
        colon.map_or((after_user, None), |at| (&after_user[..at], Some(&after_user[at + 1..])));
    (host.to_ascii_lowercase(), port.filter(|port| !port.is_empty()))
}

/// Whether two authorities are the same server.
fn same_origin(theirs: &[u8], own: &[u8], secure: bool) -> Result<(), Unfollowed> {
    let default: &[u8] = if secure { b"443" } else { b"80" };
    let ((their_host, their_port), (host, port)) = (host_and_port(theirs), host_and_port(own));
    if their_host.is_empty() {
        return Err(Unfollowed::BadLocation);
    }
    if their_host != host {
        return Err(Unfollowed::OtherHost);
    }
    if their_port.unwrap_or(default) != port.unwrap_or(default) {
        return Err(Unfollowed::OtherPort);
    }
    Ok(())
}

/// Path and query after an authority.
fn absolute(rest: &[u8]) -> Vec<u8> {
    if rest.first() == Some(&b'/') { rest.to_vec() } else { [b"/", rest].concat() }
}

/// Path and query of a reference without scheme and authority (RFC 3986 section 5.2.2).
fn relative(reference: &[u8], base: &[u8]) -> Vec<u8> {
    let path = base.split(|byte| *byte == b'?').next().unwrap_or_default();
    match reference.first() {
        None => base.to_vec(),
        Some(b'/') => reference.to_vec(),
        Some(b'?') => [path, reference].concat(),
        Some(_) => {
            let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            absolute(&[&path[..end], reference].concat())
        }
    }
}

/// Removes the segments `.` and `..` of the path (RFC 3986 section 5.2.4).
fn without_dots(target: &[u8]) -> Vec<u8> {
    let end = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let (path, query) = target.split_at(end);
    let mut kept: Vec<&[u8]> = Vec::new();
    let segments: Vec<&[u8]> = path.split(|byte| *byte == b'/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            b"." | b".." => {
                if *segment == b".." {
                    kept.pop();
                }
                if is_last {
                    kept.push(b"");
                }
            }
            other => kept.push(other),
        }
    }
    let mut out = Vec::new();
    for segment in kept {
        out.push(b'/');
        out.extend_from_slice(segment);
    }
    if out.is_empty() {
        out.push(b'/');
    }
    out.extend_from_slice(query);
    out
}

/// Spaces and bytes that are not ASCII as `%20`, as clients send them.
fn encoded(target: &[u8]) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(target.len());
    for byte in target {
        if (b'!'..=b'~').contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(location: &str, authority: &str, target: &str, secure: bool) -> Result<String, Unfollowed> {
        resolve(location.as_bytes(), authority.as_bytes(), target.as_bytes(), secure)
            .map(|target| String::from_utf8(target).unwrap())
    }

    #[test]
    fn references_are_resolved() {
        for (location, expected) in [
            ("/x", "/x"),
            ("x?y=1#z", "/a/b/x?y=1"),
            ("?q", "/a/b/c?q"),
            ("", "/a/b/c?k=v"),
            ("#top", "/a/b/c?k=v"),
            (".", "/a/b/"),
            ("../x", "/a/x"),
            ("../../../x", "/x"),
            ("./x/./y/..", "/a/b/x/"),
            ("/a b/\u{e9}", "/a%20b/%C3%A9"),
            ("http://Example.COM:80", "/"),
            ("//example.com?x", "/?x"),
            ("http://me@example.com/x", "/x"),
            ("/x?a=http://b/../c", "/x?a=http://b/../c"),
        ] {
            assert_eq!(
                from(location, "example.com", "/a/b/c?k=v", false),
                Ok(expected.to_owned()),
                "{location}"
            );
        }
        assert_eq!(from("https://[::1]:443/x", "[::1]", "/", true), Ok("/x".to_owned()));
        assert_eq!(from("http://10.0.0.1:8080/x", "10.0.0.1:8080", "/", false), Ok("/x".to_owned()));
    }

    #[test]
    fn other_origins_are_named() {
        for (location, expected) in [
            ("https://example.com/", Unfollowed::OtherScheme),
            ("mailto:me@example.com", Unfollowed::OtherScheme),
            ("http://example.org/", Unfollowed::OtherHost),
            ("http://example.com:8080/", Unfollowed::OtherPort),
            ("http:x", Unfollowed::BadLocation),
            ("http:///x", Unfollowed::BadLocation),
            ("/x\x01", Unfollowed::BadLocation),
        ] {
            assert_eq!(from(location, "example.com", "/", false), Err(expected), "{location}");
        }
        let long = format!("/{}", "x".repeat(TARGET_MAX));
        assert_eq!(from(&long, "example.com", "/", false), Err(Unfollowed::BadLocation));
    }
}
