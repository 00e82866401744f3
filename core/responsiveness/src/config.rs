//! Where a server's objects are: the JSON at its well-known URL (section "Responsiveness Test Server Discovery").

use serde::Deserialize;
use serde_json::json;
use std::net::Ipv6Addr;

/// Path of the configuration (RFC 8615).
pub const WELL_KNOWN: &str = "/.well-known/nq";
/// Paths of this program's server.
pub const LARGE: &str = "/large";
/// A byte.
pub const SMALL: &str = "/small";
/// Takes any body.
pub const UPLOAD: &str = "/upload";

/// The version of the configuration.
const VERSION: u64 = 1;

/// A URL in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Whether it is https.
    pub secure: bool,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query; begins with a slash.
    pub path: String,
}

impl Location {
    /// Reads `http://host:port/path` or `https://…`.
    ///
    /// # Errors
    /// The reason why it is none.
    pub fn parse(url: &str) -> std::result::Result<Self, String> {
        let bad = |reason: &str| format!("'{url}' is no URL of a server: {reason}");
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| bad("it begins with https:// or http://"))?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(bad("it begins with https:// or http://")),
        };
        let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("it has spaces, or characters beyond ASCII"));
        }
        if authority.contains('@') {
            return Err(bad("a user and a password are not supported"));
        }
        let (host, port) = split_port(authority).map_err(|reason| bad(&reason))?;
        let port = port.unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { secure, host: host.to_owned(), port, path })
    }

    /// `host`, or `host:port` if it is not the scheme's.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == if self.secure { 443 } else { 80 } { host } else { format!("{host}:{}", self.port) }
    }

    /// The whole URL.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin(), self.path)
    }

    fn origin(&self) -> String {
        format!("{}://{}", if self.secure { "https" } else { "http" }, self.authority())
    }
}

/// Host and port of `host`, `host:port`, `[::1]:port` or `::1`.
fn split_port(authority: &str) -> std::result::Result<(&str, Option<u16>), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("a bracket is not closed")?;
            if !after.is_empty() && !after.starts_with(':') {
                return Err("after an address in brackets comes a port".to_owned());
            }
            (host, after.strip_prefix(':'))
        }
        None if authority.matches(':').count() > 1 => (authority, None),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("it has no host".to_owned());
    }
    if host.contains(':') && host.parse::<Ipv6Addr>().is_err() {
        return Err(format!("'{host}' is no address"));
    }
    let port = port.map(|port| {
        port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| format!("'{port}' is no port"))
    });
    Ok((host, port.transpose()?))
}

#[derive(Deserialize)]
struct Document {
    version: u64,
    urls: Urls,
    test_endpoint: Option<String>,
}

/// The names of the document, and the names before its revision 05.
#[derive(Deserialize)]
struct Urls {
    large_download_url: Option<String>,
    large_https_download_url: Option<String>,
    small_download_url: Option<String>,
    small_https_download_url: Option<String>,
    upload_url: Option<String>,
    https_upload_url: Option<String>,
}

/// A server's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// A download of 8 GB or more.
    pub large: Location,
    /// A download of one byte.
    pub small: Location,
    /// Takes any upload.
    pub upload: Location,
    /// Host to connect to instead of that of the URLs, with its port if it has one.
    pub endpoint: Option<(String, Option<u16>)>,
}

