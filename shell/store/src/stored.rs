//! Output of methods: requests become trials, results become documents and findings.
//!
//! Documents stay unmodified, so archives of every version open. The parts that pages and lists show are read once, as
//! far as they exist.

use crate::{NewTrial, StoreError};
use methods::{MethodResult, TrialOutcome, TrialRequest};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

impl NewTrial {
    /// A trial of a method: its request and outcome, the result document, the intervals.
    ///
    /// # Errors
    /// A part can't be written as JSON.
    pub fn of_request(
        request: &TrialRequest,
        outcome: &TrialOutcome,
        result: Value,
        intervals: Vec<Value>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            number: u32::try_from(request.number).unwrap_or(u32::MAX),
            key: request.key.clone(),
            label: request.label.clone(),
            part: request.method.clone(),
            phase: request.phase.as_str().to_owned(),
            frame: request.frame(),
            frame_bytes: request.frames.one_length().filter(|_| request.session_load().is_none()),
            line_pps: request.line_pps(),
            request: serde_json::to_value(request)?,
            outcome: serde_json::to_value(outcome)?,
            result,
            intervals,
        })
    }
}

/// A method's result as it is in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResult {
    /// The method, as results name it.
    pub method: String,
    /// Findings, in sentences.
    pub summary: Vec<String>,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    document: Value,
}

impl StoredResult {
    /// The rows of its findings, as they were written.
    pub fn rows(&self) -> &[Value] {
        self.document["findings"]["rows"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The whole of it.
    ///
    /// # Errors
    /// A version with other shapes has written it.
    pub fn typed(&self) -> Result<MethodResult, serde_json::Error> {
        MethodResult::deserialize(&self.document)
    }
}

impl From<Value> for StoredResult {
    fn from(document: Value) -> Self {
        /// Parts written by every version.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Outline {
            method: String,
            summary: Vec<String>,
            remarks: Vec<String>,
        }
        let Outline { method, summary, remarks } = Outline::deserialize(&document).unwrap_or_default();
        Self { method, summary, remarks, document }
    }
}

/// As it was written.
impl Serialize for StoredResult {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_of_other_versions_open() {
        let document = json!({"method": "something new", "summary": ["It works."], "findings": {"type": "new", "rows": [7]}});
        let stored = StoredResult::from(document.clone());
        assert_eq!(
            (stored.method.as_str(), stored.summary.len(), stored.rows().len()),
            ("something new", 1, 1)
        );
        assert!(stored.remarks.is_empty() && stored.typed().is_err());
        assert_eq!(serde_json::to_value(&stored).unwrap(), document);
        for nothing in [Value::Null, json!([]), json!({"summary": 7, "findings": {"rows": {}}})] {
            let stored = StoredResult::from(nothing);
            assert!(stored.summary.is_empty() && stored.rows().is_empty());
        }
    }
}
