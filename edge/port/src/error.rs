//! Why a port can't be used, and what to do about it.

use std::fmt;

/// Class of a failure to open a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortErrorKind {
    /// The device string itself can't be understood.
    Name,
    /// There is no such device.
    Missing,
    /// The device is there but can't be used as it is: down, too small an MTU, in use, bound to another driver.
    State,
    /// The process lacks a privilege.
    Privilege,
    /// A driver or library is not installed.
    Driver,
    /// Memory or another resource ran out.
    Resource,
}

/// A port that can't be used: which, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortError {
    /// The device string.
    pub device: String,
    /// Class.
    pub kind: PortErrorKind,
    /// Description of the error, a sentence without its full stop.
    pub reason: String,
    /// Remedy, a sentence without its full stop; empty if there is none.
    pub remedy: String,
}

impl PortError {
    /// An error about `device`.
    pub fn new(
        device: &str,
        kind: PortErrorKind,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { device: device.to_owned(), kind, reason: reason.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port '{}': {}", self.device, self.reason)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

impl std::error::Error for PortError {}
