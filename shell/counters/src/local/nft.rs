//! Counters of nftables: named counters, and rules that drop or reject. Pure.
//!
//! A rule's counter counts drops only if it is right before the verdict: before a match or a limit it also counts packets
//! that pass. Rules that drop without such a counter are kept as text, to be reported where packets are missing.
//!
//! Rules stay untyped JSON: a statement is an object with one of dozens of keys, of which only four matter here.

use super::Sections;
use crate::reading::{Counter, Reading, Source};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum characters of a rule's text.
const TEXT_MAX: usize = 120;

/// Whether the rules were listed.
pub(super) fn is_readable(sections: &Sections<'_>) -> bool {
    !entries(sections).is_empty()
}

fn entries(sections: &Sections<'_>) -> Vec<Value> {
    let document: Option<Value> =
        sections.get("nft json").and_then(|text| serde_json::from_str(text.trim()).ok());
    match document.as_ref().and_then(|document| document["nftables"].as_array()) {
        Some(entries) => entries.clone(),
        None => Vec::new(),
    }
}

/// A rule: family, table, chain, handle.
type RuleId = (String, String, String, u64);

/// Adds nftables counters to the reading.
pub(super) fn rules(sections: &Sections<'_>, reading: &mut Reading) {
    let entries = entries(sections);
    let texts = sections.get("nft text").map(|text| texts(text)).unwrap_or_default();
    let mut named = named_counters(&entries);
    let mut seen = BTreeSet::new();
    for rule in entries.iter().filter_map(|entry| entry.get("rule")) {
        let Some(verdict) = verdict(rule) else { continue };
        let id = id(rule);
        let text = texts.get(&id).cloned().unwrap_or_else(|| described(rule, verdict));
        let label = format!("nft rule '{text}' ({} {} {}, handle {})", id.0, id.1, id.2, id.3);
        match exact_counter(rule) {
            Some(Value::String(name)) => {
                let key = (id.0, id.1, name.clone());
                // Several rules can share it.
                if let Some(packets) = named.remove(&key).filter(|_| seen.insert(key)) {
                    reading.drops.insert((Source::Nft, label), Counter::wide(packets));
                }
            }
            Some(counter) => {
                let packets = Counter::wide(counter["packets"].as_u64().unwrap_or(0));
                reading.drops.insert((Source::Nft, label), packets);
            }
            None => reading.uncounted.push(label),
        }
    }
    reading.uncounted.extend(entries.iter().filter_map(|entry| dropping_chain(entry.get("chain")?)));
    for ((family, table, name), packets) in named {
        reading.others.insert(format!("nft counter {name} ({family} {table})"), Counter::wide(packets));
    }
}

fn word(entry: &Value, key: &str) -> String {
    entry[key].as_str().unwrap_or_default().to_owned()
}

fn id(rule: &Value) -> RuleId {
    let handle = rule["handle"].as_u64().unwrap_or(0);
    (word(rule, "family"), word(rule, "table"), word(rule, "chain"), handle)
}

fn named_counters(entries: &[Value]) -> BTreeMap<(String, String, String), u64> {
    let counters = entries.iter().filter_map(|entry| entry.get("counter"));
    let of = |counter: &Value| {
        let key = (word(counter, "family"), word(counter, "table"), word(counter, "name"));
        (key, counter["packets"].as_u64().unwrap_or(0))
    };
    counters.map(of).collect()
}

fn statements(rule: &Value) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
    let statements = rule["expr"].as_array().into_iter().flatten();
    statements.filter_map(|one| one.as_object()?.iter().next()).map(|(name, value)| (name.as_str(), value))
}

/// The rule's drop or reject verdict.
fn verdict(rule: &Value) -> Option<&str> {
    statements(rule).map(|(name, _)| name).find(|name| matches!(*name, "drop" | "reject"))
}

/// The counter right before the verdict: its value, or its name.
fn exact_counter(rule: &Value) -> Option<&Value> {
    let before = statements(rule).rev().skip_while(|(name, _)| !matches!(*name, "drop" | "reject")).skip(1);
    // These pass every packet on.
    let mut before = before.skip_while(|(name, _)| matches!(*name, "log" | "mangle"));
    before.next().filter(|(name, _)| *name == "counter").map(|(_, counter)| counter)
}

/// A base chain with the policy drop.
fn dropping_chain(chain: &Value) -> Option<String> {
    (chain["policy"] == "drop" && chain["hook"] != "input" && chain["hook"] != "output").then(|| {
        let (family, table, name) = (word(chain, "family"), word(chain, "table"), word(chain, "name"));
        format!("the policy of nft chain {family} {table} {name}")
    })
}

/// Description of a rule without a text.
fn described(rule: &Value, verdict: &str) -> String {
    rule["comment"].as_str().map_or_else(|| verdict.to_owned(), str::to_owned)
}

