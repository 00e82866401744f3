//! Counters that add up field by field.

use crate::Nanos;

/// A count, or several, that another's is added to.
pub trait Tally {
    /// Adds another's.
    fn tally(&mut self, other: &Self);
}

impl Tally for u64 {
    fn tally(&mut self, other: &Self) {
        *self += other;
    }
}

impl<A: Tally, B: Tally> Tally for (A, B) {
    fn tally(&mut self, other: &Self) {
        self.0.tally(&other.0);
        self.1.tally(&other.1);
    }
}

/// When something first happened: the earlier of both.
impl Tally for Option<Nanos> {
    fn tally(&mut self, other: &Self) {
        *self = self.iter().chain(other).min().copied();
    }
}

/// Declares a structure of counters, which is a [`Tally`].
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$about:meta])* $of:vis $field:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$about])* $of $field: $kind,)*
        }

        impl $crate::Tally for $name {
            fn tally(&mut self, other: &Self) {
                $($crate::Tally::tally(&mut self.$field, &other.$field);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    counters! {
        struct Counts {
            frames: (u64, u64),
            first_loss: Option<Nanos>,
        }
    }

    #[test]
    fn each_field_is_added() {
        let mut sum = Counts::default();
        for (sent, lost_at) in [(1, None), (2, Some(9)), (4, Some(7)), (8, None)] {
            sum.tally(&Counts { frames: (sent, 10 * sent), first_loss: lost_at.map(Nanos) });
        }
        assert_eq!(sum, Counts { frames: (15, 150), first_loss: Some(Nanos(7)) });
    }
}
