//! Printing to standard output and standard error that may be closed or full: the macros `print`, `println`, `eprint` and
//! `eprintln` of this crate.
//!
//! A reader that has left (`| head`) ends nothing: what is still printed is dropped, and the command keeps its exit code.
//! That holds for SIGPIPE too, which stays ignored, as Rust starts programs: the peers of a server, of a socket port or of
//! a collector leave when they like. Any other failure, such as a full disk, is kept for [`flush`].
//!
//! Invariant: printing never panics.

use crate::Failure;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// Why standard output takes no more.
static LOST: OnceLock<io::Error> = OnceLock::new();

macro_rules! print {
    ($($text:tt)*) => { $crate::print::out(format_args!($($text)*)) };
}

macro_rules! println {
    () => { $crate::print::out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::print::out(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! eprint {
    ($($text:tt)*) => { $crate::print::err(format_args!($($text)*)) };
}

macro_rules! eprintln {
    ($($text:tt)*) => { $crate::print::err(format_args!("{}\n", format_args!($($text)*))) };
}

/// Standard output, as the macros write to it.
#[derive(Debug)]
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if LOST.get().is_none()
            && let Err(error) = io::stdout().write_all(bytes)
        {
            let _ = LOST.set(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if LOST.get().is_none()
            && let Err(error) = io::stdout().flush()
        {
            let _ = LOST.set(error);
        }
        Ok(())
    }
}

/// Text for a terminal. Names and reasons may come from other users and other machines: no character of theirs moves the cursor or
/// changes a colour.
pub(crate) fn harmless(text: String) -> String {
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(odd) { text.replace(odd, "\u{fffd}") } else { text }
}

/// Prints to standard output.
pub(crate) fn out(text: Arguments<'_>) {
    // A failure is kept.
    let _ = Stdout.write_all(harmless(text.to_string()).as_bytes());
}

/// Prints to standard output and flushes.
pub(crate) fn now(text: &str) {
    out(format_args!("{text}"));
    let _ = Stdout.flush();
}

/// Prints to standard error. A failure cannot be reported.
pub(crate) fn err(text: Arguments<'_>) {
    let _ = io::stderr().write_all(harmless(text.to_string()).as_bytes());
}

/// Writes what is left to standard output.
///
/// # Errors
/// Some of it was lost, but not because the reader has left.
pub(crate) fn flush() -> Result<(), Failure> {
    let _ = Stdout.flush();
    match LOST.get() {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_control_no_terminal() {
        assert_eq!(harmless("a\u{1b}[2J\tb\u{7}\n".to_owned()), "a\u{fffd}[2J\tb\u{fffd}\n");
    }
}
