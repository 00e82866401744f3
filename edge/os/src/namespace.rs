//! Network namespaces, and programs that run in one and end with this process.
//!
//! Invariant: what is private here leaves nothing behind, however this process ends: the kernel removes a namespace that no
//! process and no file holds, and kills what is tied to a thread that ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal};

/// Where `ip netns` keeps namespaces by name.
const NAMED: &str = "/run/netns";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// The one that `ip netns` knows by this name.
    pub fn named(name: &str) -> io::Result<Self> {
        Ok(Self { file: File::open(Path::new(NAMED).join(name))? })
    }

    /// A new one, which ends when nothing holds it any more. Needs CAP_SYS_ADMIN.
    pub fn private() -> io::Result<Self> {
        // Only a thread of its own may leave the namespace of the others.
        let make = || {
            // SAFETY: the thread shares nothing that depends on its network namespace, and ends.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET)? };
            Ok(Self { file: File::open("/proc/thread-self/ns/net")? })
        };
        let thread = std::thread::Builder::new().name("eagre-netns".to_owned()).spawn(make)?;
        thread.join().map_err(|_| io::ErrorKind::Other)?
    }

    /// Another handle on it.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// Moves the calling thread into it. Needs CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        let kind = rustix::thread::LinkNameSpaceType::Network;
        Ok(rustix::thread::move_into_link_name_space(self.file.as_fd(), Some(kind))?)
    }
}

/// Gives the programs that the calling thread starts from now on separate process tables: the first one started takes
/// all its descendants with it when it ends. Must be called once in a thread. Needs CAP_SYS_ADMIN.
pub fn separate_processes() -> io::Result<()> {
    // SAFETY: this changes only where children of this thread are numbered.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWPID)? };
    Ok(())
}

/// Lets the program end, killed, when the thread that starts it does. It does not start if this process ended before the kernel
/// knew of that.
pub fn tie(command: &mut Command) -> &mut Command {
    let parent = getpid();
    // A program with a table of processes of its own does not see its parent's number.
    let handle = pidfd_open(parent, PidfdFlags::empty()).ok();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let another = getppid().is_some_and(|now| now != parent);
        if another || handle.as_ref().is_some_and(has_ended) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes three system calls and nothing else.
    unsafe { command.pre_exec(tie) }
}

fn has_ended(process: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(process, PollFlags::IN)];
    poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net() -> std::path::PathBuf {
        std::fs::read_link("/proc/thread-self/ns/net").unwrap()
    }

    #[test]
    fn a_private_namespace_is_another_and_has_only_loopback() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let own = net();
        let namespace = Namespace::private().unwrap();
        assert_eq!(net(), own, "the calling thread stays");
        std::thread::spawn(move || {
            namespace.enter().unwrap();
            assert_ne!(net(), own);
            let links = crate::link::list().unwrap();
            assert_eq!(links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["lo"]);
        })
        .join()
        .unwrap();
        assert_eq!(Namespace::named("no-such-namespace").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || tie(Command::new("sleep").arg("60")).spawn().unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        assert!(!child.wait().unwrap().success());
    }
    /// The role of a process that `a_program_does_not_start_after_its_parent` starts and that its own child ends.
    const ROLE: &str = "EAGRE_TEST_PARENT";

    #[test]
    fn a_program_does_not_start_after_its_parent() {
        let name = "namespace::tests::a_program_does_not_start_after_its_parent";
        let Ok(folder) = std::env::var(ROLE) else {
            let folder = std::env::temp_dir().join(format!("eagre-tie-{}", std::process::id()));
            std::fs::create_dir(&folder).unwrap();
            let mut parent = Command::new(std::env::current_exe().unwrap());
            let status = parent.args(["--exact", name]).env(ROLE, &folder).status().unwrap();
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
            // The child held the lock until it gave up or became another program.
            let lock = File::open(folder.join("lock")).unwrap();
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
            assert!(!folder.join("started").exists());
            std::fs::remove_dir_all(&folder).unwrap();
            return;
        };
        let lock = File::create(Path::new(&folder).join("lock")).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let own = getpid();
        let end_parent = move || {
            rustix::process::kill_process(own, Signal::KILL)?;
            while getppid() == Some(own) {
                rustix::thread::sched_yield();
            }
            Ok(())
        };
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("touch {folder}/started"));
        // SAFETY: system calls alone.
        unsafe { command.pre_exec(end_parent) };
        // The descriptor of the lock is closed by the program that starts: its standard input stays.
        command.stdin(lock);
        let _ = tie(&mut command).spawn();
        unreachable!("the child ends this process");
    }
}
