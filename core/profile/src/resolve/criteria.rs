//! Criteria: whether they name a number the result will have, and can be compared with it.
//!
//! Which numbers there are is in the catalogue of `result`; here are the names a profile gives: ports, streams, groups.

use super::Resolver;
use super::replayed::direction_names;
use super::session::{BOTH_WAYS, has_alternative};
use super::stream::copy_name;
use crate::condition::Condition;
use crate::document::StreamDoc;
use crate::document::app::AppDoc;
use crate::document::session::SessionDoc;
use crate::plan::{Criterion, GroupPlan, PortPlan};
use indexmap::IndexSet;
use result::{
    BY_MARK, DAMAGE, DNS_CODES, DNS_EXTRA, Field, HTTP_CLASSES, Key, Presence, ResultDocument, Segment,
};
use session::Reason;
use session::plan::Phase;
use spelling::unknown;
use tcp::{StackCounts, TcpCounts};
use wire::integrity::Damage;

/// A path of the result, read from its beginning to some depth.
struct Walk<'c, 'd, 'p> {
    /// The numbers it may lead to.
    fields: Vec<&'c Field>,
    depth: usize,
    /// The rest of the path.
    rest: &'p str,
    /// Depth and rest after the last name of the profile's.
    named: (usize, &'p str),
    /// The paths it stands for so far: several if it names a stream with copies or directions.
    paths: Vec<String>,
    stream: Option<&'d StreamDoc>,
    sessions: Option<&'d SessionDoc>,
    group: Option<&'d GroupPlan>,
}

/// Why a path leads nowhere: a reason, or nothing for a port or stream that was already complained about.
type Nowhere = Option<String>;