/// The rules' texts without counts, from `nft -a list ruleset`.
fn texts(listing: &str) -> BTreeMap<RuleId, String> {
    let (mut table, mut chain) = ((String::new(), String::new()), None);
    let (mut texts, mut pending) = (BTreeMap::new(), String::new());
    for line in listing.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &chain) {
            (["table", family, name, "{", ..], _) => table = ((*family).to_owned(), (*name).to_owned()),
            (["chain", name, "{", ..], _) => chain = Some((*name).to_owned()),
            // A base chain's header; the end of a chain.
            (["type", .., last], Some(_)) if last.ends_with(';') => {}
            (["}"], Some(_)) if pending.is_empty() => chain = None,
            (_, Some(name)) => {
                // Long rules span several lines; the handle ends them.
                pending = format!("{pending} {line}").trim().to_owned();
                let Some((text, handle)) = pending.rsplit_once("# handle ") else { continue };
                if let Ok(handle) = handle.trim().parse() {
                    texts.insert((table.0.clone(), table.1.clone(), name.clone(), handle), shown(text));
                }
                pending.clear();
            }
            _ => {}
        }
    }
    texts
}

/// A rule's text without counts, shortened.
fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < words.len() {
        kept.push(words[at]);
        at += match &words[at..] {
            ["counter", "packets", _, "bytes", _, ..] => 5,
            _ => 1,
        };
    }
    let text = kept.join(" ");
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"nftables": [{"metainfo": {"json_schema_version": 1}},
        {"counter": {"family": "inet", "name": "named", "table": "t", "packets": 8, "bytes": 0}},
        {"counter": {"family": "inet", "name": "free", "table": "t", "packets": 9, "bytes": 0}},
        {"chain": {"family": "inet", "table": "t", "name": "f", "handle": 1, "hook": "forward", "policy": "drop"}},
        {"chain": {"family": "inet", "table": "t", "name": "i", "handle": 2, "hook": "input", "policy": "drop"}},
        {"rule": {"family": "inet", "table": "t", "chain": "f", "handle": 3, "comment": "police", "expr": [
            {"limit": {"rate": 100, "inv": true}}, {"counter": {"packets": 5, "bytes": 0}}, {"drop": null}]}},
        {"rule": {"family": "inet", "table": "t", "chain": "f", "handle": 4, "expr": [
            {"counter": "named"}, {"drop": null}]}},
        {"rule": {"family": "inet", "table": "t", "chain": "f", "handle": 5, "expr": [
            {"counter": {"packets": 6, "bytes": 0}}, {"accept": null}]}},
        {"rule": {"family": "inet", "table": "t", "chain": "f", "handle": 6, "expr": [
            {"counter": {"packets": 7, "bytes": 0}}, {"limit": {"rate": 1}}, {"reject": null}]}}]}"#;

    const TEXT: &str = "table inet t { # handle 1\n\tcounter named { # handle 2\n\t\tpackets 8 bytes 0\n\t}\n\n\
        \tchain f { # handle 1\n\t\ttype filter hook forward priority filter; policy drop;\n\
        \t\tudp dport 9 limit rate over 100/second counter packets 5 bytes 0 drop comment \"police\" # handle 3\n\
        \t\tudp dport { 10, 11,\n\t\t\t    12 } counter name \"named\" drop # handle 4\n\
        \t\tcounter packets 7 bytes 0 limit rate 1/second reject # handle 6\n\t}\n}\n";

    #[test]
    fn rules_that_drop_are_told_from_others() {
        let mut reading = Reading::default();
        rules(&Sections::from([("nft json", JSON), ("nft text", TEXT)]), &mut reading);
        let drops: Vec<_> = reading.drops.iter().map(|((_, name), n)| (name.as_str(), n.value())).collect();
        let expected = [
            (
                "nft rule 'udp dport 9 limit rate over 100/second counter drop comment \"police\"' \
                 (inet t f, handle 3)",
                5,
            ),
            ("nft rule 'udp dport { 10, 11, 12 } counter name \"named\" drop' (inet t f, handle 4)", 8),
        ];
        assert_eq!(drops, expected);
        let others: Vec<_> = reading.others.iter().map(|(name, n)| (name.as_str(), n.value())).collect();
        assert_eq!(others, [("nft counter free (inet t)", 9)]);
        let uncounted = [
            "nft rule 'counter limit rate 1/second reject' (inet t f, handle 6)",
            "the policy of nft chain inet t f",
        ];
        assert_eq!(reading.uncounted, uncounted);
    }

    #[test]
    fn rules_without_a_text_have_their_comment() {
        let mut reading = Reading::default();
        rules(&Sections::from([("nft json", JSON)]), &mut reading);
        let first = reading.drops.keys().find(|(_, name)| name.contains("handle 3")).unwrap();
        assert_eq!(first.1, "nft rule 'police' (inet t f, handle 3)");
    }

    #[test]
    fn long_rules_are_cut() {
        let text = shown(&"ä".repeat(500));
        assert_eq!(text.chars().count(), TEXT_MAX + 1);
        assert!(is_readable(&Sections::from([("nft json", JSON)])));
        assert!(!is_readable(&Sections::from([("nft json", "")])));
    }
}
