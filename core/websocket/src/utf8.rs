//! Whether text that comes in pieces is UTF-8.

/// State of a text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Utf8 {
    /// The beginning of a character whose end has not come, and its bytes.
    begun: [u8; 3],
    len: u8,
}

impl Utf8 {
    /// Takes the next piece; returns whether the text can still be UTF-8.
    pub fn push(&mut self, mut data: &[u8]) -> bool {
        while self.len > 0 {
            let Some((byte, rest)) = data.split_first() else { return true };
            let len = usize::from(self.len);
            let mut all = [0; 4];
            all[..len].copy_from_slice(&self.begun[..len]);
            all[len] = *byte;
            match std::str::from_utf8(&all[..=len]) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_none() && len < 3 => {
                    self.begun[len] = *byte;
                    self.len += 1;
                }
                Err(_) => return false,
            }
            data = rest;
        }
        let Err(error) = std::str::from_utf8(data) else { return true };
        let rest = &data[error.valid_up_to()..];
        if error.error_len().is_some() {
            return false;
        }
        self.begun[..rest.len()].copy_from_slice(rest);
        self.len = rest.len() as u8;
        true
    }

    /// Whether no character is half there.
    pub fn is_whole(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_cut_says_what_the_whole_says(text: String, noise in proptest::collection::vec(any::<u8>(), 0..4), at: usize,
                                           cuts in proptest::collection::vec(1usize..5, 1..20)) {
            let mut bytes = text.into_bytes();
            let at = at % (bytes.len() + 1);
            bytes.splice(at..at, noise);
            let (mut utf8, mut good, mut rest) = (Utf8::default(), true, &bytes[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at(rest.len().min(*cut));
                good &= utf8.push(now);
                rest = later;
                if rest.is_empty() || !good {
                    break;
                }
            }
            prop_assert_eq!(good && utf8.is_whole(), std::str::from_utf8(&bytes).is_ok());
        }
    }
}
