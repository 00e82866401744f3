//! The end of this process, and of those it has started.

use rustix::process::{Pid, Signal, kill_process, kill_process_group, set_parent_process_death_signal};
use std::fs::File;
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

/// Asks a child to end (SIGTERM).
pub fn terminate(child: &Child) {
    // It was not waited for yet, so its number is nobody else's.
    if let Some(pid) = pid_of(child) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Ends a child and all processes of its group, which it leads (SIGTERM, and SIGKILL after `patience`); waits for the child.
pub fn end_group(child: &mut Child, patience: Duration) {
    let Some(group) = pid_of(child) else { return };
    // The child may have ended, but others of its group live: then the number is still the group's.
    let _ = kill_process_group(group, Signal::TERM);
    let began = Instant::now();
    while began.elapsed() < patience {
        let ended = child.try_wait().is_ok_and(|status| status.is_some());
        if ended && group_size(child.id()) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// Processes of a group that have not ended.
pub fn group_size(group: u32) -> usize {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter(|stat| is_of_group(stat, group)).count()
}

/// Whether a process's `stat` (proc(5)) is of a group and of a process that lives: state and group are the first and
/// the third field after the name.
fn is_of_group(stat: &str, group: u32) -> bool {
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = fields.split_whitespace().take(3).collect();
    matches!(fields[..], [state, _, own] if !matches!(state, "Z" | "X") && own.parse() == Ok(group))
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// An empty file in memory that has no name and is gone once it is closed.
pub fn unnamed_file() -> io::Result<File> {
    let file = rustix::fs::memfd_create("eagre", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(file.into())
}

/// Gives this thread a name, of 15 bytes at most; that of the first thread is what tools call the process.
pub fn be_called(name: &str) {
    let name = std::ffi::CString::new(name).unwrap_or_default();
    // A name is for people; nothing depends on it.
    let _ = rustix::thread::set_name(&name);
}

/// Lets the kernel kill this process when the thread that started it ends: for a program that was started so, and whose file gives it
/// capabilities, which makes the kernel forget it.
pub fn end_with_parent() {
    // If this fails, the end of the parent shows otherwise, as on a socket.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Ends this process at once: no destructor, no exit handler, and no thread that hangs in a driver delays it.
pub fn end_now(code: i32) -> ! {
    // SAFETY: allowed anywhere; nothing of this process runs after it.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_told_apart() {
        let stat = |state: &str, group: u32| format!("12 (a ) b) {state} 1 {group} 12 0 -1");
        assert!(is_of_group(&stat("S", 40), 40));
        assert!(!is_of_group(&stat("Z", 40), 40));
        assert!(!is_of_group(&stat("R", 41), 40));
        assert!(!is_of_group("", 40));
    }
}
