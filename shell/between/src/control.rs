//! The control connection: states of one octet, and JSON with its length before it.

use crate::{Wrong, reason};
use iperf::State;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest wait for what must come at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Control {
    stream: TcpStream,
}

/// Received item, if any.
pub(crate) enum Came {
    Nothing,
    State(State),
    /// The other end closed the connection, or it broke.
    Gone,
}

impl Control {
    /// # Errors
    /// The kernel takes no time limits.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn say(&mut self, state: State) -> Result<(), Wrong> {
        self.write(&[state.octet()])
    }

    /// Says that this end failed: iperf3's number of the reason, and none of the kernel's.
    pub(crate) fn fail(&mut self, number: u32) -> Result<(), Wrong> {
        let mut octets = vec![State::ServerError.octet()];
        octets.extend(number.to_be_bytes());
        octets.extend(0u32.to_be_bytes());
        self.write(&octets)
    }

    fn write(&mut self, octets: &[u8]) -> Result<(), Wrong> {
        self.stream.write_all(octets).map_err(|error| lost(&error))
    }

    /// A state, within [`PATIENCE`].
    pub(crate) fn hear(&mut self) -> Result<State, Wrong> {
        let mut octet = [0];
        self.read(&mut octet, PATIENCE)?;
        State::from_octet(octet[0])
            .ok_or_else(|| Wrong::Unexpected(format!("the other end reports {}", octet[0])))
    }

    /// Numbers of a failure: iperf3's own and the kernel's.
    pub(crate) fn failure(&mut self) -> Result<(u32, u32), Wrong> {
        let mut octets = [0; 8];
        self.read(&mut octets, PATIENCE)?;
        let number = |at: usize| octets[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        Ok((number(0), number(4)))
    }

    /// Waits so long for a state.
    pub(crate) fn listen(&mut self, time: Duration) -> Result<Came, Wrong> {
        let mut asked = [PollFd::new(&self.stream, PollFlags::IN)];
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut asked, Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Came::Nothing),
            Ok(_) => {}
            Err(error) => return Err(Wrong::io("cannot wait")(error.into())),
        }
        let mut octet = [0];
        match self.stream.read(&mut octet) {
            Ok(1) => State::from_octet(octet[0])
                .map(Came::State)
                .ok_or_else(|| Wrong::Unexpected(format!("the other end reports {}", octet[0]))),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Came::Nothing)
            }
            Ok(_) | Err(_) => Ok(Came::Gone),
        }
    }

    pub(crate) fn tell(&mut self, document: &impl Serialize) -> Result<(), Wrong> {
        let text = serde_json::to_string(document).map_err(|error| Wrong::Refused(error.to_string()))?;
        let mut octets = (text.len() as u32).to_be_bytes().to_vec();
        octets.extend(text.as_bytes());
        self.write(&octets)
    }

    /// A document of at most `most` octets.
    pub(crate) fn document<T: DeserializeOwned>(&mut self, most: usize, what: &str) -> Result<T, Wrong> {
        let mut length = [0; 4];
        self.read(&mut length, PATIENCE)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > most {
            return Err(Wrong::Unexpected(format!("{what} of {length} octets: the most is {most}")));
        }
        // Memory for what comes, not for what is announced.
        let mut text = Vec::new();
        let before = Instant::now() + PATIENCE;
        let mut part = [0; 16 << 10];
        while text.len() < length {
            let next = part.len().min(length - text.len());
            self.read(&mut part[..next], before.saturating_duration_since(Instant::now()))?;
            text.extend_from_slice(&part[..next]);
        }
        serde_json::from_slice(&text).map_err(|error| Wrong::Unexpected(format!("{what}: {error}")))
    }

    fn read(&mut self, mut into: &mut [u8], within: Duration) -> Result<(), Wrong> {
        let before = Instant::now() + within;
        while !into.is_empty() {
            let left = before.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Wrong::Unexpected("the other end does not respond".to_owned()));
            }
            self.stream.set_read_timeout(Some(left)).map_err(|error| lost(&error))?;
            match self.stream.read(into) {
                Ok(0) => return Err(Wrong::Unexpected("the other end closed the connection".to_owned())),
                Ok(length) => into = &mut into[length..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        Ok(())
    }
}

fn lost(error: &io::Error) -> Wrong {
    Wrong::Unexpected(format!("the connection to the other end broke: {}", reason(error)))
}
