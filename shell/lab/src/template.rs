//! Commands with variables: `ssh {config.dut} clear counters # trial {trial.number}`.
//!
//! `{name}` is replaced; `{{` and `}}` are braces; `${…}` is left to the shell. A value that is not a plain
//! word is quoted, so that it stays one word of the shell.

use std::collections::BTreeMap;
use std::fmt;

/// A text with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

/// An error in a template or in its variables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// An unmatched brace.
    #[error("'{text}': unmatched '{brace}' at character {at}; write '{brace}{brace}' for a literal brace")]
    LoneBrace {
        /// The template.
        text: String,
        /// The brace.
        brace: char,
        /// Position, from 1.
        at: usize,
    },
    /// The text between braces is not a name.
    #[error("'{text}': '{{{name}}}' is not a variable name; write '{{{{' and '}}}}' for literal braces")]
    BadName {
        /// The template.
        text: String,
        /// The text between braces.
        name: String,
    },
    /// An unknown variable.
    #[error("'{text}': unknown variable '{name}': use one of {known}")]
    Unknown {
        /// The template.
        text: String,
        /// The variable.
        name: String,
        /// The known names.
        known: String,
    },
}

/// Values by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: impl fmt::Display) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// Adds the variables of `other`, which override.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.0.extend(other.0.clone());
        self
    }

    /// A variable's value.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// An unmatched brace, or text between braces that is not a name.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut chars = text.char_indices().peekable();
        let lone = |brace, byte: usize| TemplateError::LoneBrace {
            text: text.to_owned(),
            brace,
            at: text[..byte].chars().count() + 1,
        };
        while let Some((at, c)) = chars.next() {
            let doubled = chars.peek().is_some_and(|&(_, next)| next == c);
            match c {
                '{' | '}' if doubled => {
                    chars.next();
                    plain.push(c);
                }
                '}' => return Err(lone('}', at)),
                '{' => {
                    let len = text[at..].find('}').ok_or_else(|| lone('{', at))?;
                    let inside = &text[at + 1..at + len];
                    while chars.next_if(|&(i, _)| i <= at + len).is_some() {}
                    if plain.ends_with('$') {
                        plain.push_str(&text[at..=at + len]);
                        continue;
                    }
                    if !is_name(inside) {
                        return Err(TemplateError::BadName {
                            text: text.to_owned(),
                            name: inside.to_owned(),
                        });
                    }
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Variable(inside.to_owned()));
                }
                _ => plain.push(c),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Names of its variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Checks that all its variables are in `known`.
    ///
    /// # Errors
    ///
    /// The first unknown variable.
    pub fn check<'a>(&self, known: impl IntoIterator<Item = &'a str>) -> Result<(), TemplateError> {
        let known: Vec<&str> = known.into_iter().collect();
        self.variables()
            .find(|name| !known.contains(name))
            .map_or(Ok(()), |name| Err(self.unknown(name, &known)))
    }

    /// The text for a shell, with every variable replaced by its value as one word.
    ///
    /// # Errors
    ///
    /// A variable without a value.
    pub fn fill(&self, variables: &Variables) -> Result<String, TemplateError> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Variable(name) => {
                    let value = variables.value(name);
                    let known = || variables.names().collect::<Vec<_>>();
                    filled.push_str(&quoted(value.ok_or_else(|| self.unknown(name, &known()))?));
                }
            }
        }
        Ok(filled)
    }

    fn unknown(&self, name: &str, known: &[&str]) -> TemplateError {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        TemplateError::Unknown { text: self.text.clone(), name: name.to_owned(), known }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_name(text: &str) -> bool {
    let words = text.split('.');
    !text.is_empty()
        && words.clone().all(|word| !word.is_empty())
        && words.flat_map(str::chars).all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// A value as one word of a shell.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,%+=@".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(text: &str, variables: &Variables) -> Result<String, TemplateError> {
        Template::parse(text)?.fill(variables)
    }

    #[test]
    fn variables_are_replaced() {
        let variables =
            Variables::new().with("trial.number", 7).with("rate_pps", 1_000_000).with("note", "it's me");
        assert_eq!(fill("echo {trial.number}/{rate_pps}", &variables).unwrap(), "echo 7/1000000");
        assert_eq!(fill("echo {note}", &variables).unwrap(), r"echo 'it'\''s me'");
        assert_eq!(
            fill("awk '{{print $1}}' ${HOME}/{trial.number}", &variables).unwrap(),
            "awk '{print $1}' ${HOME}/7"
        );
        assert_eq!(fill("", &variables).unwrap(), "");
    }

    #[test]
    fn what_is_not_known_is_named_with_what_is() {
        let variables = Variables::new().with("frame_size", 64).with("config.routes", 1);
        let error = fill("load {config.rules}", &variables).unwrap_err().to_string();
        assert_eq!(
            error,
            "'load {config.rules}': unknown variable 'config.rules': use one of config.routes, frame_size"
        );
        let template = Template::parse("{a} {b}").unwrap();
        assert!(template.check(["a", "b"]).is_ok());
        assert!(template.check(["a"]).unwrap_err().to_string().contains("unknown variable 'b'"));
    }

    #[test]
    fn braces_need_partners_and_names() {
        assert_eq!(
            fill("a } b", &Variables::new()).unwrap_err().to_string(),
            "'a } b': unmatched '}' at character 3; write '}}' for a literal brace"
        );
        assert!(matches!(
            Template::parse("é {trial"),
            Err(TemplateError::LoneBrace { brace: '{', at: 3, .. })
        ));
        for text in ["{}", "{a b}", "{.a}", "{a..b}", "{print $1}"] {
            assert!(matches!(Template::parse(text), Err(TemplateError::BadName { .. })), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_template_panics(text in ".{0,40}") {
            if let Ok(template) = Template::parse(&text) {
                let mut variables = Variables::new();
                template.variables().for_each(|name| variables.set(name, "x"));
                prop_assert!(template.fill(&variables).is_ok());
            }
        }

        #[test]
        fn a_shell_sees_one_word(value in "[^\0]{0,20}") {
            let command = fill("printf %s {v}", &Variables::new().with("v", &value)).unwrap();
            let said = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            prop_assert_eq!(String::from_utf8(said.stdout).unwrap(), value);
        }
    }
}
