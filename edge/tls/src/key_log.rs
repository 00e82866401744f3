//! Secrets of connections as lines of the SSLKEYLOGFILE format (RFC 9850), with which others decrypt a capture.

use std::fmt::{Debug, Formatter, Result, Write};
use std::sync::Arc;

/// Takes each secret of connections as a line, without its end. It is called during handshakes, so it must not wait.
#[derive(Clone)]
pub struct KeyLog(Arc<dyn Fn(String) + Send + Sync>);

impl KeyLog {
    /// Hands lines to `take`.
    pub fn new(take: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

impl Debug for KeyLog {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("KeyLog").finish_non_exhaustive()
    }
}

impl rustls::KeyLog for KeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        (self.0)(line(label, client_random, secret));
    }
}

/// Label, the random number of ClientHello and the secret, in hexadecimal (RFC 9850 section 2).
fn line(label: &str, client_random: &[u8], secret: &[u8]) -> String {
    let mut line = String::with_capacity(label.len() + 2 + 2 * (client_random.len() + secret.len()));
    line.push_str(label);
    for bytes in [client_random, secret] {
        line.push(' ');
        for byte in bytes {
            // A String takes everything.
            let _ = write!(line, "{byte:02x}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_label_and_two_numbers() {
        assert_eq!(line("CLIENT_RANDOM", &[0, 0x1f], &[0xab]), "CLIENT_RANDOM 001f ab");
    }
}
