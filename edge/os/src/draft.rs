//! Files that take their name once they are whole: written under another name, then renamed.
//!
//! A program that is refused, fails or is killed leaves the file that had the name before. Devices, pipes and other special
//! files have no whole: they are written in place.
//!
//! Invariant: until [`Draft::publish`] or [`Draft::commit`], nothing under the name changes. A draft never replaces a file that
//! this process reads ([`keep`]), nor one that another draft of it is to become.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Beginning and end of the names of drafts.
const DRAFT: &str = ".eagre-";
const DRAFT_END: &str = ".new";
/// Suffix of the name that an earlier file has while a published draft is still written.
const EARLIER: &str = ".old";

/// Files that this process reads. Open, so that no other file gets their inode.
static KEPT: Mutex<Vec<File>> = Mutex::new(Vec::new());
/// Names that drafts of this process are to get.
static TAKEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Remembers a file that this process reads: no draft replaces it from now on. Only regular files count.
pub fn keep(path: &Path) {
    if let Ok(known) = fs::metadata(path)
        && known.is_file()
        && !is_kept(&known)
        && let Ok(file) = File::open(path)
    {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }
}

fn is_kept(known: &Metadata) -> bool {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |kept: Metadata| (kept.dev(), kept.ino()) == (known.dev(), known.ino());
    kept.iter().filter_map(|file| file.metadata().ok()).any(is_it)
}

/// The name of a file, which no draft gets until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Name(PathBuf);

impl Name {
    /// Takes the name.
    ///
    /// # Errors
    /// It is taken.
    pub fn take(path: &Path) -> io::Result<Self> {
        let path = whole(path);
        match TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone()) {
            true => Ok(Self(path)),
            false => Err(refused("is given for two outputs; give each its own file")),
        }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

/// A file in the making. Unbuffered. Dropped without [`commit`](Self::commit), it gives way to the earlier file; without one, a
/// published draft stays.
#[derive(Debug)]
pub struct Draft {
    file: File,
    place: Place,
    /// The name that the earlier file has until this one is whole, and its own name.
    earlier: Option<(PathBuf, PathBuf)>,
    /// Kept from other drafts; none of what is written in place or replaced on purpose.
    _name: Option<Name>,
}

#[derive(Debug)]
enum Place {
    /// Under `draft`, to become `path`.
    Beside { draft: PathBuf, path: PathBuf },
    /// Under its own name; a regular file is emptied at the first write.
    Itself { is_regular: bool },
}

impl Draft {
    /// A new draft of `path`. Errors of writing are reported now.
    ///
    /// # Errors
    /// The folder is missing, `path` is a folder, one of the two is not writable, this process reads the file, or another draft is to
    /// become it.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_with_mode(path, 0o666)
    }

