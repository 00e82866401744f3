//! Finds the known word meant by a misspelt one, and words the suggestion.
//!
//! Not here: what is done with a word; nothing is corrected silently.
//!
//! Separate because packets, profiles, labs, stores and options all have names.

#![forbid(unsafe_code)]

/// Maximum length of a list that is shown whole.
const LISTED_MAX: usize = 40;
/// Number of words shown of a longer one.
const LISTED_OF_MANY: usize = 8;

/// Message about an unknown word: `unknown header 'ipv5'; did you mean 'ipv4'? Allowed: ipv4, ipv6`. Of a long list
/// only the most similar words are shown.
pub fn unknown(noun: &str, given: &str, allowed: &[&str]) -> String {
    let nearest = did_you_mean(given, allowed.iter().copied());
    let stop = if nearest.is_empty() { "." } else { "" };
    if allowed.len() <= LISTED_MAX {
        return format!("unknown {noun} '{given}'{nearest}{stop} Allowed: {}", allowed.join(", "));
    }
    let mut likely = allowed.to_vec();
    likely.sort_by_key(|word| distance(given, word));
    likely.truncate(LISTED_OF_MANY);
    format!("unknown {noun} '{given}'{nearest}{stop} Allowed, among others: {}", likely.join(", "))
}

/// `; did you mean 'ipv4'?`, to be appended to the error; nothing if no word is like it.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

/// The known word that is a typing mistake or two away from `given`: one for each three letters.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (far, word) =
        known.into_iter().map(|word| (distance(given, word), word)).min_by_key(|(far, _)| *far)?;
    let length = given.chars().count();
    (far <= (length / 3).max(1) && far < length).then_some(word)
}

/// Number of typing mistakes between two words, ignoring case.
fn distance(given: &str, word: &str) -> usize {
    strsim::damerau_levenshtein(&given.to_lowercase(), &word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_recognised() {
        for (given, meant) in
            [("rfc2455", "rfc2544"), ("kernel-ruter", "kernel-router"), ("IPV4", "ipv4"), ("ivp4", "ipv4")]
        {
            assert_eq!(nearest(given, ["rfc2544", "kernel-router", "ipv4", "udp"]), Some(meant), "{given}");
        }
        for given in ["", "x", "ip", "bridge"] {
            assert_eq!(nearest(given, ["rfc2544", "kernel-router", "ipv4", "udp"]), None, "{given}");
        }
        assert_eq!(nearest("ipv4", []), None);
    }

    #[test]
    fn of_a_long_list_the_likely_words_are_told() {
        let names: Vec<String> = (0..60).map(|n| format!("name{n:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let said = unknown("name", "name7", &names);
        assert!(
            said.starts_with("unknown name 'name7'; did you mean 'name07'? Allowed, among others: "),
            "{said}"
        );
        assert_eq!(said.matches(", ").count(), LISTED_OF_MANY);
        assert_eq!(unknown("name", "other", &names[..2]), "unknown name 'other'. Allowed: name00, name01");
    }
}
