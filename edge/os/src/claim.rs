//! Marks of live processes: locks, which end with their holder, however that ends, and mean the same in all containers
//! that have the file. Process numbers do not.
//!
//! A [`Claim`] is a number in a file that many processes share: a lock on the byte at that place (fcntl(2), locks of
//! open file descriptions), so the file stays empty. A [`Marker`] is a file that one process has locked (flock(2));
//! beside temporary files, it distinguishes used ones from abandoned ones.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the marker in a temporary folder.
const MARKER: &str = ".in-use";

/// A unique number, until this is dropped.
#[derive(Debug)]
pub struct Claim {
    _file: File,
    number: u64,
}

impl Claim {
    /// Claims a number in `file`, which is made if it is not there.
    ///
    /// # Errors
    /// The file can't be written, or its file system has no locks.
    pub fn new(file: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(file)?;
        loop {
            let number = crate::entropy::seed();
            let mut lock = byte(number, libc::F_WRLCK);
            match fcntl(&file, libc::F_OFD_SETLK, &mut lock) {
                Ok(()) => return Ok(Self { _file: file, number }),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The number.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// Whether a process has claimed a number in `file`.
///
/// # Errors
/// The file is there and can't be read.
pub fn is_claimed(file: &Path, number: u64) -> io::Result<bool> {
    let file = match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let mut lock = byte(number, libc::F_WRLCK);
    fcntl(&file, libc::F_OFD_GETLK, &mut lock)?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

/// A lock on one byte.
fn byte(number: u64, kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: (number & (u64::MAX >> 2)) as libc::off_t,
        l_len: 1,
        l_pid: 0,
    }
}

fn fcntl(file: &File, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open, and both commands take a `flock`, which outlives the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A folder that several processes may use at a time, until this is dropped.
#[derive(Debug)]
pub struct SharedFolder {
    _file: File,
}

impl SharedFolder {
    /// Marks a folder as used by this process, by a lock on the file `lock` in it. No other process uses it during
    /// `alone`, which is called only if none does.
    ///
    /// # Errors
    /// The file can't be written, or its file system has no locks.
    pub fn join(folder: &Path, alone: impl FnOnce()) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(folder.join("lock"))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            alone();
        }
        flock(&file, FlockOperation::LockShared)?;
        Ok(Self { _file: file })
    }
}

/// A temporary file, or one in a temporary folder, that its process has locked.
#[derive(Debug)]
pub struct Marker {
    _file: File,
    path: PathBuf,
}

impl Marker {
    /// Makes a temporary file, which this process has until it drops this.
    ///
    /// # Errors
    /// There is such a file, or it can't be written.
    pub fn file(path: &Path) -> io::Result<Self> {
        // It is locked before it has its name: nobody takes it for one left behind.
        let draft = path.with_extension("new");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let named = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| fs::hard_link(&draft, path));
        let _ = fs::remove_file(&draft);
        named?;
        Ok(Self { _file: file, path: path.to_owned() })
    }

    /// Marks a temporary folder, which this process has until it drops this.
    ///
    /// # Errors
    /// It is marked already, or can't be written.
    pub fn folder(folder: &Path) -> io::Result<Self> {
        Self::file(&folder.join(MARKER))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The file goes; of a folder, only the mark.
impl Drop for Marker {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes folders of this user in `folder` that are marked and in use no more: killed processes left them. `is_meant` knows their
/// names.
pub fn remove_abandoned_folders(folder: &Path, is_meant: impl Fn(&str) -> bool) {
    for (path, known) in own_entries(folder, is_meant) {
        if known.is_dir() && is_abandoned(&path.join(MARKER)) {
            // It is in nobody's way, and somebody else may have been quicker.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Removes files of this user in `folder` that no process has locked any more. `is_meant` selects by name: only names
/// of [`Marker::file`].
pub fn remove_abandoned_files(folder: &Path, is_meant: impl Fn(&str) -> bool) {
    for (path, known) in own_entries(folder, is_meant) {
        if known.is_file() && is_abandoned(&path) {
            let _ = fs::remove_file(&path);
        }
    }
}

fn own_entries(
    folder: &Path,
    is_meant: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (PathBuf, fs::Metadata)> {
    let own = rustix::process::geteuid().as_raw();
    let named = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(move |entry| entry.file_name().to_str().is_some_and(&is_meant));
    // Of a link, its own metadata.
    let known = named.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    known.filter(move |(_, known)| known.uid() == own)
}

/// Whether there is an unlocked marker.
fn is_abandoned(marker: &Path) -> bool {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(marker);
    opened.is_ok_and(|file| {
        file.metadata().is_ok_and(|known| known.is_file())
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn folder(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("eagre-claim-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_claim_holds_until_it_is_dropped() {
        let folder = folder("held");
        let file = folder.join("servers");
        assert!(!is_claimed(&file, 7).unwrap(), "there is no file");
        let (one, other) = (Claim::new(&file).unwrap(), Claim::new(&file).unwrap());
        assert_ne!(one.number(), other.number());
        assert!(is_claimed(&file, one.number()).unwrap() && is_claimed(&file, other.number()).unwrap());
        assert!(!is_claimed(&file, one.number() ^ 1).unwrap());
        let number = one.number();
        drop(one);
        assert!(!is_claimed(&file, number).unwrap() && is_claimed(&file, other.number()).unwrap());
        assert_eq!(fs::metadata(&file).unwrap().len(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_who_comes_first_is_alone() {
        let folder = folder("alone");
        let count = Cell::new(0);
        let join = || SharedFolder::join(&folder, || count.set(count.get() + 1)).unwrap();
        let (one, other) = (join(), join());
        assert_eq!(count.get(), 1);
        drop(one);
        let third = join();
        assert_eq!(count.get(), 1, "the second one is still there");
        drop((other, third));
        drop(join());
        assert_eq!(count.get(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_in_use_or_somebody_elses_stays() {
        let folder = folder("left");
        let path = |name: &str| folder.join(name);
        for name in ["x-left", "x-used", "x-kept", "y-left"] {
            fs::create_dir_all(path(name).join("logs")).unwrap();
        }
        fs::write(path("x-left").join(MARKER), "").unwrap();
        fs::write(path("y-left").join(MARKER), "").unwrap();
        fs::write(path("x-left.json"), "").unwrap();
        std::os::unix::fs::symlink("y-left", path("x-link")).unwrap();
        let used = (Marker::folder(&path("x-used")).unwrap(), Marker::file(&path("x-used.json")).unwrap());
        assert!(Marker::file(used.1.path()).is_err(), "there is one");
        remove_abandoned_folders(&folder, |name| name.starts_with("x-"));
        assert!(path("x-left.json").exists(), "a file is no folder");
        remove_abandoned_files(&folder, |name| name.starts_with("x-"));
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["x-kept", "x-link", "x-used", "x-used.json", "y-left"]);
        drop(used);
        assert!(path("x-used").exists() && !path("x-used").join(MARKER).exists());
        assert!(!path("x-used.json").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