impl Config {
    /// Reads the JSON. Unknown names are ignored.
    ///
    /// # Errors
    /// The document requires clients to ignore it; with the reason.
    pub fn read(text: &str) -> std::result::Result<Self, String> {
        let document: Document =
            serde_json::from_str(text).map_err(|error| format!("it is no configuration: {error}"))?;
        if document.version != VERSION {
            return Err(format!("its version is {}, not {VERSION}", document.version));
        }
        let urls = document.urls;
        let one = |new: Option<String>, old: Option<String>, name: &str| {
            let url = new.or(old).ok_or_else(|| format!("'urls.{name}' is missing"))?;
            Location::parse(&url).map_err(|reason| format!("urls.{name}: {reason}"))
        };
        let large = one(urls.large_download_url, urls.large_https_download_url, "large_download_url")?;
        let small = one(urls.small_download_url, urls.small_https_download_url, "small_download_url")?;
        let upload = one(urls.upload_url, urls.https_upload_url, "upload_url")?;
        if [&small, &upload].iter().any(|one| one.origin() != large.origin()) {
            return Err("its three URLs have not the same host, port and scheme".to_owned());
        }
        let endpoint = document.test_endpoint.filter(|host| !host.is_empty());
        let endpoint = endpoint
            .map(|host| split_port(&host).map(|(host, port)| (host.to_owned(), port)))
            .transpose()
            .map_err(|reason| format!("test_endpoint: {reason}"))?;
        Ok(Self { large, small, upload, endpoint })
    }

    /// The JSON of this program's server, as a client reached it: `authority` is `host` or `host:port`. Over TLS it also
    /// has the names that clients from before revision 05 of the document know.
    pub fn write(secure: bool, authority: &str) -> String {
        let url = |path: &str| format!("{}://{authority}{path}", if secure { "https" } else { "http" });
        let mut urls = json!({
            "large_download_url": url(LARGE), "small_download_url": url(SMALL), "upload_url": url(UPLOAD),
        });
        if secure {
            urls["large_https_download_url"] = url(LARGE).into();
            urls["small_https_download_url"] = url(SMALL).into();
            urls["https_upload_url"] = url(UPLOAD).into();
        }
        json!({ "version": VERSION, "urls": urls }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let parts = |url: &str| {
            let at = Location::parse(url).unwrap();
            (at.secure, at.host.clone(), at.port, at.path.clone(), at.authority())
        };
        let own = str::to_owned;
        assert_eq!(parts("https://a.example"), (true, own("a.example"), 443, own("/"), own("a.example")));
        assert_eq!(parts("http://[::1]:81/x?y#z"), (false, own("::1"), 81, own("/x?y"), own("[::1]:81")));
        assert_eq!(parts("HTTP://10.0.0.1:80?q"), (false, own("10.0.0.1"), 80, own("/?q"), own("10.0.0.1")));
        for bad in [
            "a.example",
            "ftp://a",
            "https://",
            "https://a:0",
            "https://a:x",
            "https://u@a",
            "https://[::1",
            "https://a/ä",
            "https://[::1]x",
            "https://[a:1:2]",
        ] {
            assert!(Location::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_server_writes_a_client_reads() {
        for (secure, authority) in [(true, "a.example"), (false, "[fd00::1]:8080")] {
            let config = Config::read(&Config::write(secure, authority)).unwrap();
            assert_eq!((config.large.secure, config.large.authority()), (secure, authority.to_owned()));
            assert_eq!((config.large.path.as_str(), config.small.path.as_str()), (LARGE, SMALL));
        }
    }

    const GOOD: &str = r#"{"version": 1, "more": 2, "urls": {"large_https_download_url": "https://a/l",
        "small_https_download_url": "https://a/s", "https_upload_url": "https://a/u"}, "test_endpoint": "b.example"}"#;

    #[test]
    fn old_names_and_an_endpoint_are_read() {
        let config = Config::read(GOOD).unwrap();
        assert_eq!(config.endpoint, Some(("b.example".to_owned(), None)));
        assert_eq!(config.upload.url(), "https://a/u");
    }

    #[test]
    fn an_invalid_configuration_is_refused_with_the_reason() {
        let with = |from: &str, to: &str| Config::read(&GOOD.replace(from, to)).unwrap_err();
        assert!(with("\"version\": 1", "\"version\": 2").contains("version is 2"));
        assert!(with("https://a/s", "https://b/s").contains("same host"));
        assert!(with("https://a/s", "ftp://a/s").contains("small_download_url"));
        assert!(with("small_https_download_url", "little").contains("'urls.small_download_url' is missing"));
        assert!(with("\"more\": 2", "\"version\": 1").contains("duplicate"));
        assert!(Config::read("{}").is_err() && Config::read("x").is_err());
    }
}
