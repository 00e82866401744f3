//! Cores of a device under test: those that were chosen, or all but the tester's worker core, so that the device is the limit
//! and not the tester.

use super::Parameters;
use os::cpu;

/// Cores of the device, ascending; empty if there is only one core.
pub(super) fn of_device(parameters: &Parameters) -> Vec<usize> {
    if let Some(chosen) = &parameters.dut_cores {
        return chosen.clone();
    }
    let tester = cpu::worker_cores(1, None);
    cpu::control_cores(&tester).into_iter().filter(|core| !tester.contains(core)).collect()
}

/// Cores of the tester, ascending, if the device's were chosen: all others.
pub(super) fn of_tester(parameters: &Parameters) -> Option<Vec<usize>> {
    let chosen = parameters.dut_cores.as_ref()?;
    Some(cpu::of_process().into_iter().filter(|core| !chosen.contains(core)).collect())
}

/// Why a device can't have these cores, if it can't; `all` are those that this process may use.
pub(super) fn refusal(chosen: &[usize], all: &[usize]) -> Option<String> {
    let there = cpu::format_list(all);
    let list = cpu::format_list(chosen);
    if chosen.is_empty() {
        return Some(format!("--dut-cores names no core; use some of {there}"));
    }
    if let Some(core) = chosen.iter().find(|core| !all.contains(core)) {
        return Some(format!("--dut-cores {list}: there is no core {core} here; use some of {there}"));
    }
    let left = all.iter().any(|core| !chosen.contains(core));
    (!left).then(|| format!("--dut-cores {list} leaves no core for the tester, which needs one of {there}"))
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
        let device = of_device(&Parameters::default());
        assert!(device.iter().all(|core| !tester.contains(core)));
        assert_eq!(device.is_empty(), cpu::allowed().len() == 1);
    }

    #[test]
    fn cores_are_there_and_leave_one() {
        assert_eq!(refusal(&[0, 2], &[0, 1, 2, 3]), None);
        let said = |chosen: &[usize]| refusal(chosen, &[0, 1, 2, 3]).unwrap();
        assert_eq!(said(&[]), "--dut-cores names no core; use some of 0-3");
        assert_eq!(said(&[3, 7]), "--dut-cores 3,7: there is no core 7 here; use some of 0-3");
        assert_eq!(
            said(&[0, 1, 2, 3]),
            "--dut-cores 0-3 leaves no core for the tester, which needs one of 0-3"
        );
    }
}
