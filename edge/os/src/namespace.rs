//! Network namespaces, and programs that run in one and end with this process.
//!
//! Invariant: what is private here leaves nothing behind, however this process ends: the kernel removes a namespace that no
//! process and no file holds, and kills what is tied to a thread that ends.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

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

/// Gives the programs that the calling thread starts from now on a table of processes each of its own: the first that is started
/// takes all its descendants with it when it ends. To be called once in a thread. Needs CAP_SYS_ADMIN.
pub fn separate_processes() -> io::Result<()> {
    // SAFETY: this changes only where children of this thread are numbered.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWPID)? };
    Ok(())
}

/// Lets the program end, killed, when the thread that starts it does.
pub fn tie(command: &mut Command) -> &mut Command {
    let tie = || {
        let signal = rustix::process::Signal::KILL;
        Ok(rustix::process::set_parent_process_death_signal(Some(signal))?)
    };
    // SAFETY: between fork and exec the closure makes one system call and nothing else.
    unsafe { command.pre_exec(tie) }
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
}
