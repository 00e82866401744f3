use super::*;
use crate::vary::{ListOrder, Source, Variable};
use std::collections::HashSet;

fn bound(source: Source) -> Bound {
    Bound::new(&[Variable::new(source)], 0, &[]).unwrap()
}

fn range(first: u128, step: u128, count: u128, width: u16) -> Source {
    Source::Range { first, step, count, width }
}

fn random(from: u128, to: u128, distinct: Option<u64>) -> Source {
    Source::Random { from, to, distinct, seed: 3 }
}

fn first_values<const N: usize>(source: Source) -> [u128; N] {
    let bound = bound(source);
    std::array::from_fn(|k| bound.value(k as u64))
}

#[test]
fn ranges_go_up_and_round() {
    assert_eq!(first_values(range(10, 1, 3, 8)), [10, 11, 12, 10, 11]);
    assert_eq!(first_values(range(10, 5, 3, 8)), [10, 15, 20, 10, 15]);
    assert_eq!(first_values(range(7, 9, 1, 8)), [7, 7, 7]);
}

#[test]
fn ranges_go_down() {
    assert_eq!(first_values(range(10, 1u128.wrapping_neg(), 3, 16)), [10, 9, 8, 10, 9]);
    // The two's complement in the field's own width does as well.
    assert_eq!(first_values(range(10, 0xffff, 3, 16)), [10, 9, 8, 10, 9]);
}

#[test]
fn ranges_wrap_in_their_width() {
    assert_eq!(first_values(range(254, 1, 5, 8)), [254, 255, 0, 1, 2, 254]);
    assert_eq!(first_values(range(1, 2u128.wrapping_neg(), 3, 4)), [1, 15, 13, 1]);
    assert_eq!(first_values(range(u128::MAX, 1, 4, 128)), [u128::MAX, 0, 1, 2, u128::MAX]);
}

#[test]
fn long_ranges_never_begin_again() {
    for count in [1 << 64, u128::MAX] {
        let bound = bound(range(5, 1 << 70, count, 128));
        assert_eq!(bound.value(u64::MAX), (u128::from(u64::MAX) << 70) + 5);
    }
    let almost = bound(range(5, 1, (1 << 64) - 1, 128));
    assert_eq!(almost.value(u64::MAX), 5);
}

#[test]
fn lists_go_round() {
    let values: Arc<[u128]> = Arc::from([9, u128::MAX, 4]);
    let source = Source::List { values: values.clone(), order: ListOrder::Sequential };
    assert_eq!(first_values(source), [9, u128::MAX, 4, 9, u128::MAX]);
    let shuffled = bound(Source::List { values: values.clone(), order: ListOrder::Random { seed: 1 } });
    let counts = values.iter().map(|v| (0..30_000).filter(|k| shuffled.value(*k) == *v).count() as i64);
    // Four standard deviations.
    counts.for_each(|count| assert!((count - 10_000).abs() < 330, "{count}"));
}

#[test]
fn weights_are_kept() {
    let (values, weights) = (Arc::from([10, 20, 30, 40]), Arc::from([7, 0, 4, 1]));
    let bound = bound(Source::Weighted { values, weights, seed: 5 });
    let draws = 120_000;
    let count = |value| (0..draws).filter(|k| bound.value(*k) == value).count() as f64;
    assert_eq!(count(20), 0.0);
    let chi_square: f64 = [(10, 70_000.0), (30, 40_000.0), (40, 10_000.0)]
        .map(|(value, expected)| (count(value) - expected).powi(2) / expected)
        .iter()
        .sum();
    // Two degrees of freedom, one in a thousand.
    assert!(chi_square < 13.8, "{chi_square}");
}

#[test]
fn random_values_fill_their_range_evenly() {
    let bound = bound(random(100, 109, None));
    let draws = 100_000;
    let mut counts = [0.0; 10];
    (0..draws).for_each(|k| counts[(bound.value(k) - 100) as usize] += 1.0);
    let chi_square: f64 = counts.iter().map(|count| (count - 10_000.0f64).powi(2) / 10_000.0).sum();
    // Nine degrees of freedom, one in a thousand.
    assert!(chi_square < 27.9, "{chi_square}");
}

/// Random values that never set bits 15 or 31 are a known fault of another generator.
#[test]
fn every_bit_of_a_random_value_varies() {
    for width in [1u16, 8, 16, 31, 32, 48, 63, 64, 65, 100, 127, 128] {
        let bound = bound(random(0, low_bits(width), None));
        let draws = 4_000;
        for bit in 0..width {
            let ones = (0..draws).filter(|k| bound.value(*k) >> bit & 1 == 1).count() as i64;
            // Five standard deviations.
            assert!((ones - draws as i64 / 2).abs() < 160, "bit {bit} of {width}: {ones}");
        }
    }
}

#[test]
fn random_values_stay_in_their_range() {
    let spans = [0, 1, 6, 1 << 32, u128::from(u64::MAX) - 1, u128::from(u64::MAX), 1 << 64, u128::MAX - 7];
    for span in spans {
        for distinct in [None, Some(1), Some(3), Some(u64::MAX)] {
            let bound = bound(random(7, 7 + span, distinct));
            assert!((0..1_000).all(|k| (7..=7 + span).contains(&bound.value(k))), "{span} {distinct:?}");
        }
    }
    let whole = bound(random(0, u128::MAX, Some(1)));
    assert_eq!(whole.value(0), whole.value(1));
}

#[test]
fn only_so_many_different_values_occur() {
    let seen = |source| {
        let bound = bound(source);
        (0..20_000).map(|k| bound.value(k)).collect::<HashSet<_>>()
    };
    assert_eq!(seen(random(0, u128::MAX, Some(1000))).len(), 1000);
    assert_eq!(seen(random(0, 0xffff_ffff, Some(1000))).len(), 1000);
    assert_eq!(seen(random(50, 60, Some(7))).len(), 7);
    // No more than there are, and another seed gives another set.
    assert_eq!(seen(random(50, 60, Some(100))), (50..=60).collect());
    let other = Source::Random { from: 0, to: 0xffff_ffff, distinct: Some(1000), seed: 4 };
    assert!(seen(other).intersection(&seen(random(0, 0xffff_ffff, Some(1000)))).count() < 10);
}

#[test]
fn seeds_and_numbers_decide() {
    let at = |seed, k| bound(Source::Random { from: 0, to: u128::MAX, distinct: None, seed }).value(k);
    assert_eq!(at(1, 5), at(1, 5));
    let all: HashSet<_> = (0..20).flat_map(|seed| (0..50).map(move |k| at(seed, k))).collect();
    assert_eq!(all.len(), 1000);
}

#[test]
fn derives() {
    let derive = |shift, add, mask, width, original| {
        let variables = [
            Variable::new(range(0, 1, 1, 8)),
            Variable::new(Source::Derived { of: 0, shift, add, mask, width }),
        ];
        let first = Bound::new(&variables, 0, &[]).unwrap();
        Bound::new(&variables, 1, &[first]).unwrap().derive(original)
    };
    let all = u128::MAX;
    assert_eq!(derive(0, 5, all, 16, 7), 12);
    assert_eq!(derive(4, 1, 0xff, 16, 0x123), 0x31);
    assert_eq!(derive(-8, 0, all, 16, 0xabcdef), 0xabcd);
    assert_eq!(derive(0, all, all, 8, 0), 0xff);
    assert_eq!(derive(-128, 3, all, 128, all), 3);
    assert_eq!(derive(127, 0, all, 128, 3), 1 << 127);
}