    /// A new draft of `path`; a new file gets `mode`, less the umask. An existing one keeps its mode and owner.
    ///
    /// # Errors
    /// As for [`Draft::create`].
    pub fn create_with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        if path == Path::new("-") {
            return Err(refused("is no file here; a file of that name is './-'"));
        }
        if fs::metadata(path).is_ok_and(|known| is_kept(&known)) {
            return Err(refused("is read by this command, which would replace it; give another file"));
        }
        let mut draft = Self::replacing(path, mode)?;
        if let Place::Beside { path, .. } = &draft.place {
            draft._name = Some(Name::take(path)?);
        }
        Ok(draft)
    }

    /// A new draft of `path`, also if this process reads it: of the same content, or of what replaces it on purpose.
    ///
    /// # Errors
    /// The folder is missing, `path` is a folder, or one of the two is not writable.
    pub fn replacing(path: &Path, mode: u32) -> io::Result<Self> {
        // A link keeps pointing to the file that is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let known = match fs::metadata(&target) {
            Ok(known) if known.is_dir() => return Err(io::Error::from_raw_os_error(libc::EISDIR)),
            Ok(known) => Some(known),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let Some(known) = known else { return Self::beside(&target, mode, None) };
        // Refused where it would be refused without a draft.
        let own = match OpenOptions::new().write(true).open(path) {
            // Somebody has just removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::beside(&target, mode, None),
            own => own?,
        };
        if !known.is_file() || names_an_open_file(path) {
            return Ok(Self {
                file: own,
                place: Place::Itself { is_regular: false },
                earlier: None,
                _name: None,
            });
        }
        match Self::beside(&target, mode, Some(&known)) {
            // A folder that takes no new files.
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                Ok(Self { file: own, place: Place::Itself { is_regular: true }, earlier: None, _name: None })
            }
            other => other,
        }
    }

    fn beside(path: &Path, mode: u32, known: Option<&Metadata>) -> io::Result<Self> {
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::from_raw_os_error(libc::EISDIR));
        }
        loop {
            // Process numbers repeat, also at the same time in several containers.
            let draft = path.with_file_name(format!("{DRAFT}{:016x}{DRAFT_END}", crate::entropy::bits()));
            let file = match OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            if let Some(known) = known {
                // Only root may give files away.
                let _ = fchown(&file, Some(known.uid()), Some(known.gid()));
                file.set_permissions(known.permissions())?;
            }
            let place = Place::Beside { draft, path: path.to_owned() };
            return Ok(Self { file, place, earlier: None, _name: None });
        }
    }

    /// Gives the draft its name before it is whole, for readers that follow it. An earlier file is `NAME.old` until
    /// [`commit`](Self::commit), so that a killed program does not destroy it.
    ///
    /// # Errors
    /// The file can't be renamed.
    pub fn publish(&mut self) -> io::Result<()> {
        let Place::Beside { draft, path } = &self.place else { return Ok(()) };
        let mut name = path.file_name().unwrap_or(OsStr::new("")).to_owned();
        name.push(EARLIER);
        let earlier = path.with_file_name(name);
        // Fails if there is no earlier file, or if that of a killed program is still there, which is worth more.
        let is_kept = fs::hard_link(path, &earlier).is_ok();
        self.earlier = is_kept.then(|| (earlier, path.clone()));
        fs::rename(draft, path)?;
        self.place = Place::Itself { is_regular: false };
        Ok(())
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The file can't be renamed.
    pub fn commit(mut self) -> io::Result<()> {
        self.empty_once()?;
        if let Place::Beside { draft, path } = &self.place {
            fs::rename(draft, path)?;
            self.place = Place::Itself { is_regular: false };
        }
        match self.earlier.take() {
            Some((earlier, _)) => fs::remove_file(earlier),
            None => Ok(()),
        }
    }

    /// The folder in which it gets its name; none if it is written in place.
    fn folder(&self) -> Option<PathBuf> {
        let Place::Beside { path, .. } = &self.place else { return None };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Some(folder.unwrap_or(Path::new(".")).to_owned())
    }

    /// Empties a file that is written in place, the first time.
    fn empty_once(&mut self) -> io::Result<()> {
        if let Place::Itself { is_regular: is_regular @ true } = &mut self.place {
            self.file.set_len(0)?;
            *is_regular = false;
        }
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.empty_once()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Place::Beside { draft, .. } = &self.place {
            let _ = fs::remove_file(draft);
        }
        if let Some((earlier, path)) = &self.earlier {
            let _ = fs::rename(earlier, path);
        }
    }
}

/// A path by which two names of one file that may not be there yet are the same.
fn whole(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or(folder.clone(), |name| folder.join(name))
}

/// Whether a path stands for a file that a process has open, such as /dev/stdout.
fn names_an_open_file(path: &Path) -> bool {
    path.starts_with("/dev") || path.starts_with("/proc")
}

/// Writes a whole file: readers see either the old or the new content, also after a power failure. It replaces a file that this
/// process has read, too: a baseline, or a stored profile.
///
/// # Errors
/// As for [`Draft::create`], or it can't be written; then the old content stays.
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    replace_with_mode(path, 0o666, content)
}

