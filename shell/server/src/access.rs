//! Callers, and the rights of their names.

use crate::fault::Fault;
use crate::listen::From;
use api::Role;
use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt;
use std::net::SocketAddr;

/// A token: its bearer has its name and role.
#[derive(Clone)]
pub struct Token {
    /// Name, as leases and the audit log have it.
    pub name: String,
    /// Rights.
    pub role: Role,
    /// SHA-256 of the token, so that the duration of a comparison reveals nothing about a token.
    digest: [u8; 32],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}, {})", self.name, self.role.word())
    }
}

/// Why tokens can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(String);

/// A token as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    role: Role,
    token: String,
}

/// Characters a token has at least.
const TOKEN_LEAST: usize = 16;

impl Token {
    /// A token of this text.
    pub fn new(name: impl Into<String>, role: Role, token: &str) -> Self {
        Self { name: name.into(), role, digest: Sha256::digest(token).into() }
    }

    /// Tokens from a JSON list of `{"name", "role", "token"}`.
    ///
    /// # Errors
    /// The error in the file, without quoting a token.
    pub fn list(value: serde_json::Value) -> Result<Vec<Self>, TokenError> {
        let serde_json::Value::Array(entries) = value else {
            return Err(TokenError("expected a list of entries with 'name', 'role' and 'token'".to_owned()));
        };
        let mut tokens: Vec<Self> = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            // What serde would say may quote the entry.
            let Written { name, role, token } = serde_json::from_value(entry).map_err(|_| {
                TokenError(format!(
                    "entry {}: expected the strings 'name', 'role' (watch, run or admin) and 'token', and nothing else",
                    index + 1
                ))
            })?;
            if token.len() < TOKEN_LEAST {
                return Err(TokenError(format!(
                    "the token '{name}' is shorter than {TOKEN_LEAST} characters"
                )));
            }
            if tokens.iter().any(|other| other.name == name) {
                return Err(TokenError(format!("two tokens have the name '{name}'")));
            }
            tokens.push(Self::new(name, role, &token));
        }
        match tokens.is_empty() {
            true => Err(TokenError("no token found".to_owned())),
            false => Ok(tokens),
        }
    }
}

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the token, or `local`.
    pub name: String,
    /// Rights.
    pub role: Role,
    /// Where the request came from.
    pub from: SocketAddr,
}

impl Caller {
    /// Refuses who may not.
    ///
    /// # Errors
    /// The role is a lower one.
    pub fn must_be(&self, role: Role) -> Result<(), Fault> {
        if self.role >= role {
            return Ok(());
        }
        Err(Fault::forbidden(format!(
            "'{}' has the role '{}', and this needs '{}'",
            self.name,
            self.role.word(),
            role.word()
        )))
    }

    /// Whether this belongs to the caller, or the caller is an admin.
    pub fn may_end(&self, owner: &str) -> bool {
        self.role == Role::Admin || self.name == owner
    }
}

/// Decides who a request comes from.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    tokens: Vec<Token>,
    listen: SocketAddr,
    /// Other names by which clients may call the server.
    hosts: Vec<String>,
    /// Users of this machine that need no token.
    users: Vec<u32>,
}

impl Door {
    pub(crate) fn new(tokens: Vec<Token>, listen: SocketAddr, hosts: Vec<String>) -> Self {
        Self { tokens, listen, hosts, users: os::peer::own_users() }
    }

    /// Whether a connection may make requests at all. Without tokens, only this process's user and root may: other
    /// users of this machine reach loopback addresses too.
    pub(crate) fn welcomes(&self, from: SocketAddr, own: SocketAddr) -> bool {
        if !self.tokens.is_empty() {
            return true;
        }
        match os::peer::user(from, own) {
            Ok(user) => user.is_some_and(|user| user == 0 || self.users.contains(&user)),
            Err(error) => {
                tracing::error!(%from, "cannot determine the owner of the connection: {error}");
                false
            }
        }
    }

    /// The caller of a request.
    pub(crate) fn caller(&self, headers: &HeaderMap, from: From) -> Result<Caller, Fault> {
        let From { address: from, welcome } = from;
        if !welcome {
            return Err(Fault::forbidden(
                "without tokens, this server accepts only requests of the user who started it and of root; start it with --tokens",
            ));
        }
        if self.tokens.is_empty() {
            self.refuse_strange_pages(headers)?;
            return Ok(Caller { name: "local".to_owned(), role: Role::Admin, from });
        }
        let Some(given) = GivenToken::of(headers) else {
            return Err(Fault::new(
                StatusCode::UNAUTHORIZED,
                "token required: send 'Authorization: Bearer TOKEN', or the token as the password of HTTP Basic",
            ));
        };
        if given.may_be_a_browsers {
            refuse_other_origins(headers)?;
        }
        let digest: [u8; 32] = Sha256::digest(&given.secret).into();
        let is_it = |token: &&Token| {
            token.digest == digest && given.name.as_ref().is_none_or(|name| *name == token.name)
        };
        let known = self.tokens.iter().find(is_it);
        known
            .map(|token| Caller { name: token.name.clone(), role: token.role, from })
            .ok_or_else(|| Fault::new(StatusCode::UNAUTHORIZED, "unknown token"))
    }

    /// Without tokens, a foreign page open in a local browser could send requests in its user's name: through its own
    /// name that resolves to this machine, or across origins.
    fn refuse_strange_pages(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        if !host.is_empty() && !self.is_own(host) {
            return Err(Fault::forbidden(format!(
                "'{host}' is not this server's address; without tokens it accepts only its own, and names given with \
                 --allow-host"
            )));
        }
        refuse_other_origins(headers)
    }

    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
        name == "localhost"
            || name.parse().is_ok_and(is_loopback)
            || name == self.listen.ip().to_string()
            || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

/// Refuses requests that a page of another site has made a browser send.
fn refuse_other_origins(headers: &HeaderMap) -> Result<(), Fault> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (host, origin) = (text(header::HOST), text(header::ORIGIN));
    let of_origin = origin.split_once("://").map_or(origin, |(_, host)| host);
    if !origin.is_empty() && of_origin != host {
        return Err(Fault::forbidden("cross-origin request refused"));
    }
    Ok(())
}

