//! Unpredictable bits from the kernel's generator.
//!
//! Not here: randomness of tests, which comes from seeds (`random`).

/// 64 unpredictable bits.
pub fn bits() -> u64 {
    // The kernel's generator does not fail once it is up.
    getrandom::u64().unwrap_or_default()
}

/// A random seed: the result contains it, so the run can be repeated. Below 2^53, so that it survives every JSON
/// reader.
pub fn seed() -> u64 {
    bits() >> 11
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_differ_and_survive_a_double() {
        let seeds = [super::seed(), super::seed(), super::seed()];
        assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2]);
        assert!(seeds.iter().all(|seed| (*seed as f64) as u64 == *seed && *seed < 1 << 53));
    }
}
