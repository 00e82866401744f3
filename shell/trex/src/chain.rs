//! Which streams exist, and which follows which.

use crate::document::Named;
use std::collections::HashMap;

/// A stream of the document that becomes one of the profile.
pub(crate) struct Link<'a> {
    pub named: &'a Named,
    /// Name in the profile.
    pub name: String,
    /// Index of the stream that follows, among those that exist.
    pub next: Option<usize>,
}

/// Streams that send something, and why others do not.
///
/// # Errors
/// A stream names one that does not exist.
pub(crate) fn links<'a>(
    streams: &'a [Named],
    prefix: &str,
) -> Result<(Vec<Link<'a>>, Vec<String>), Vec<String>> {
    let by_name: HashMap<&str, usize> =
        streams.iter().enumerate().filter_map(|(i, s)| Some((s.name.as_deref()?, i))).collect();
    let next = |index: usize| streams[index].next.as_deref().and_then(|name| by_name.get(name).copied());
    let errors: Vec<String> = streams
        .iter()
        .filter_map(|s| Some((s, s.next.as_deref()?)))
        .filter(|(_, name)| !by_name.contains_key(name))
        .map(|(s, name)| format!("stream '{}' names '{name}' as next, which is no stream", label(s)))
        .collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut reached = vec![false; streams.len()];
    for first in 0..streams.len() {
        let mut at = streams[first].stream.self_start.then_some(first);
        while let Some(index) = at.filter(|index| !reached[*index] && streams[*index].stream.enabled) {
            reached[index] = true;
            at = next(index);
        }
    }
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for (index, named) in streams.iter().enumerate() {
        let alone = named.next.is_none() && named.stream.self_start;
        let reason = if !named.stream.enabled {
            "it is not enabled"
        } else if !reached[index] {
            "nothing starts it"
        } else if named.stream.dummy_stream && alone {
            "it sends nothing (dummy)"
        } else {
            kept.push(index);
            taken.push(unique(&format!("{prefix}{}", plain(named.name.as_deref(), index)), &taken));
            continue;
        };
        notes.push(format!(
            "stream '{}' is left out: {reason}",
            named.name.as_deref().unwrap_or("without name")
        ));
    }
    let place = |index: usize| kept.iter().position(|kept| *kept == index);
    let out = kept.iter().zip(taken).map(|(index, name)| Link {
        named: &streams[*index],
        name,
        next: next(*index).and_then(place),
    });
    Ok((out.collect(), notes))
}

/// A stream's name in messages.
pub(crate) fn label(named: &Named) -> &str {
    named.name.as_deref().unwrap_or("without name")
}

fn plain(name: Option<&str>, index: usize) -> String {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return format!("stream{index}") };
    let chars = name.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' });
    let plain: String = chars.take(48).collect();
    // YAML reads digits alone as a number.
    if plain.bytes().all(|byte| byte.is_ascii_digit()) { format!("stream-{plain}") } else { plain }
}

fn unique(name: &str, taken: &[String]) -> String {
    let mut out = name.to_owned();
    let mut number = 2;
    while taken.contains(&out) {
        out = format!("{name}-{number}");
        number += 1;
    }
    out
}
