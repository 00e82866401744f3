//! Criteria: that they name a number the result will have, and can be compared with it.

use super::Resolver;
use super::stream::copy_name;
use crate::condition::{Condition, PORT_FIELDS, ResultField, SESSION_FIELDS, STREAM_FIELDS};
use crate::document::StreamDoc;
use crate::document::session::SessionDoc;
use crate::error::unknown;
use crate::plan::Criterion;
use indexmap::IndexSet;

impl<'a> Resolver<'a> {
    pub(super) fn criteria(&mut self) -> Vec<Criterion> {
        let document = self.document;
        let mut criteria = Vec::new();
        for (path, condition) in &document.criteria {
            match self.criterion(path, &condition.0) {
                Ok(found) => criteria.extend(found),
                Err(reason) => self.reading.fail(format!("criteria.{path}"), reason),
            }
        }
        criteria
    }

    /// The criterion at `path`: one for each copy if it names a stream with copies. None if it names a port or stream
    /// that was already complained about.
    fn criterion(&self, path: &str, condition: &Condition) -> Result<Vec<Criterion>, String> {
        let shape = "expected streams.<name>.<number>, sessions.<name>.<number> or ports.<name>.<number> of the result";
        let (kind, rest) = path.split_once('.').ok_or(shape)?;
        let (name, field) = rest.split_once('.').ok_or(shape)?;
        let (names, field) = match kind {
            "streams" => match self.stream_names(name)? {
                Some((names, stream)) => (names, stream_field(field, stream)?),
                None => return Ok(Vec::new()),
            },
            "sessions" => match self.known_session(name)? {
                Some(sessions) => (vec![name.to_owned()], session_field(field, sessions)?),
                None => return Ok(Vec::new()),
            },
            "ports" => match self.known_port(name)? {
                true => (vec![name.to_owned()], known_field(PORT_FIELDS, field)?),
                false => return Ok(Vec::new()),
            },
            _ => return Err(shape.to_owned()),
        };
        let bound = condition.bound_for(field.unit)?;
        Ok(names
            .into_iter()
            .map(|name| Criterion {
                path: format!("{kind}.{name}.{}", field.name),
                comparison: condition.comparison,
                bound,
                text: condition.text.clone(),
            })
            .collect())
    }

    /// The streams of the plan that `name` stands for.
    fn stream_names(&self, name: &str) -> Result<Option<(Vec<String>, &'a StreamDoc)>, String> {
        let streams = &self.document.streams;
        if let Some(stream) = streams.iter().find(|stream| stream.name.0 == name) {
            let names = match stream.copies {
                None => vec![name.to_owned()],
                Some(copies) => (0..copies).map(|index| copy_name(name, index)).collect(),
            };
            return Ok(Some((names, stream)));
        }
        let copy = name.strip_suffix(']').and_then(|name| name.split_once('['));
        let copy = copy.and_then(|(name, index)| Some((name, index.parse::<u32>().ok()?)));
        if let Some((base, index)) = copy
            && let Some(stream) = streams.iter().find(|stream| stream.name.0 == base)
        {
            let copies = stream.copies.unwrap_or(0);
            if index >= copies {
                return Err(format!("stream '{base}' has {copies} copies; there is no '{name}'"));
            }
            return Ok(Some((vec![copy_name(base, index)], stream)));
        }
        if self.reading.drops_parts_of("streams") {
            return Ok(None);
        }
        let known: IndexSet<&str> = streams.iter().map(|stream| stream.name.0.as_str()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        Err(unknown("stream", name, &known))
    }

    fn known_session(&self, name: &str) -> Result<Option<&'a SessionDoc>, String> {
        let sessions = &self.document.sessions;
        let found = sessions.iter().find(|sessions| sessions.name.0 == name);
        if found.is_some() || self.reading.drops_parts_of("sessions") {
            return Ok(found);
        }
        let known: Vec<&str> = sessions.iter().map(|sessions| sessions.name.0.as_str()).collect();
        Err(unknown("entry of 'sessions'", name, &known))
    }

    fn known_port(&self, name: &str) -> Result<bool, String> {
        if self.document.ports.contains_key(name) {
            return Ok(true);
        }
        if self.reading.is_dropped(&format!("ports.{name}")) {
            return Ok(false);
        }
        let known: Vec<&str> = self.document.ports.keys().map(String::as_str).collect();
        Err(unknown("port", name, &known))
    }
}

fn stream_field(name: &str, stream: &StreamDoc) -> Result<&'static ResultField, String> {
    let field = known_field(STREAM_FIELDS, name)?;
    if field.unmeasured || (stream.measure && stream.replay.is_none()) {
        return Ok(field);
    }
    if stream.replay.is_some() {
        return Err(format!("'{name}' is not measured: replayed packets have no signature"));
    }
    Err(format!("'{name}' is not measured, because stream '{}' has measure: false", stream.name.0))
}

fn session_field(name: &str, sessions: &SessionDoc) -> Result<&'static ResultField, String> {
    let field = known_field(SESSION_FIELDS, name)?;
    if field.unmeasured || sessions.client.as_ref().is_some_and(|client| client.port.is_some()) {
        return Ok(field);
    }
    Err(format!("'{name}' is not measured: the clients of '{}' are someone else's", sessions.name.0))
}

fn known_field(fields: &'static [ResultField], name: &str) -> Result<&'static ResultField, String> {
    let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
    fields.iter().find(|field| field.name == name).ok_or_else(|| unknown("number", name, &known))
}
