//! Confinement of this process before it runs code that is not trusted: a Lua script in it, or a program in its place.
//!
//! Such code may do anything to the memory of its process, so only the kernel can stop it, by lists of what is *allowed*:
//!
//! | by | what |
//! |---|---|
//! | seccomp, in all threads | the system calls in `calls`, some with fixed arguments only. No program, process, socket or address to send to; signals to its own threads only |
//! | Landlock, in all threads | files and folders that the caller names; with newer kernels no signals and abstract sockets of other processes |
//! | a separate user | it owns nothing and has no equals: other processes and their files are out of reach, threads can be counted |
//! | limits | memory, threads, descriptors; no core dumps |
//!
//! Not here: the time it may take. A parent process that the code cannot reach has the deadline.
//!
//! ```text
//! calls.rs     system calls          user.rs     user, capabilities, limits
//! files.rs     files, scopes         threads.rs  what the kernel does for each thread alone
//! give_back.rs files that it leaves
//! ```
//!
//! Separate because Lua scripts and the Python of TRex's profiles need it alike, and share nothing else.

#![allow(unsafe_code)]

mod calls;
mod files;
mod give_back;
mod threads;
mod user;

pub use calls::Purpose;
pub use give_back::give_back;
use std::io;
use std::path::PathBuf;

/// Allowed operations.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// Kind of the code.
    pub purpose: Purpose,
    /// Folders and files to read.
    pub read: Vec<PathBuf>,
    /// Folders to read, and to make and write files in.
    pub write: Vec<PathBuf>,
    /// Programs to read and to start in place of this process.
    pub execute: Vec<PathBuf>,
    /// Bytes of address space the code may take beyond what the process has.
    pub memory_bytes: u64,
}

/// Restrictions enforced by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confined {
    /// Files elsewhere are out of reach.
    pub files: bool,
    /// System calls that are not on the list are refused.
    pub calls: bool,
    /// The process has a separate user. False unless it was root's.
    pub user: bool,
}

impl Confined {
    /// Whether the code is out of reach of everything but what it was given.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.files && self.calls
    }
}

/// Confines all threads of this process, and all that they start, for good.
///
/// # Errors
/// A limit cannot be set, the kernel refused what it knows, or a thread did not follow.
pub fn confine(allowed: &Confinement) -> io::Result<Confined> {
    user::limit(allowed.memory_bytes)?;
    let rules = files::rules(allowed)?;
    let user = user::leave(allowed.purpose)?;
    user::limit_threads(user)?;
    let files = threads::restrict(rules)?;
    user::drop_privileges(allowed.purpose)?;
    let calls = calls::restrict(allowed.purpose)?;
    Ok(Confined { files, calls, user })
}
