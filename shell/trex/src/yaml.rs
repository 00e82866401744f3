//! Prints a profile for people: mappings as blocks, small ones on one line, with comments.

/// A value to print.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A text or number.
    Text(String),
    /// A mapping on one line.
    Line(Vec<(String, Node)>),
    /// A mapping with a line for each key.
    Block(Vec<(String, Node)>),
    /// A list on one line.
    List(Vec<Node>),
    /// A list with its elements below each other.
    Items(Vec<Node>),
    /// A value with comments above it.
    Commented(Vec<String>, Box<Node>),
}

impl Node {
    pub(crate) fn text(text: impl ToString) -> Self {
        Self::Text(text.to_string())
    }

    fn line(&self) -> String {
        match self {
            Self::Text(text) => scalar(text),
            Self::Line(pairs) | Self::Block(pairs) => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(key, node)| format!("{}: {}", scalar(key), node.line())).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            Self::List(nodes) | Self::Items(nodes) => {
                format!("[{}]", nodes.iter().map(Self::line).collect::<Vec<_>>().join(", "))
            }
            Self::Commented(_, node) => node.line(),
        }
    }

    /// The value as the lines below a key.
    pub(crate) fn print(&self, indent: usize, out: &mut String) {
        let margin = " ".repeat(indent);
        match self {
            Self::Block(pairs) => {
                for (key, node) in pairs {
                    print_pair(&margin, indent, key, node, out);
                }
            }
            Self::Items(nodes) => {
                for node in nodes {
                    let mut inner = String::new();
                    let (comments, node) = match node {
                        Self::Commented(comments, node) => (comments.as_slice(), node.as_ref()),
                        node => (&[][..], node),
                    };
                    for comment in comments {
                        out.push_str(&format!("{margin}# {comment}\n"));
                    }
                    node.print(indent + 2, &mut inner);
                    out.push_str(&format!("{margin}- {}", inner.trim_start()));
                }
            }
            node => out.push_str(&format!("{margin}{}\n", node.line())),
        }
    }
}

fn print_pair(margin: &str, indent: usize, key: &str, node: &Node, out: &mut String) {
    let (comments, node) = match node {
        Node::Commented(comments, node) => (comments.as_slice(), node.as_ref()),
        node => (&[][..], node),
    };
    for comment in comments {
        out.push_str(&format!("{margin}# {comment}\n"));
    }
    match node {
        Node::Block(_) | Node::Items(_) => {
            out.push_str(&format!("{margin}{}:\n", plain_key(key)));
            node.print(indent + 2, out);
        }
        node => out.push_str(&format!("{margin}{}: {}\n", plain_key(key), node.line())),
    }
}

/// A key of a block: brackets are fine there.
fn plain_key(key: &str) -> String {
    if key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.$[]".contains(&b)) {
        key.to_owned()
    } else {
        scalar(key)
    }
}

/// A text in quotes unless it is a word that YAML reads as such.
fn scalar(text: &str) -> String {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.$%/@".contains(&b));
    let starts = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'$' || b == b'-');
    if plain && starts && text != "-" {
        return text.to_owned();
    }
    // A text of JSON is one of YAML; to write it cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}
