//! The process of an agent, wherever it is.
//!
//! Invariant: a process that this one has started ends with the thread that started it.

use crate::lost::{self, Lost};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child as OsChild, Command, Stdio};

/// This program, also after its file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// Variable of the environment with credentials of a fleet, which processes of runs do not get.
pub const JOIN_VARIABLE: &str = "EAGRE_JOIN";

/// The process at the other end of a socket: on this machine, or behind a link to another.
pub trait Process {
    /// Ends it, whatever it does.
    fn kill(&mut self);

    /// Once it has ended, how that came about if its work was not done.
    fn ended(&mut self) -> Option<Lost>;
}

/// An agent's process on this machine.
#[derive(Debug)]
pub struct Child {
    child: OsChild,
    kills_before: u64,
}

impl Child {
    /// Starts one, with `arguments` behind its command; also returns the server's end of its socket.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(arguments: &[String]) -> std::io::Result<(Self, UnixStream)> {
        let kills_before = lost::kills_for_memory();
        let (here, there) = UnixStream::pair()?;
        let mut command = Command::new(PROGRAM);
        command.arg0("eagre").arg("agent").args(arguments);
        command.stdin(Stdio::from(OwnedFd::from(there))).stdout(Stdio::null());
        command.env_remove(JOIN_VARIABLE);
        // Ctrl-C in a terminal is for the server, which stops its runs.
        command.process_group(0);
        let child = os::namespace::tie(&mut command).spawn()?;
        // It has the other end open, too.
        drop(command);
        Ok((Self { child, kills_before }, here))
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Process for Child {
    fn kill(&mut self) {
        let _ = self.child.kill();
    }

    fn ended(&mut self) -> Option<Lost> {
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status,
            Err(_) => std::process::ExitStatus::default(),
        };
        Some(Lost::failed(lost::reason(status, lost::kills_for_memory() > self.kills_before)))
    }
}
