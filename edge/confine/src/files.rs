//! Files: Landlock's rules.

use crate::Confinement;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};
use std::io;
use std::os::fd::OwnedFd;

/// All that this library knows; the kernel applies what it knows of that.
const NEWEST: ABI = ABI::V10;

/// The rules, not in force yet; `None` if the kernel has no Landlock.
pub(crate) fn rules(allowed: &Confinement) -> io::Result<Option<OwnedFd>> {
    made(allowed).map_err(io::Error::other)
}

fn made(allowed: &Confinement) -> Result<Option<OwnedFd>, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Truncate;
    let execute = AccessFs::ReadFile | AccessFs::Execute;
    let lists = [(&allowed.read, read), (&allowed.write, write), (&allowed.execute, execute)];
    for (path, access) in
        lists.into_iter().flat_map(|(list, access)| list.iter().map(move |path| (path, access)))
    {
        // What is not there needs no permission.
        let Ok(file) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        ruleset = ruleset.add_rule(PathBeneath::new(file, access))?;
    }
    Ok(ruleset.into())
}
