//! Groups: which streams are added up in which row.

use super::Resolver;
use super::stream::copy_name;
use crate::document::OneOrMany;
use crate::plan::{GroupPlan, StreamPlan};
use indexmap::IndexMap;
use std::collections::HashMap;
use wire::Header;
use wire::path::{self, Place};

/// The word for grouping by tag.
const TAG: &str = "tag";

impl Resolver<'_> {
    pub(super) fn groups(&mut self, streams: &[StreamPlan]) -> Vec<GroupPlan> {
        let document = self.document;
        let mut groups = Vec::new();
        for (name, by) in &document.groups {
            let rows = if by == TAG { self.by_tag(streams) } else { by_field(streams, by) };
            if rows.is_empty() && self.reading.errors.is_empty() {
                let reason = match by.as_str() {
                    TAG => "no stream has a tag".to_owned(),
                    _ => format!(
                        "no stream has '{by}' as a field with one value; it is 'tag' or a field like ipv4.dscp"
                    ),
                };
                self.reading.fail(format!("groups.{name}"), reason);
            }
            groups.push(GroupPlan { name: name.clone(), rows: rows.into_iter().collect() });
        }
        groups
    }

    fn by_tag(&self, streams: &[StreamPlan]) -> IndexMap<String, Vec<u32>> {
        let indices: HashMap<&str, u32> = streams.iter().map(|s| s.name.as_str()).zip(0..).collect();
        let mut rows: IndexMap<String, Vec<u32>> = IndexMap::new();
        for (_, stream) in self.kept_streams() {
            let names: Vec<String> = match stream.copies {
                None => vec![stream.name.0.clone()],
                Some(copies) => (0..copies).map(|index| copy_name(&stream.name.0, index)).collect(),
            };
            let members: Vec<u32> =
                names.iter().filter_map(|name| indices.get(name.as_str()).copied()).collect();
            for (_, tag) in stream.tag.iter().flat_map(OneOrMany::with_paths) {
                rows.entry(tag.0.clone()).or_default().extend(&members);
            }
        }
        rows
    }
}

/// Rows by the value of a field, in streams whose packets all have the same.
fn by_field(streams: &[StreamPlan], by: &str) -> IndexMap<String, Vec<u32>> {
    let mut rows: IndexMap<String, Vec<u32>> = IndexMap::new();
    for (index, stream) in streams.iter().enumerate() {
        if let Some(value) = constant(stream, by) {
            rows.entry(value).or_default().push(index as u32);
        }
    }
    rows
}

/// The one value a field has in all packets of a stream, as people write it.
fn constant(stream: &StreamPlan, by: &str) -> Option<String> {
    let Ok(Place::Field { header, field }) = path::resolve(by, &stream.packet.headers) else { return None };
    let varies = stream.vary.iter().flat_map(|vary| &vary.writes).any(|write| {
        matches!(write.target, field::Target::Field { header: h, field: f } if h == header && f.name == field.name)
    });
    let value = |header: &Header| header.value(field.name).unwrap_or(field.default);
    (!varies).then(|| field.print(value(&stream.packet.headers[header])))
}
