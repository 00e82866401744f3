//! All that a program needs to take part in a fleet, as one line of text: name, key, broker, authority.
//!
//! `tls://NAME:SEED@HOST:PORT#AUTHORITY`: the seed is that of an nkey, the authority a certificate (DER) in base64 for URLs. It is a secret.

use agent::JOIN_VARIABLE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;

/// Scheme in front: a connection without TLS has no authority.
const SCHEME: &str = "tls://";

/// Credentials of a fleet's member.
#[derive(Clone, PartialEq, Eq)]
pub struct Join {
    /// The member's name: an agent's, or a controller's user.
    pub name: String,
    /// Seed of its nkey.
    pub(crate) seed: String,
    /// Host and port of the broker.
    pub(crate) address: String,
    /// Certificate of the authority that signed the broker's, DER.
    pub(crate) authority: Vec<u8>,
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join")
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Join {
    /// Reads the line, or the first one of a file that has it, with or without `EAGRE_JOIN=` in front. Lines with `#` in front are comments.
    ///
    /// # Errors
    /// What is wrong; never quotes the line.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let line = lines.next().unwrap_or_default();
        let line = line.strip_prefix(JOIN_VARIABLE).and_then(|rest| rest.strip_prefix('=')).unwrap_or(line);
        let line = line.trim_matches(['\'', '"']);
        let expected =
            || "expected the line that 'eagre fleet add NAME' prints: tls://NAME:KEY@HOST:PORT#…".to_owned();
        let rest = line.strip_prefix(SCHEME).ok_or_else(expected)?;
        let (user, rest) = rest.split_once('@').ok_or_else(expected)?;
        let (name, seed) = user.split_once(':').ok_or_else(expected)?;
        let (address, authority) = rest.split_once('#').ok_or_else(expected)?;
        nkeys::KeyPair::from_seed(seed)
            .map_err(|_| format!("the key of '{name}' is damaged; {}", expected()))?;
        let authority = URL_SAFE_NO_PAD.decode(authority);
        let authority = authority.map_err(|_| format!("the end of the line is damaged; {}", expected()))?;
        if name.is_empty() || address.is_empty() || authority.is_empty() {
            return Err(expected());
        }
        Ok(Self { name: name.to_owned(), seed: seed.to_owned(), address: address.to_owned(), authority })
    }

    /// The line.
    pub fn line(&self) -> String {
        let authority = URL_SAFE_NO_PAD.encode(&self.authority);
        format!("{SCHEME}{}:{}@{}#{authority}", self.name, self.seed, self.address)
    }

    /// The broker's URL, without secrets.
    pub fn url(&self) -> String {
        format!("{SCHEME}{}", self.address)
    }

    /// The member's public key, by which the broker knows it.
    pub(crate) fn public_key(&self) -> String {
        nkeys::KeyPair::from_seed(&self.seed).map(|pair| pair.public_key()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join() -> Join {
        let seed = nkeys::KeyPair::new_from_raw(nkeys::KeyPairType::User, [7; 32]).unwrap().seed().unwrap();
        Join {
            name: "a1".to_owned(),
            seed,
            address: "[2001:db8::1]:4222".to_owned(),
            authority: vec![48, 130, 255, 0],
        }
    }

    #[test]
    fn a_line_is_read_back_from_a_shell_and_from_a_file() {
        let join = join();
        let line = join.line();
        for text in
            [line.clone(), format!("# agent a1\nEAGRE_JOIN={line}\n"), format!("EAGRE_JOIN='{line}' ")]
        {
            assert_eq!(Join::read(&text), Ok(join.clone()), "{text}");
        }
        assert_eq!(join.url(), "tls://[2001:db8::1]:4222");
        assert!(join.public_key().starts_with('U'));
        assert!(!format!("{join:?}").contains(&join.seed));
    }

    #[test]
    fn damaged_lines_are_refused_without_quoting_them() {
        let line = join().line();
        for (from, to) in [("tls://", "nats://"), ("a1:SU", "a1:SX"), ("#", "%"), ("@", ""), ("#", "#!")] {
            let damaged = line.replacen(from, to, 1);
            let reason = Join::read(&damaged).unwrap_err();
            assert!(
                reason.contains("eagre fleet add") && !reason.contains(&join().seed),
                "{damaged}: {reason}"
            );
        }
        assert!(Join::read("").is_err());
    }
}
