//! A byte stream over the broker: between a socket here and a subject there, with numbers and credit.
//!
//! NATS delivers at most once and drops what a slow subscriber does not take. So parcels have numbers, and a gap ends the tunnel; and no
//! more is on its way than the other end has room for.
//!
//! Invariant: what arrives is what was sent, from its first byte on, without a gap.

use crate::REPLY_TIME;
use agent::Lost;
use async_nats::{Client, Subscriber};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// Bytes of the largest parcel; NATS takes 1 MiB in all by default.
const PARCEL_MAX: usize = 256 << 10;
/// Parcels on their way.
const WINDOW: u64 = 256;
/// Parcels after which their arrival is confirmed.
const CONFIRM_EVERY: u64 = 32;
/// Time without a parcel after which those before are confirmed.
const CONFIRM_TIME: Duration = Duration::from_secs(1);
/// Bytes in front of a parcel.
const HEADER: usize = 9;

/// Kinds of parcels.
const DATA: u8 = 1;
const CONFIRMED: u8 = 2;
const CLOSED: u8 = 3;
const CUT_OFF: u8 = 4;

/// How a tunnel ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The socket here was closed.
    Here,
    /// The other end was closed, for this reason.
    There(Lost),
    /// It was cut, for this reason.
    Cut(String),
}

/// A tunnel's end.
pub(crate) struct Tunnel {
    client: Client,
    /// Where parcels go.
    to: String,
    /// Where they come from.
    from: Subscriber,
    socket: UnixStream,
    numbers: Numbers,
    /// When a parcel came last.
    heard: Instant,
}

/// Numbers of parcels.
#[derive(Debug, Default)]
struct Numbers {
    sent: u64,
    confirmed: u64,
    received: u64,
    /// Of those received, the ones the other end knows of.
    reported: u64,
}

/// A parcel without its header.
fn parcel(kind: u8, number: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.push(kind);
    bytes.extend(number.to_le_bytes());
    bytes.extend(content);
    bytes
}

/// Kind, number and content of a parcel.
fn opened(bytes: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (header, content) = bytes.split_at_checked(HEADER)?;
    let number = u64::from_le_bytes(header[1..].try_into().ok()?);
    Some((header[0], number, content))
}

impl Numbers {
    fn has_room(&self) -> bool {
        self.sent - self.confirmed < WINDOW
    }

    /// The number of the next parcel.
    fn next(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    /// Counts a parcel; the reason to end the tunnel, if it is not the next one.
    fn count(&mut self, number: u64) -> Result<(), String> {
        if number != self.received + 1 {
            return Err(format!(
                "messages {} to {} were lost on the way",
                self.received + 1,
                number.max(1) - 1
            ));
        }
        self.received = number;
        Ok(())
    }

    fn must_confirm(&self) -> bool {
        self.received - self.reported >= CONFIRM_EVERY
    }
}

impl Tunnel {
    /// Between `socket` and the subjects `to` and `from`.
    pub(crate) fn new(client: Client, to: String, from: Subscriber, socket: UnixStream) -> Self {
        Self { client, to, from, socket, numbers: Numbers::default(), heard: Instant::now() }
    }

    /// Carries bytes both ways until an end is closed, `cut` has a reason, or the other end is silent for `silence`.
    pub(crate) async fn carry(&mut self, cut: &mut oneshot::Receiver<String>, silence: Duration) -> End {
        let mut buffer = vec![0; PARCEL_MAX];
        loop {
            let unreported = self.numbers.received > self.numbers.reported;
            let has_room = self.numbers.has_room();
            let deadline = self.heard + silence;
            tokio::select! {
                reason = &mut *cut => return End::Cut(reason.unwrap_or_else(|_| "it was given up".to_owned())),
                read = self.socket.read(&mut buffer), if has_room => match read {
                    Ok(length @ 1..) => {
                        let bytes = parcel(DATA, self.numbers.next(), &buffer[..length]);
                        self.publish(bytes).await;
                    }
                    _ => return End::Here,
                },
                message = self.from.next() => {
                    let Some(message) = message else { return End::Cut("the connection to NATS has ended".to_owned()) };
                    self.heard = Instant::now();
                    match self.take(&message.payload).await {
                        Ok(None) => {}
                        Ok(Some(end)) => return end,
                        Err(reason) => return End::Cut(reason),
                    }
                }
                () = sleep_until(deadline) => {
                    return End::Cut(format!("the other end was silent for {} s", silence.as_secs()));
                }
                () = tokio::time::sleep(CONFIRM_TIME), if unreported => self.confirm().await,
            }
        }
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<Option<End>, String> {
        let Some((kind, number, content)) = opened(bytes) else {
            return Err("a message is damaged".to_owned());
        };
        match kind {
            DATA => {
                self.numbers.count(number)?;
                if self.socket.write_all(content).await.is_err() {
                    return Ok(Some(End::Here));
                }
                if self.numbers.must_confirm() {
                    self.confirm().await;
                }
            }
            CONFIRMED => self.numbers.confirmed = number.clamp(self.numbers.confirmed, self.numbers.sent),
            CLOSED | CUT_OFF => {
                // All before it has come, or something was lost.
                let received = self.numbers.received;
                if number != received {
                    return Err(format!("messages {} to {number} were lost on the way", received + 1));
                }
                let reason = String::from_utf8_lossy(content).into_owned();
                return Ok(Some(End::There(Lost { reason, is_cut_off: kind == CUT_OFF })));
            }
            _ => return Err("a message is of another kind".to_owned()),
        }
        Ok(None)
    }

    async fn confirm(&mut self) {
        self.numbers.reported = self.numbers.received;
        self.publish(parcel(CONFIRMED, self.numbers.received, &[])).await;
    }

    /// Closes the socket; the other end is closed by [`Ended::close`].
    pub(crate) fn end(self) -> Ended {
        Ended { client: self.client, to: self.to, sent: self.numbers.sent }
    }

    async fn publish(&self, bytes: Vec<u8>) {
        // A connection that is lost is noticed by deadlines.
        let _ = self.client.publish(self.to.clone(), bytes.into()).await;
    }
}

/// A tunnel whose socket is closed.
pub(crate) struct Ended {
    client: Client,
    to: String,
    sent: u64,
}

impl Ended {
    /// Closes the other end, once everything that was sent has arrived there.
    pub(crate) async fn close(self, why: &Lost) {
        let kind = if why.is_cut_off { CUT_OFF } else { CLOSED };
        let _ = self.client.publish(self.to, parcel(kind, self.sent, why.reason.as_bytes()).into()).await;
        let _ = tokio::time::timeout(REPLY_TIME, self.client.flush()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_noticed() {
        let mut numbers = Numbers::default();
        numbers.count(1).unwrap();
        numbers.count(2).unwrap();
        assert_eq!(numbers.count(5).unwrap_err(), "messages 3 to 4 were lost on the way");
        assert!(numbers.count(2).is_err(), "and so is one that comes twice");
        assert!(numbers.count(0).is_err());
    }

    #[test]
    fn parcels_arrive_as_they_were_sent() {
        assert_eq!(opened(&parcel(DATA, u64::MAX, b"tide")), Some((DATA, u64::MAX, &b"tide"[..])));
        assert_eq!(opened(&[DATA; 8]), None);
    }

    #[test]
    fn no_more_is_on_its_way_than_there_is_room_for() {
        let mut numbers = Numbers::default();
        while numbers.has_room() {
            numbers.next();
        }
        assert_eq!(numbers.sent, WINDOW);
        numbers.confirmed = 1;
        assert!(numbers.has_room());
    }
}
