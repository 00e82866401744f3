//! Files that a confined process leaves: they belong to a user that no longer exists.

use crate::user;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chownat, fstat, openat};
use rustix::process::{Gid, Uid, geteuid};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Depth of folders to look into.
const DEPTH_MAX: usize = 32;

/// Gives files and folders in `folder` that the confined process with this number made to the owner of `folder`. The process must
/// have ended. Links are not followed; set-user-ID bits are gone with the owner. Does nothing unless this is root.
pub fn give_back(folder: &Path, process: u32) {
    if !geteuid().is_root() {
        return;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, folder, flags, Mode::empty()) else { return };
    if let Ok(owner) = fstat(&folder) {
        look_into(folder.as_fd(), user::of_process(process), &owner, DEPTH_MAX);
    }
}

fn look_into(folder: BorrowedFd<'_>, from: u32, owner: &Stat, depth: usize) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name != c"." && name != c".." {
            // Whatever else happens to the folder meanwhile, what was looked at is what changes its owner.
            let _ = change(folder, name, from, owner, depth);
        }
    }
}

fn change(
    folder: BorrowedFd<'_>,
    name: &CStr,
    from: u32,
    owner: &Stat,
    depth: usize,
) -> rustix::io::Result<()> {
    let found = openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let facts = fstat(&found)?;
    if facts.st_uid != from {
        return Ok(());
    }
    if FileType::from_raw_mode(facts.st_mode) == FileType::Directory && depth > 0 {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        look_into(openat(folder, name, flags, Mode::empty())?.as_fd(), from, owner, depth - 1);
    }
    let (user, group) = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
    chownat(&found, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)
}
