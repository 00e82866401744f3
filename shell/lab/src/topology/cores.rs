//! Cores of a device under test: all but the tester's worker core, so that the device is the limit and not the tester.

use os::cpu;

/// Cores of the device, ascending; empty if there is only one core.
pub(super) fn of_device() -> Vec<usize> {
    let tester = cpu::worker_cores(1, None);
    cpu::control_cores(&tester).into_iter().filter(|core| !tester.contains(core)).collect()
}

/// A mask in the format of `rps_cpus`: hexadecimal 32-bit words, highest first, separated by commas.
pub(super) fn mask(cores: &[usize]) -> String {
    let words = cores.iter().max().map_or(1, |highest| highest / 32 + 1);
    let word = |at: usize| {
        cores.iter().filter(|core| **core / 32 == at).fold(0u32, |word, core| word | 1 << (core % 32))
    };
    (0..words).rev().map(|at| format!("{:08x}", word(at))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_kernels() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[1, 3, 31]), "8000000a");
        assert_eq!(mask(&[0, 32, 64]), "00000001,00000001,00000001");
        assert_eq!(mask(&[95]), "80000000,00000000,00000000");
        assert_eq!(mask(&[]), "00000000");
    }

    #[test]
    fn the_tester_keeps_its_own() {
        let tester = cpu::worker_cores(1, None);
        assert!(of_device().iter().all(|core| !tester.contains(core)));
        assert_eq!(of_device().is_empty(), cpu::allowed().len() == 1);
    }
}
