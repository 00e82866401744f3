//! Reasons for the end of an agent before its run's, in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The exit code of this program when memory runs out.
pub const OUT_OF_MEMORY: i32 = 3;

/// Why there is no result of a run: its process did not start, or ended before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// In words.
    pub reason: String,
    /// Whether the way to it was lost, not the process: the run is incomplete, and what it did last is not known.
    pub is_cut_off: bool,
}

impl Lost {
    /// Of a process that failed.
    pub fn failed(reason: String) -> Self {
        Self { reason, is_cut_off: false }
    }
}

/// Number of processes that the kernel has ended because memory ran out, since it started.
pub(crate) fn kills_for_memory() -> u64 {
    let counts = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counts.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Reason for the end of a process that this one has not ended. `for_memory`: the kernel has meanwhile ended some because memory ran out.
pub(crate) fn reason(status: ExitStatus, for_memory: bool) -> String {
    if status.code() == Some(OUT_OF_MEMORY) {
        return "the engine's process ran out of memory; use fewer streams or sessions, or free memory"
            .to_owned();
    }
    if let Some(code) = status.code() {
        return format!("the engine's process ended with code {code} before the run did");
    }
    let signal = status.signal().unwrap_or_default();
    let (name, meaning) = match signal {
        4 => ("SIGILL", "it ran an instruction that this processor does not have"),
        6 => ("SIGABRT", "a part of it gave up"),
        7 => ("SIGBUS", "it used memory that is not there any more"),
        8 => ("SIGFPE", "it divided by zero"),
        9 if for_memory => ("SIGKILL", "by the kernel, because memory ran out"),
        9 => ("SIGKILL", "by an operator or another program"),
        11 => ("SIGSEGV", "it used memory that is not its own"),
        15 => ("SIGTERM", "by an operator or another program"),
        31 => ("SIGSYS", "it made a system call that is forbidden here"),
        _ => return format!("the engine's process was killed by signal {signal}"),
    };
    format!("the engine's process was killed by {name}: {meaning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_reason() {
        let said = |raw: i32, for_memory: bool| reason(ExitStatus::from_raw(raw), for_memory);
        assert!(said(11, true).contains("SIGSEGV"));
        assert!(said(9, true).contains("memory ran out") && said(9, false).contains("operator"));
        // A core was dumped.
        assert!(said(0x80 | 6, false).contains("SIGABRT"));
        assert!(said(3 << 8, false).contains("ran out of memory"));
        assert_eq!(said(101 << 8, false), "the engine's process ended with code 101 before the run did");
        assert!(said(34, false).contains("signal 34"));
    }
}
