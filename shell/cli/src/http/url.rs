//! The URL of a web server, as `eagre http` takes it.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// `http` or `https`, host, port, path and query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) is_secure: bool,
    /// Name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query, a text of profiles: `{1..1000}` stands for numbers in turn.
    pub(crate) path: String,
}

impl Url {
    /// The Host field: the port only where it is not the scheme's.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == default_port(self.is_secure) { host } else { format!("{host}:{}", self.port) }
    }

    /// Addresses of the host in the order of the system's resolver.
    pub(crate) fn addresses(&self) -> Result<Vec<IpAddr>, String> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found = found.map_err(|error| format!("{}: no address: {error}", self.host))?;
        let mut addresses: Vec<IpAddr> = Vec::new();
        for ip in found.map(|address: SocketAddr| address.ip()) {
            if !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        Ok(addresses)
    }
}

fn default_port(is_secure: bool) -> u16 {
    if is_secure { 443 } else { 80 }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => {
                return Err(
                    "not a URL such as http://10.0.0.1:8080/path or https://www.example.com/".to_owned()
                );
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(
                "no user and password in the URL: give them with -H 'Authorization: Basic …'".to_owned()
            );
        }
        let (host, port) = match authority.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((host, rest))) => (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))),
            Some(None) => return Err("a ']' is missing after the IPv6 address".to_owned()),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, Some("")),
            },
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("no host in the URL".to_owned());
        }
        let port = match port {
            Some("") => default_port(is_secure),
            port => port
                .and_then(|port| port.parse().ok())
                .filter(|port| *port > 0)
                .ok_or("behind the host comes a port from 1 to 65535; IPv6 addresses are in brackets: http://[2001:2::1]/")?,
        };
        let path = if path.starts_with('/') { encoded(path) } else { format!("/{}", encoded(path)) };
        Ok(Self { is_secure, host: host.to_owned(), port, path })
    }
}

/// A path with `%XX` for bytes beyond ASCII (RFC 3986 section 2.1), as browsers write it. Other wrong ones are found with the profile.
fn encoded(path: &str) -> String {
    let shown =
        |byte: u8| if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn parts_are_told_apart() {
        let one = url("http://10.0.0.1:8080/a?b=c#d");
        assert_eq!((one.host.as_str(), one.port, one.path.as_str()), ("10.0.0.1", 8080, "/a?b=c"));
        assert_eq!(one.authority(), "10.0.0.1:8080");
        let secure = url("HTTPS://www.example.com");
        assert!(secure.is_secure);
        assert_eq!(
            (secure.port, secure.path.as_str(), secure.authority().as_str()),
            (443, "/", "www.example.com")
        );
        let v6 = url("http://[2001:2::1]?q");
        assert_eq!(
            (v6.host.as_str(), v6.path.as_str(), v6.authority().as_str()),
            ("2001:2::1", "/?q", "[2001:2::1]")
        );
        assert_eq!(url("http://[::1]:81/").authority(), "[::1]:81");
        assert_eq!(url("http://a/caf\u{e9}?q=%20\u{e9}").path, "/caf%C3%A9?q=%20%C3%A9");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in [
            "",
            "10.0.0.1",
            "ftp://a/",
            "http://",
            "http:///a",
            "http://a:0/",
            "http://a:x/",
            "http://a:65536/",
            "http://[::1",
            "http://2001:2::1/",
            "http://me:secret@a/",
            "http://a b/",
        ] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_need_no_resolver() {
        assert_eq!(url("http://10.0.0.1/").addresses(), Ok(vec!["10.0.0.1".parse().unwrap()]));
    }
}