impl<'c, 'p> Walk<'c, '_, 'p> {
    /// Whether the step after this is one of a map or a list, and of which.
    fn key(&self) -> Option<Key> {
        self.fields.iter().find_map(|field| match field.segments.get(self.depth) {
            Some(Segment::Key(key)) => Some(*key),
            _ => None,
        })
    }

    /// Goes on to the field that is called like the next word.
    fn field(&mut self) -> Result<(), Nowhere> {
        let (word, rest) = self.rest.split_once('.').unwrap_or((self.rest, ""));
        let depth = self.depth;
        let is_word =
            |field: &Field| matches!(field.segments.get(depth), Some(Segment::Name(name)) if *name == word);
        if !self.fields.iter().any(|field| is_word(field)) {
            return Err(Some(self.unknown()));
        }
        self.fields.retain(|field| is_word(field));
        self.extend(&[word.to_owned()]);
        (self.depth, self.rest) = (depth + 1, rest);
        Ok(())
    }

    /// Goes on to these names, which are `length` bytes of the path.
    fn names(&mut self, names: &[String], length: usize) {
        self.extend(names);
        self.depth += 1;
        self.rest = self.rest[length..].strip_prefix('.').unwrap_or("");
        self.named = (self.depth, self.rest);
    }

    fn extend(&mut self, names: &[String]) {
        let longer = |path: &String| {
            let path = path.clone();
            names
                .iter()
                .map(move |name| if path.is_empty() { name.clone() } else { format!("{path}.{name}") })
        };
        self.paths = self.paths.iter().flat_map(longer).collect();
    }

    fn unknown(&self) -> String {
        let (depth, given) = self.named;
        if self.depth == 0 {
            let parts: IndexSet<String> =
                self.fields.iter().map(|field| field.segments[0].to_string()).collect();
            let word = given.split('.').next().unwrap_or_default();
            return unknown(
                "part of the result",
                word,
                &parts.iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
        let known: Vec<String> = self.fields.iter().map(|field| field.below(depth)).collect();
        unknown("number", given, &known.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The number the whole path leads to.
    fn end(&self) -> Result<&'c Field, String> {
        let here = |field: &&&Field| field.segments.len() == self.depth;
        let field = self.fields.iter().find(here).ok_or_else(|| self.unknown())?;
        let given = self.named.1;
        match field.presence {
            Presence::Measured => match self.stream {
                Some(stream) if stream.is_marked() => match BY_MARK.contains(&given) {
                    true => Ok(field),
                    false => Err(format!(
                        "'{given}' is not measured: stream '{}' has measure: mark, which only counts packets",
                        stream.name.0
                    )),
                },
                Some(stream) if stream.replay.is_some() => {
                    Err(format!("'{given}' is not measured: replayed packets have no signature"))
                }
                Some(stream) if !stream.is_measured() => Err(format!(
                    "'{given}' is not measured, because stream '{}' has measure: false",
                    stream.name.0
                )),
                Some(stream) if given.starts_with("outages.") && stream.outages.is_none() => {
                    Err(format!("'{given}' is not measured: stream '{}' has no 'outages'", stream.name.0))
                }
                _ => Ok(field),
            },
            Presence::Clients | Presence::Servers => match self.sessions {
                Some(sessions) => self.here(sessions, field),
                None => Ok(field),
            },
            Presence::Always | Presence::Optional | Presence::Judged => Ok(field),
        }
    }

    /// The field, if the side that measures it runs here.
    fn here(&self, sessions: &SessionDoc, field: &'c Field) -> Result<&'c Field, String> {
        let (is_here, word) = match field.presence {
            Presence::Clients => {
                (sessions.client.as_ref().is_some_and(|side| side.port.is_some()), "clients")
            }
            _ => (sessions.server.as_ref().is_some_and(|side| side.port.is_some()), "servers"),
        };
        if is_here {
            return Ok(field);
        }
        let (name, given) = (&sessions.name.0, self.named.1);
        Err(format!("'{given}' is not measured: the {word} of '{name}' are someone else's"))
    }
}

impl<'a> Resolver<'a> {
    pub(super) fn criteria(&mut self, groups: &[GroupPlan]) -> Vec<Criterion> {
        let document = self.document;
        if document.criteria.is_empty() {
            return Vec::new();
        }
        let (mut catalogue, mut criteria) = (result::fields::<ResultDocument>(), Vec::new());
        catalogue.retain(|field| field.presence != Presence::Judged);
        for (path, condition) in &document.criteria {
            match self.criterion(&catalogue, groups, path, &condition.0) {
                Ok(found) => criteria.extend(found),
                Err(Some(reason)) => self.reading.fail(format!("criteria.{path}"), reason),
                Err(None) => {}
            }
        }
        criteria
    }

    /// The criterion at `path`: one for each copy if it names a stream with copies.
    fn criterion(
        &self,
        catalogue: &[Field],
        groups: &[GroupPlan],
        path: &str,
        condition: &Condition,
    ) -> Result<Vec<Criterion>, Nowhere> {
        let mut walk = Walk {
            fields: catalogue.iter().collect(),
            depth: 0,
            rest: path,
            named: (0, path),
            paths: vec![String::new()],
            stream: None,
            sessions: None,
            group: None,
        };
        while !walk.rest.is_empty() {
            match walk.key() {
                Some(key) => self.step(&mut walk, key, groups)?,
                None => walk.field()?,
            }
        }
        let field = walk.end().map_err(Some)?;
        let is_damage = walk.named.1.split('.').next().is_some_and(|word| DAMAGE.contains(&word));
        if let Some(stream) = walk.stream.filter(|stream| is_damage && !self.compares_payload(stream)) {
            let (given, name) = (walk.named.1, &stream.name.0);
            return Err(Some(format!("'{given}' is not measured: stream '{name}' has no 'integrity: full'")));
        }
        let bound = condition.bound_for(field.unit).map_err(Some)?;
        // Nothing came with a value that has no row.
        let is_egress = field.segments.contains(&Segment::Key(Key::Egress));
        let absent = (is_egress && walk.named.1 == "rx").then_some(0.0);
        let criterion = |path| Criterion {
            path,
            absent,
            comparison: condition.comparison,
            bound,
            text: condition.text.clone(),
        };
        Ok(walk.paths.into_iter().map(criterion).collect())
    }

    /// Names of the hosts behind the ports of an entry.
    fn hosts_of(&self, sessions: &SessionDoc) -> Vec<&str> {
        let client = sessions.client.as_ref().and_then(|client| client.port.as_deref());
        let server = sessions.server.as_ref().and_then(|server| server.port.as_deref());
        let is_theirs = |port: &&PortPlan| [client, server].contains(&Some(port.name.as_str()));
        let ports = self.ports.iter().filter(is_theirs);
        ports.flat_map(|port| port.hosts.iter().map(|host| host.name.as_str())).collect()
    }

    /// Goes on to what the path names in a map or a list.
    fn step<'d>(&self, walk: &mut Walk<'_, 'd, '_>, key: Key, groups: &'d [GroupPlan]) -> Result<(), Nowhere>
    where
        'a: 'd,
    {
        let rest = walk.rest;
        let word = rest.split('.').next().unwrap_or_default();
        let (names, length) = match key {
            Key::Stream => {
                let (names, stream) = self.stream_names(word).map_err(Some)?.ok_or(None)?;
                walk.stream = Some(stream);
                (names, word.len())
            }
            Key::Sessions => {
                walk.sessions = Some(self.known_session(word).map_err(Some)?.ok_or(None)?);
                (vec![word.to_owned()], word.len())
            }
            Key::App => {
                let members = walk.sessions.and_then(|sessions| match &sessions.app {
                    AppDoc::Full(keys) => keys.mix.as_deref(),
                    AppDoc::Word(_) => None,
                });
                let mut known: Vec<&str> =
                    members.unwrap_or_default().iter().map(|member| member.name.0.as_str()).collect();
                if walk.sessions.is_some_and(|sessions| has_alternative(&sessions.app)) {
                    known.extend(BOTH_WAYS);
                }
                if !known.contains(&word) {
                    return Err(Some(unknown("application of a mix", word, &known)));
                }
                (vec![word.to_owned()], word.len())
            }
            Key::Host => {
                let known = walk.sessions.map(|sessions| self.hosts_of(sessions)).unwrap_or_default();
                if !known.contains(&word) {
                    return Err(Some(unknown("host of these sessions", word, &known)));
                }
                (vec![word.to_owned()], word.len())
            }
            Key::Phase => {
                if !Phase::NAMES.contains(&word) {
                    return Err(Some(unknown("phase", word, &Phase::NAMES)));
                }
                (vec![word.to_owned()], word.len())
            }
            Key::Port => {
                self.known_port(word).map_err(Some)?.then_some(()).ok_or(None)?;
                (vec![word.to_owned()], word.len())
            }
            Key::Group => {
                let known: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
                let group = groups.iter().find(|group| group.name == word);
                walk.group = Some(group.ok_or_else(|| Some(unknown("group", word, &known)))?);
                (vec![word.to_owned()], word.len())
            }
            Key::Row => {
                let rows = walk.group.map_or(&[][..], |group| &group.rows);
                let is_row = |row: &str| rest.strip_prefix(row).is_some_and(|rest| rest.starts_with('.'));
                let row = rows
                    .iter()
                    .map(|(row, _)| row.as_str())
                    .filter(|row| is_row(row))
                    .max_by_key(|row| row.len());
                let known: Vec<&str> = rows.iter().map(|(row, _)| row.as_str()).collect();
                let row = row.ok_or_else(|| Some(unknown("row", word, &known)))?;
                (vec![row.to_owned()], row.len())
            }
            Key::Egress => {
                if walk.stream.is_none_or(|stream| stream.egress.is_none()) {
                    return Err(Some("needs a stream with 'egress'".to_owned()));
                }
                let is_value = |value: &str| value.parse::<u16>().is_ok();
                if word != "short" && !word.split(',').all(is_value) {
                    let reason = "is not a value that packets arrive with, such as 46, or 46,5 of two fields; 'short' are frames too short to have one";
                    return Err(Some(format!("'{word}' {reason}")));
                }
                (vec![word.to_owned()], word.len())
            }
            Key::Index => {
                let is_index = word.parse::<usize>().is_ok();
                is_index
                    .then_some(())
                    .ok_or_else(|| Some(format!("'{word}' is not a place in a list; the first is 0")))?;
                (vec![word.to_owned()], word.len())
            }
            counter => {
                let known = counters(counter);
                if !known.is_empty() && !known.contains(&rest) {
                    return Err(Some(unknown("counter", rest, &known)));
                }
                walk.extend(&[rest.to_owned()]);
                (walk.depth, walk.rest) = (walk.depth + 1, "");
                return Ok(());
            }
        };
        walk.names(&names, length);
        Ok(())
    }

    /// The streams of the plan that `name` stands for: all copies or directions, or one of them.
    fn stream_names(&self, name: &str) -> Result<Option<(Vec<String>, &'a StreamDoc)>, String> {
        let streams = &self.document.streams;
        if let Some(stream) = streams.iter().find(|stream| stream.name.0 == name) {
            return Ok(Some((names_in_plan(stream), stream)));
        }
        let base = name.strip_suffix(']').and_then(|name| name.split_once('['));
        if let Some((base, part)) = base
            && let Some(stream) = streams.iter().find(|stream| stream.name.0 == base)
        {
            if has_directions(stream) && direction_names(base).iter().any(|known| known == name) {
                return Ok(Some((vec![name.to_owned()], stream)));
            }
            if let Ok(index) = part.parse::<u32>() {
                let copies = stream.copies.unwrap_or(0);
                if index >= copies {
                    return Err(format!("stream '{base}' has {copies} copies; there is no '{name}'"));
                }
                return Ok(Some((vec![copy_name(base, index)], stream)));
            }
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

/// The names a stream has in the plan.
fn names_in_plan(stream: &StreamDoc) -> Vec<String> {
    let name = &stream.name.0;
    match stream.copies {
        Some(copies) => (0..copies).map(|index| copy_name(name, index)).collect(),
        None if has_directions(stream) => direction_names(name).into(),
        None => vec![name.clone()],
    }
}

/// Whether a stream is a capture whose two directions are separate streams.
fn has_directions(stream: &StreamDoc) -> bool {
    stream.replay.as_ref().is_some_and(|replay| replay.split.is_some())
}

/// The counters there are in a map; none if drivers and libraries may add some.
fn counters(key: Key) -> Vec<&'static str> {
    match key {
        Key::Failure => Reason::ALL.into_iter().map(Reason::name).collect(),
        Key::HttpClass => HTTP_CLASSES.to_vec(),
        Key::DnsCode => DNS_CODES.into_iter().chain(DNS_EXTRA).collect(),
        Key::TcpCounter => TcpCounts::default().each().map(|(name, _)| name).collect(),
        Key::FrameCounter => StackCounts::default().each().map(|(name, _)| name).collect(),
        Key::Damage => Damage::ALL.map(Damage::name).to_vec(),
        _ => Vec::new(),
    }
}
