//! Programs that a topology needs, and their Debian packages.

use std::path::{Path, PathBuf};

/// A program and the package it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Name of the program, or its path.
    pub program: &'static str,
    /// Debian's package.
    pub package: &'static str,
}

/// Requirements of every topology.
pub(crate) const ALWAYS: [Need; 2] = [need("ip", "iproute2"), need("sysctl", "procps")];

/// A program and its package.
pub(crate) const fn need(program: &'static str, package: &'static str) -> Need {
    Need { program, package }
}

/// The missing programs, as a sentence; `None` if nothing is missing.
pub fn missing(needs: &[Need]) -> Option<String> {
    missing_of(needs, |program| find(program).is_some())
}

fn missing_of(needs: &[Need], there: impl Fn(&str) -> bool) -> Option<String> {
    let mut absent: Vec<Need> = Vec::new();
    for &need in ALWAYS.iter().chain(needs) {
        if !there(need.program) && !absent.contains(&need) {
            absent.push(need);
        }
    }
    let mut packages: Vec<&str> = absent.iter().map(|need| need.package).collect();
    packages.dedup();
    let programs: Vec<&str> = absent.iter().map(|need| need.program).collect();
    let are = if programs.len() == 1 { "is" } else { "are" };
    (!absent.is_empty()).then(|| {
        format!("{} {are} not installed: apt install {}", programs.join(" and "), packages.join(" "))
    })
}

/// Search path of programs: this process's, and Debian's directories for root.
pub(crate) fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    search_path()
        .split(':')
        .filter(|dir| !dir.is_empty())
        .map(|dir| Path::new(dir).join(program))
        .find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named() {
        let needs = [need("nginx", "nginx-light"), need("haproxy", "haproxy"), need("nginx", "nginx-light")];
        assert_eq!(missing_of(&needs, |_| true), None);
        assert_eq!(
            missing_of(&needs, |program| program == "ip" || program == "sysctl").as_deref(),
            Some("nginx and haproxy are not installed: apt install nginx-light haproxy")
        );
        let one = missing_of(&[], |program| program == "ip");
        assert_eq!(one.as_deref(), Some("sysctl is not installed: apt install procps"));
        assert!(find("sh").is_some() && find("no-such-program").is_none() && find("/no/such").is_none());
    }
}