/// The token of a request.
struct GivenToken {
    /// The name it is given with: the user of HTTP Basic, who may be left out.
    name: Option<String>,
    secret: Vec<u8>,
    /// Whether a browser may have sent it by itself. It keeps passwords, not bearer tokens.
    may_be_a_browsers: bool,
}

impl GivenToken {
    /// A bearer token (RFC 6750), or the password of HTTP Basic (RFC 7617) as in `https://ci:TOKEN@host`: what programs can
    /// send that know nothing of tokens.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, rest) = value.split_once(' ')?;
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => {
                let secret = rest.trim().as_bytes().to_vec();
                Some(Self { name: None, secret, may_be_a_browsers: false })
            }
            "basic" => {
                let pair = BASE64_STANDARD.decode(rest.trim()).ok()?;
                let colon = pair.iter().position(|byte| *byte == b':')?;
                let name = String::from_utf8(pair[..colon].to_vec()).ok()?;
                let name = (!name.is_empty()).then_some(name);
                Some(Self { name, secret: pair[colon + 1..].to_vec(), may_be_a_browsers: true })
            }
            _ => None,
        }
    }
}

/// The least role for a request.
pub(crate) fn role_for(method: &Method) -> Role {
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Role::Watch,
        _ => Role::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde_json::json;

    fn with(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    fn here() -> SocketAddr {
        "127.0.0.1:8443".parse().unwrap()
    }

    fn from(welcome: bool) -> From {
        From { address: here(), welcome }
    }

    #[test]
    fn tokens_say_who_asks() {
        let list = json!([{"name": "eye", "role": "watch", "token": "0123456789abcdef"}]);
        let door = Door::new(Token::list(list).unwrap(), here(), Vec::new());
        let ask = |pairs: &[(header::HeaderName, &str)]| door.caller(&with(pairs), from(true));
        assert_eq!(ask(&[]).unwrap_err().status(), 401);
        assert_eq!(ask(&[(header::AUTHORIZATION, "Bearer 0123456789abcdeF")]).unwrap_err().status(), 401);
        let caller = ask(&[(header::AUTHORIZATION, "bearer 0123456789abcdef")]).unwrap();
        assert_eq!((caller.name.as_str(), caller.role), ("eye", Role::Watch));
        assert!(caller.must_be(Role::Run).is_err());
    }

    #[test]
    fn a_password_is_a_token_too() {
        let list = json!([{"name": "eye", "role": "watch", "token": "0123456789abcdef"}]);
        let door = Door::new(Token::list(list).unwrap(), here(), Vec::new());
        let ask = |pair: &str, more: &[(header::HeaderName, &str)]| {
            let basic = format!("Basic {}", BASE64_STANDARD.encode(pair));
            let pairs = [&[(header::AUTHORIZATION, basic.as_str())], more].concat();
            door.caller(&with(&pairs), from(true))
                .map(|caller| caller.name)
                .map_err(|fault| fault.status().as_u16())
        };
        assert_eq!(ask("eye:0123456789abcdef", &[]), Ok("eye".to_owned()));
        assert_eq!(ask(":0123456789abcdef", &[]), Ok("eye".to_owned()));
        assert_eq!(ask("ear:0123456789abcdef", &[]), Err(401), "somebody else's name");
        assert_eq!(ask("eye:0123456789abcdeF", &[]), Err(401));
        assert_eq!(ask("0123456789abcdef", &[]), Err(401));
        // A browser keeps a password, and other sites' pages make it send that.
        let page = [(header::HOST, "eagre:8443"), (header::ORIGIN, "https://evil.example")];
        assert_eq!(ask("eye:0123456789abcdef", &page), Err(403));
    }

    #[test]
    fn without_tokens_pages_from_elsewhere_are_refused() {
        let door = Door::new(Vec::new(), here(), vec!["lab.example".to_owned()]);
        let ask =
            |pairs: &[(header::HeaderName, &str)]| door.caller(&with(pairs), from(true)).map(|c| c.role);
        for host in ["127.0.0.1:8443", "localhost:8443", "localhost", "[::1]:8443", "Lab.example:8443"] {
            assert_eq!(ask(&[(header::HOST, host)]).unwrap(), Role::Admin, "{host}");
        }
        assert_eq!(ask(&[(header::HOST, "evil.example:8443")]).unwrap_err().status(), 403);
        let both = [(header::HOST, "localhost:8443"), (header::ORIGIN, "http://evil.example")];
        assert_eq!(ask(&both).unwrap_err().status(), 403);
        let own = [(header::HOST, "localhost:8443"), (header::ORIGIN, "http://localhost:8443")];
        assert!(ask(&own).is_ok());
        assert_eq!(door.caller(&with(&own), from(false)).unwrap_err().status(), 403);
    }

    #[test]
    fn bad_lists_are_told_without_their_secrets() {
        for (list, words) in [
            (json!({}), "a list"),
            (json!([]), "no token"),
            (json!([{"name": "a", "role": "king", "token": "0123456789abcdef"}]), "entry 1"),
            (json!([{"name": "a", "role": "run", "token": "secret"}]), "shorter than 16"),
        ] {
            let said = Token::list(list).unwrap_err().to_string();
            assert!(said.contains(words) && !said.contains("secret"), "{said}");
        }
    }
}
