//! Texts of snapshots, each made once for all who watch.
//!
//! A reader keeps the text it is sending, so slow readers keep old ones. While too many are kept, no new one is made,
//! and all readers get the newest existing one: memory is bounded by [`OLD_MAX`] texts, or [`OLD_BYTES`] if they are
//! small, regardless of the number of readers.

use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Texts that are kept besides the newest.
const OLD_MAX: usize = 4;
/// Bytes of them that are never too many.
const OLD_BYTES: usize = 16 << 20;

/// A text, shared by pointer.
#[derive(Debug, Clone)]
pub(crate) struct Text(Arc<str>);

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Text {
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The same bytes for a response.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Whether both are the same one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The newest text of something, with what it was made of.
#[derive(Debug)]
pub(crate) struct Texts<K> {
    inner: Mutex<Inner<K>>,
}

#[derive(Debug)]
struct Inner<K> {
    newest: Option<(K, Text)>,
    old: Vec<Weak<str>>,
}

impl<K> Inner<K> {
    /// Releases the newest text, unless a reader uses it.
    fn retire(&mut self) {
        if let Some((_, text)) = self.newest.take() {
            self.old.push(Arc::downgrade(&text.0));
        }
        self.sweep();
    }

    /// Removes texts without readers: while a text is listed here, its bytes stay in memory.
    fn sweep(&mut self) {
        self.old.retain(|old| old.strong_count() > 0);
    }
}

impl<K> Default for Texts<K> {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner { newest: None, old: Vec::new() }) }
    }
}

impl<K: PartialEq> Texts<K> {
    /// Lets the newest go; who reads it keeps it.
    pub(crate) fn forget(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.retire();
    }

    /// The text of `key`, made if it does not exist; or an older one while too many are kept. Readers that arrive
    /// meanwhile wait.
    pub(crate) fn newest(&self, key: K, make: impl FnOnce() -> String) -> Text {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.sweep();
        if let Some((known, text)) = &inner.newest {
            let bytes: usize = inner.old.iter().filter_map(Weak::upgrade).map(|old| old.len()).sum();
            if *known == key || (inner.old.len() >= OLD_MAX && bytes + text.0.len() > OLD_BYTES) {
                return text.clone();
            }
        }
        // The old one goes before the new one is made, unless somebody reads it.
        inner.retire();
        let text = Text::new(make());
        inner.newest = Some((key, text.clone()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_made_once_for_all() {
        let (texts, mut made) = (Texts::default(), 0);
        let all: Vec<Text> = (0..100)
            .map(|_| {
                texts.newest(1, || {
                    made += 1;
                    "one".to_owned()
                })
            })
            .collect();
        assert!(made == 1 && all.iter().all(|text| text.is(&all[0])));
        assert_eq!(texts.newest(2, || "two".to_owned()).bytes(), "two");
    }

    #[test]
    fn what_nobody_reads_is_forgotten() {
        let texts = Texts::default();
        let kept = |texts: &Texts<u8>| texts.inner.lock().unwrap().old.len();
        let read = texts.newest(1, || "one".to_owned());
        texts.forget();
        assert_eq!(kept(&texts), 1);
        drop(read);
        texts.newest(2, || "two".to_owned());
        texts.forget();
        assert_eq!(kept(&texts), 0);
    }

    #[test]
    fn slow_readers_keep_few() {
        let (texts, long) = (Texts::default(), "x".repeat(OLD_BYTES));
        let kept: Vec<Text> = (0..100).map(|key| texts.newest(key, || long.clone())).collect();
        let distinct = |kept: &[Text]| 1 + kept.windows(2).filter(|pair| !pair[0].is(&pair[1])).count();
        assert_eq!(distinct(&kept), OLD_MAX + 1);
        drop(kept);
        assert_eq!(texts.newest(100, || "new".to_owned()).bytes(), "new");
        let texts = Texts::default();
        let kept: Vec<Text> = (0..100).map(|key| texts.newest(key, || key.to_string())).collect();
        assert_eq!(distinct(&kept), 100, "small ones do no harm");
    }
}