/// As [`replace`]; a new file gets `mode`, less the umask.
///
/// # Errors
/// As for [`replace`].
pub fn replace_with_mode(path: &Path, mode: u32, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut draft = Draft::replacing(path, mode)?;
    draft.write_all(content.as_ref())?;
    let folder = draft.folder();
    if folder.is_some() {
        draft.file.sync_all()?;
    }
    draft.commit()?;
    folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Removes drafts that killed processes left in a folder, whose processes are all gone.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_draft = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(DRAFT) && name.ends_with(DRAFT_END));
        if is_draft {
            // It is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder of a test's own, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("eagre-draft-{test}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_dropped_draft_changes_nothing() {
        let folder = Folder::new("dropped");
        let path = folder.0.join("a");
        fs::write(&path, "old").unwrap();
        let mut draft = Draft::create(&path).unwrap();
        draft.write_all(b"new, and longer").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(draft);
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), folder.names()),
            ("old", vec!["a".to_owned()])
        );
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_its_links() {
        let folder = Folder::new("mode");
        let (path, link) = (folder.0.join("a"), folder.0.join("l"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && folder.names() == ["a", "l"]);
        let secret = folder.0.join("s");
        replace_with_mode(&secret, 0o600, "key").unwrap();
        assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_earlier_file_is_kept_until_a_published_one_is_whole() {
        let folder = Folder::new("published");
        let path = folder.0.join("a");
        fs::write(&path, "old").unwrap();
        let mut draft = Draft::create(&path).unwrap();
        draft.write_all(b"1").unwrap();
        draft.publish().unwrap();
        draft.write_all(b"2").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "12");
        assert_eq!(fs::read_to_string(folder.0.join("a.old")).unwrap(), "old");
        draft.commit().unwrap();
        assert_eq!(folder.names(), ["a"]);
        let mut draft = Draft::create(&path).unwrap();
        draft.publish().unwrap();
        drop(draft);
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), folder.names().len()),
            ("12", 1),
            "it failed"
        );
        // Killed while it was written: the next one does not lose the file from before.
        fs::write(folder.0.join("a.old"), "whole").unwrap();
        let mut draft = Draft::create(&path).unwrap();
        draft.publish().unwrap();
        draft.commit().unwrap();
        assert_eq!(fs::read_to_string(folder.0.join("a.old")).unwrap(), "whole");
    }

    #[test]
    fn many_writers_of_one_file_leave_one_content() {
        let folder = Folder::new("writers");
        let path = folder.0.join("a");
        let text = |number: usize| format!("{number}\n").repeat(20_000);
        replace(&path, text(0)).unwrap();
        std::thread::scope(|scope| {
            for number in 1..5 {
                let (path, text) = (&path, &text);
                scope.spawn(move || (0..20).for_each(|_| replace(path, text(number)).unwrap()));
            }
            for _ in 0..200 {
                let read = fs::read_to_string(&path).unwrap();
                let number: usize = read.lines().next().unwrap().parse().unwrap();
                assert!(read == text(number), "torn");
            }
        });
        assert_eq!(folder.names(), ["a"]);
        fs::write(folder.0.join(".eagre-0.new"), "").unwrap();
        remove_abandoned(&folder.0);
        assert_eq!(folder.names(), ["a"]);
    }

    #[test]
    fn a_draft_replaces_no_file_that_is_read_and_no_other_draft() {
        let folder = Folder::new("read");
        let (read, link) = (folder.0.join("a"), folder.0.join("l"));
        fs::write(&read, "profile").unwrap();
        symlink("a", &link).unwrap();
        keep(&link);
        for path in [&read, &link, &folder.0.join("../").join(folder.0.file_name().unwrap()).join("a")] {
            let error = Draft::create(path).unwrap_err();
            assert!(error.to_string().contains("is read by this command"), "{error}");
        }
        assert_eq!(fs::read_to_string(&read).unwrap(), "profile");
        replace(&read, "replaced on purpose").unwrap();
        let first = Draft::create(&folder.0.join("out")).unwrap();
        let second = Draft::create(&folder.0.join("./out")).unwrap_err();
        assert!(second.to_string().contains("two outputs"), "{second}");
        first.commit().unwrap();
        Draft::create(&folder.0.join("out")).unwrap().commit().unwrap();
        for _ in 0..2 {
            // Devices take everything.
            std::mem::forget(Draft::create(Path::new("/dev/null")).unwrap());
        }
        assert!(Draft::create(Path::new("-")).unwrap_err().to_string().contains("'./-'"));
    }

    #[test]
    fn special_files_are_written_in_place() {
        replace(Path::new("/dev/null"), "x").unwrap();
        let full = replace(Path::new("/dev/full"), "x").unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
        let error = |path: &str| Draft::create(Path::new(path)).unwrap_err().kind();
        assert_eq!(error("/tmp"), ErrorKind::IsADirectory);
        assert_eq!(error("/nonexistent/a"), ErrorKind::NotFound);
    }
}
