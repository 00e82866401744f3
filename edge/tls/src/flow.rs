//! One flow's encryption: a rustls connection that reads from slices and writes to vectors.
//!
//! Invariant: nothing that was taken out stays behind. A flow at rest holds keys and the state of its connection; of
//! buffers only the one in which the library joins records (4 KiB, and it can't be taken away from it).

use std::io::{BufRead, Write};
use std::ops::DerefMut;

use rustls::{ConnectionCommon, HandshakeKind};
use session::secure::{Agreed, Secure, SecureError};
use units::Nanos;

use crate::failure;
use crate::names;

/// A flow over the library's connection of one side.
pub(crate) struct Flow<C> {
    connection: C,
    closing: Closing,
    peer_closed: bool,
}

/// Progress of this side's closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    No,
    /// Wanted before the handshake was done: what is held back goes first.
    Wanted,
    Said,
}

impl<C, D> Flow<C>
where
    C: DerefMut<Target = ConnectionCommon<D>>,
{
    pub(crate) fn new(mut connection: C) -> Self {
        // A session bounds what it sends by itself; what it hands over must not be lost here.
        connection.set_buffer_limit(None);
        Self { connection, closing: Closing::No, peer_closed: false }
    }

    /// Processes the library's buffer; appends the plain text to `plain`.
    fn process(&mut self, plain: &mut Vec<u8>) -> Result<(), SecureError> {
        let outcome = self.connection.process_new_packets();
        // What came before something broken was said all the same.
        let mut reader = self.connection.reader();
        while let Ok(bytes) = reader.fill_buf() {
            if bytes.is_empty() {
                break;
            }
            plain.extend_from_slice(bytes);
            let len = bytes.len();
            reader.consume(len);
        }
        self.peer_closed = outcome.map_err(failure::of_library)?.peer_has_closed();
        Ok(())
    }

    /// Says the end now if it was wanted earlier and everything before it has been encrypted.
    fn say_end_if_wanted(&mut self) {
        if self.closing == Closing::Wanted && !self.connection.is_handshaking() {
            self.connection.send_close_notify();
            self.closing = Closing::Said;
        }
    }
}

impl<C, D> Secure for Flow<C>
where
    C: DerefMut<Target = ConnectionCommon<D>> + Send,
{
    fn receive(&mut self, _now: Nanos, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), SecureError> {
        while !bytes.is_empty() {
            match self.connection.read_tls(&mut bytes) {
                // After `close_notify` whatever comes is ignored (RFC 8446 section 6.1).
                Ok(0) => break,
                Ok(_) => {}
                // A message larger than any that TLS has.
                Err(error) => return Err(SecureError::Protocol(error.to_string())),
            }
            self.process(plain)?;
        }
        self.say_end_if_wanted();
        Ok(())
    }

    fn send(&mut self, plain: &[u8]) {
        if self.closing == Closing::No {
            // Fails only for a flow that has failed, which `receive` has said.
            let _ = self.connection.writer().write_all(plain);
        }
    }

    fn close(&mut self) {
        if self.closing == Closing::No {
            self.closing = Closing::Wanted;
            self.say_end_if_wanted();
        }
    }

    fn take_output(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            // Writing to a vector does not fail.
            if !matches!(self.connection.write_tls(out), Ok(1..)) {
                break;
            }
        }
    }

    fn agreed(&self) -> Option<Agreed> {
        let connection = &*self.connection;
        if connection.is_handshaking() {
            return None;
        }
        Some(Agreed {
            version: names::number(connection.protocol_version()?),
            suite: names::of_suite(connection.negotiated_cipher_suite()?.suite()),
            group: connection
                .negotiated_key_exchange_group()
                .map_or("", |group| names::of_group(group.name())),
            alpn: connection.alpn_protocol().map_or("", names::of_protocol),
            resumed: connection.handshake_kind()? == HandshakeKind::Resumed,
        })
    }

    fn peer_closed(&self) -> bool {
        self.peer_closed
    }
}

/// A flow that could not begin: the machine had no randomness, or no time.
pub(crate) struct FailedFlow(pub(crate) SecureError);

impl Secure for FailedFlow {
    fn receive(&mut self, _: Nanos, _: &[u8], _: &mut Vec<u8>) -> Result<(), SecureError> {
        Err(self.0.clone())
    }

    fn send(&mut self, _: &[u8]) {}

    fn close(&mut self) {}

    fn take_output(&mut self, _: &mut Vec<u8>) {}

    fn agreed(&self) -> Option<Agreed> {
        None
    }

    fn peer_closed(&self) -> bool {
        false
    }
}
