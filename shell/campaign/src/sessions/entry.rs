//! Which entry under `sessions:` carries an application.

use profile::Plan;
use profile::plan::SessionEntry;
use session::plan::{AppPlan, Carrier, SessionPlan};

/// A profile that drives nothing.
pub(super) const NO_CLIENTS: &str = "the profile has no sessions whose clients are played here, and this method needs \
    some: give an entry under 'sessions' a 'client' with a port";

/// The entry for an application: the one of its name; else the first that already uses it; else the first with two
/// emulated ends, to which it can be assigned. For any name other than `raw`, `http` and `https`: the first.
///
/// # Errors
/// There is none whose clients are played here, or none that can carry it.
pub(super) fn carrying<'p>(plan: &'p Plan, app: &str) -> Result<&'p SessionEntry, String> {
    let clients: Vec<&SessionEntry> = plan.sessions.iter().filter(|e| e.session.client.is_some()).collect();
    let Some(first) = clients.first() else {
        return Err(NO_CLIENTS.to_owned());
    };
    let find = |suits: &dyn Fn(&SessionPlan) -> bool| clients.iter().copied().find(|e| suits(&e.session));
    let named = find(&|session| session.name == app);
    let secure = |session: &SessionPlan| session.tls.is_some();
    let found = match app {
        "raw" => named
            .or_else(|| find(&|s| speaks_bytes(s) && !secure(s)))
            .or_else(|| find(&speaks_bytes))
            .or_else(|| find(&is_ours)),
        "http" => named
            .or_else(|| find(&|s| speaks_http(s) && !secure(s)))
            .or_else(|| find(&speaks_http))
            .or_else(|| find(&|s| is_ours(s) && s.carrier == Carrier::Tcp)),
        "https" => named
            .or_else(|| find(&|s| speaks_http(s) && secure(s)))
            .or_else(|| find(&|s| is_ours(s) && secure(s))),
        _ => named.or(Some(*first)),
    };
    found.ok_or_else(|| {
        let entries: Vec<&str> = clients.iter().map(|entry| entry.session.name.as_str()).collect();
        format!(
            "no entry under 'sessions' can carry '{app}' (entries: {}): add one named '{app}', with {}",
            entries.join(", "),
            match app {
                "raw" => "'app: {raw: {request: 100B}}'",
                "http" => "'app: http'",
                _ => "'app: http' and 'tls: true'",
            }
        )
    })
}

/// The first entry over TCP whose clients are played here; one whose servers are, too, if there is one.
///
/// # Errors
/// There is none.
pub(super) fn over_tcp(plan: &Plan) -> Result<&SessionEntry, String> {
    let clients = || {
        let entries = plan.sessions.iter();
        entries.filter(|entry| entry.session.client.is_some() && entry.session.carrier == Carrier::Tcp)
    };
    let found = clients().find(|entry| is_ours(&entry.session)).or_else(|| clients().next());
    found.ok_or_else(|| {
        "the profile has no sessions over TCP whose clients are played here, and this method needs some"
            .to_owned()
    })
}

/// Whether both ends are played here.
pub(super) fn is_ours(session: &SessionPlan) -> bool {
    session.client.is_some() && session.server.is_some()
}

/// Whether its application, or the first of its mix, is HTTP.
pub(super) fn speaks_http(session: &SessionPlan) -> bool {
    matches!(app(session), Some(AppPlan::Http(_)))
}

/// Whether its data are meaningless bytes: a program, or an echo server's.
fn speaks_bytes(session: &SessionPlan) -> bool {
    matches!(app(session), Some(AppPlan::Program { .. } | AppPlan::Echo { .. }))
}

/// Its application, or the first of its mix.
pub(super) fn app(session: &SessionPlan) -> Option<&AppPlan> {
    session.mix.members.first().map(|member| &member.app)
}
