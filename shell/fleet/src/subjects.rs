//! Names at the broker. Permissions of an agent's user follow from them: `docs/fleet.md` has them.

/// Bucket of agents' names.
pub(crate) const AGENTS: &str = "eagre_agents";
/// Bucket of ports' leases.
pub(crate) const LEASES: &str = "eagre_leases";
/// Where a controller requests all agents to renew at once.
pub(crate) const ROLL_CALL: &str = "eagre.roll_call";
/// Longest name of an agent.
const NAME_MAX: usize = 32;

/// Where all renewals of agents' names pass.
pub(crate) fn renewals() -> String {
    format!("$KV.{AGENTS}.>")
}

/// Where an agent takes requests to start a run.
pub(crate) fn open(agent: &str) -> String {
    format!("eagre.a.{agent}.open")
}

/// Where an agent returns its time.
pub(crate) fn time(agent: &str) -> String {
    format!("eagre.a.{agent}.time")
}

/// Where bytes for a run of an agent go.
pub(crate) fn to_agent(agent: &str, run: &str) -> String {
    format!("eagre.a.{agent}.run.{run}")
}

/// Where bytes of a run of an agent go.
pub(crate) fn of_agent(agent: &str, run: &str) -> String {
    format!("eagre.c.{agent}.run.{run}")
}

/// Where replies come.
pub(crate) fn inbox(name: &str) -> String {
    format!("_INBOX.{}", token(name))
}

/// Key of a port's lease.
pub(crate) fn lease(agent: &str, port: &str) -> String {
    format!("{agent}.{}", token(port))
}

/// Whether an agent may have this name: it is a part of subjects and of ports' names.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(plain)
}

/// Text as a part of a subject: other characters than letters, digits and `-` as `=` and two hexadecimal digits.
fn token(text: &str) -> String {
    let mut token = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => token.push(char::from(byte)),
            _ => token.push_str(&format!("={byte:02x}")),
        }
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_port_has_a_key() {
        assert_eq!(lease("a1", "veth0"), "a1.veth0");
        assert_eq!(lease("a1", "ring:a.b"), "a1.ring=3aa=2eb");
        assert!(
            lease("a1", "memif:/run/x y*>.sock")
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-.=".contains(c))
        );
        assert_ne!(lease("a1", "a_b"), lease("a1", "a=5fb"));
    }

    #[test]
    fn names_fit_into_subjects() {
        assert!(is_name("a1") && is_name("lab-2_x"));
        for name in ["", "a.b", "a/b", "a>", "*", "ä", &"x".repeat(33)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
