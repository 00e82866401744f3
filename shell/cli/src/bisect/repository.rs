//! A git repository: its commits, and worktrees in addition to its own checkout.

use crate::Failure;
use os::claim::Marker;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Variables that redirect git to another repository.
const ELSEWHERE: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];

/// A repository.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    folder: PathBuf,
}

/// A worktree in a temporary folder; removed when dropped.
#[derive(Debug)]
pub(super) struct Worktree {
    repository: Repository,
    folder: PathBuf,
    /// That of the folder of all worktrees of this process.
    marker: Option<Arc<Marker>>,
}

/// Runs git in a folder; its output.
fn git(folder: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    // Hooks of the repository are for its own checkout.
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]).args(words);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| Failure::refused(format!("cannot run git: {error}; is it installed?")))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::bad_input(format!("{}: git: {}", folder.display(), words.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Repository {
    /// The repository that a folder is in.
    pub(super) fn at(folder: &Path) -> Result<Self, Failure> {
        let top = git(folder, &["rev-parse", "--absolute-git-dir"])?;
        Ok(Self { folder: PathBuf::from(top.trim_end_matches('\n')) })
    }

    fn commit(&self, revision: &str) -> Result<String, Failure> {
        let commit = format!("{revision}^{{commit}}");
        let found = git(&self.folder, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
        let found =
            found.map_err(|_| Failure::bad_input(format!("'{revision}' is no commit of this repository")))?;
        Ok(found.trim().to_owned())
    }

    /// The commits from `good` to `bad` along first parents, both included: hash and subject.
    pub(super) fn between(&self, good: &str, bad: &str) -> Result<Vec<(String, String)>, Failure> {
        let (first, last) = (self.commit(good)?, self.commit(bad)?);
        if git(&self.folder, &["merge-base", "--is-ancestor", &first, &last]).is_err() {
            return Err(Failure::bad_input(format!("'{good}' is not an ancestor of '{bad}'")));
        }
        let range = format!("{first}..{last}");
        let format = "--format=%H %s";
        let own = git(&self.folder, &["log", "-1", format, &first])?;
        let after = git(&self.folder, &["log", "--reverse", "--first-parent", format, &range])?;
        let commit = |line: &str| {
            let (hash, subject) = line.split_once(' ').unwrap_or((line, ""));
            (hash.to_owned(), subject.to_owned())
        };
        Ok(own.lines().chain(after.lines()).map(commit).collect())
    }

    /// A worktree for each name, in one temporary folder of this process.
    pub(super) fn worktrees(&self, names: [&str; 2]) -> Result<[Worktree; 2], Failure> {
        os::claim::remove_abandoned_folders(&std::env::temp_dir(), |name| name.starts_with("eagre-bisect-"));
        // Of worktrees that are gone with it, git still knows.
        git(&self.folder, &["worktree", "prune"])?;
        let root = std::env::temp_dir().join(format!("eagre-bisect-{:016x}", os::entropy::bits()));
        let refused = |error| Failure::refused(format!("{}: {error}", root.display()));
        std::fs::create_dir(&root).map_err(refused)?;
        let marker = Arc::new(Marker::folder(&root).map_err(refused)?);
        let tree = |name: &str| {
            let folder = root.join(name);
            let path = folder.to_string_lossy().into_owned();
            // Dropped on failure, too: what git has made of it by then is removed.
            let tree = Worktree { repository: self.clone(), folder, marker: Some(marker.clone()) };
            git(&self.folder, &["worktree", "add", "--quiet", "--detach", "--no-checkout", &path])?;
            Ok::<_, Failure>(tree)
        };
        Ok([tree(names[0])?, tree(names[1])?])
    }
}

impl Worktree {
    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks out the files of a commit. Build outputs are kept, so that the next build is quick.
    pub(super) fn check_out(&self, commit: &str) -> Result<(), Failure> {
        git(&self.folder, &["checkout", "--quiet", "--force", "--detach", commit]).map(drop)
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let path = self.folder.to_string_lossy().into_owned();
        if git(&self.repository.folder, &["worktree", "remove", "--force", &path]).is_err() {
            let _ = std::fs::remove_dir_all(&self.folder);
            let _ = git(&self.repository.folder, &["worktree", "prune"]);
        }
        // Of the last one, the folder is empty without the mark.
        self.marker = None;
        if let Some(root) = self.folder.parent() {
            let _ = std::fs::remove_dir(root);
        }
    }
}
