//! Seeded dice: SplitMix64 (Steele, Lea and Flood, 2014). The sequence is part of what a seed means and never changes.

#[derive(Debug, Clone)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(random::STEP);
        random::mix(self.state)
    }

    /// A number below `span`.
    pub(crate) fn below(&mut self, span: u64) -> u64 {
        random::below(self.next(), span)
    }

    /// True with probability `p`. Throws no die if there is nothing to decide.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        // 53 bits make every double in [0, 1) equally likely.
        p > 0.0 && ((self.next() >> 11) as f64 / (1u64 << 53) as f64) < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_for_ever() {
        let mut dice = Dice::new(42);
        assert_eq!([dice.next(), dice.next()], [0xbdd7_3226_2feb_6e95, 0x28ef_e333_b266_f103]);
    }

    #[test]
    fn chances_are_met() {
        let mut dice = Dice::new(1);
        let hits = (0..100_000).filter(|_| dice.chance(0.25)).count();
        assert!((24_500..25_500).contains(&hits), "{hits}");
        assert!(!dice.chance(0.0));
    }
}
