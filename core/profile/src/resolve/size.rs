//! Frame lengths: from what is written to each length once and the packets that have it.

use super::Resolver;
use super::packet::Draft;
use crate::document::StreamDoc;
use crate::document::size::{SizeText, SizesDoc};
use crate::document::vary::Weight;
use crate::plan::Sizes;
use field::{Choice, ChoiceError};
use units::FrameLen;
use wire::signature;

/// Lengths, each with its weight, and how packets take them.
struct Written {
    lengths: Vec<(FrameLen, u32)>,
    taking: Taking,
}

/// Choice of lengths for packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// As listed, weights aside.
    InTurn,
    /// By weight, evenly mixed.
    Mixed,
    /// By weight, at random.
    Random,
}

impl Resolver<'_> {
    /// The frame lengths, once the packet is known to fit them.
    pub(super) fn sizes(&mut self, path: &str, stream: &StreamDoc, draft: &Draft) -> Sizes {
        let signature = if stream.is_measured() { signature::LEN } else { 0 };
        let whole = draft.spec.shortest(signature);
        let size_path = format!("{path}.size");
        if self.reading.is_broken(&size_path) {
            return Sizes::one(whole);
        }
        if whole > FrameLen::MAX {
            let reason = format!("the packet takes {whole} with FCS; the longest frame is {}", FrameLen::MAX);
            self.reading.fail(format!("{path}.packet"), reason);
            return Sizes::one(FrameLen::MAX);
        }
        let Some(doc) = &stream.size else {
            self.check_order(&format!("{path}.packet"), draft, whole);
            return Sizes::one(whole);
        };
        if is_plus_alone(doc) {
            self.reading.fail(format!("{size_path}.plus"), "goes with 'same_as'");
            return Sizes::one(whole);
        }
        if let SizesDoc::SameAs(_) = doc {
            self.reading
                .fail(format!("{size_path}.same_as"), "only a 'frame' takes its length from a variable");
            return Sizes::one(whole);
        }
        let mut written = written(doc);
        if is_mix(doc) {
            written.lengths.iter_mut().for_each(|(length, _)| *length = (*length).max(whole));
        }
        for (index, (size, _)) in written.lengths.iter().enumerate() {
            let at = match doc {
                SizesDoc::Text(_) => size_path.clone(),
                SizesDoc::List(_) => format!("{size_path}[{index}]"),
                SizesDoc::Weights(_) => format!("{size_path}.{size}"),
                SizesDoc::SameAs(_) => break,
            };
            if !self.holds(at, *size, draft, signature) {
                break;
            }
        }
        let shortest = written.lengths.iter().map(|(length, _)| *length).min().unwrap_or(whole);
        self.check_order(&format!("{path}.packet"), draft, shortest.max(whole));
        self.chosen(&size_path, &written).unwrap_or_else(|| Sizes::one(whole))
    }

    /// Written lengths, regardless of the contents.
    pub(super) fn written_sizes(&mut self, path: &str, doc: &SizesDoc) -> Option<Sizes> {
        self.chosen(path, &written(doc))
    }

    fn chosen(&mut self, path: &str, written: &Written) -> Option<Sizes> {
        let seed = self.seed_of(path, "size");
        sizes(written, seed).map_err(|error| self.reading.fail(path, error.to_string())).ok()
    }

    /// Whether a frame of `size` holds the packet; reports an error if not.
    fn holds(&mut self, path: String, size: FrameLen, draft: &Draft, signature: usize) -> bool {
        let (bare, whole) = (draft.spec.shortest(0), draft.spec.shortest(signature));
        if size < bare {
            let reason = format!(
                "headers and payload take {bare} with FCS, more than {size}; the smallest size here is {whole}"
            );
            self.reading.fail(path, reason);
        } else if size < whole {
            let reason = format!(
                "{size} has no room for the {signature} bytes of the test signature; \
                 the smallest size here is {whole}, or set measure: false"
            );
            self.reading.fail(path, reason);
        }
        size >= whole
    }
}

/// Whether something is added to no length: 'plus' looks like a length with a weight.
pub(super) fn is_plus_alone(doc: &SizesDoc) -> bool {
    matches!(doc, SizesDoc::Weights(weights) if weights.contains_key("plus"))
}

/// Whether lengths too short for the packet are raised instead of refused.
fn is_mix(doc: &SizesDoc) -> bool {
    matches!(doc, SizesDoc::Text(text) if matches!(text.0, SizeText::Mix { .. }))
}

fn written(doc: &SizesDoc) -> Written {
    let each = |lengths: Vec<FrameLen>, taking| Written {
        lengths: lengths.into_iter().map(|length| (length, 1)).collect(),
        taking,
    };
    let between = |from: FrameLen, to: FrameLen, step: u32| {
        (from.bytes()..=to.bytes()).step_by(step as usize).filter_map(FrameLen::new).collect()
    };
    match doc {
        SizesDoc::SameAs(_) => each(Vec::new(), Taking::InTurn),
        SizesDoc::List(lengths) => each(lengths.iter().map(|length| length.0).collect(), Taking::InTurn),
        SizesDoc::Weights(weights) => {
            let lengths =
                weights.iter().filter_map(|(text, Weight(weight))| Some((text.parse().ok()?, *weight)));
            Written { lengths: lengths.collect(), taking: Taking::Mixed }
        }
        SizesDoc::Text(text) => match &text.0 {
            SizeText::One(length) => each(vec![*length], Taking::InTurn),
            SizeText::Sweep { from, to, step } => each(between(*from, *to, *step), Taking::InTurn),
            SizeText::Random { from, to } => each(between(*from, *to, 1), Taking::Random),
            SizeText::Genome(lengths) => each(lengths.clone(), Taking::InTurn),
            SizeText::Mix { mix, random } => {
                // Some mixes have lengths below the shortest frame; they are raised like all that are too short.
                let length = |bytes: u32| FrameLen::new(bytes).unwrap_or(FrameLen::MIN);
                Written {
                    lengths: mix.lengths.iter().map(|(bytes, weight)| (length(*bytes), *weight)).collect(),
                    taking: if *random { Taking::Random } else { Taking::Mixed },
                }
            }
        },
    }
}

fn sizes(written: &Written, seed: u64) -> Result<Sizes, ChoiceError> {
    let mut lengths: Vec<FrameLen> = written.lengths.iter().map(|(length, _)| *length).collect();
    lengths.sort();
    lengths.dedup();
    let index = |length: &FrameLen| lengths.binary_search(length).unwrap_or(0);
    let mut weights = vec![0u32; lengths.len()];
    for (length, weight) in &written.lengths {
        weights[index(length)] += weight;
    }
    let choice = match written.taking {
        Taking::InTurn => {
            Choice::sequence(written.lengths.iter().map(|(length, _)| index(length) as u32).collect())
        }
        Taking::Mixed => Choice::weighted(&weights)?,
        Taking::Random => Choice::random(&weights, seed)?,
    };
    Ok(Sizes { lengths, weights: weights.into_iter().map(u64::from).collect(), choice })
}
