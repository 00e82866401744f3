//! XDP programs that are on an interface before an AF_XDP port is opened on it.
//!
//! Ours goes with its process; a moment may pass. Others that use AF_XDP, such as DPDK's driver, leave the program of
//! libxdp attached when they are killed: it is removed if no process holds it or a map of its any more, as it can only
//! pass frames on. Every other program stays, libxdp's dispatcher included, which may run other programs.

use os::link::{AttachedProgram, LinkFacts, Links};
use port::{PortError, PortErrorKind};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use xdp::bpf;

/// Name of libxdp's program for AF_XDP.
const OF_LIBXDP: &str = "xsk_def_prog";
/// Beginning of the names of our programs.
const OURS: &str = "eagre_";
/// Time that the kernel may take to detach the program of a process that has ended.
const DETACH_WAIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Removes a dead process's program from `interface`, or names the owner of a live one.
///
/// # Errors
/// It has a program of another owner.
pub fn clear_leftover(device: &str, links: &mut Links, interface: &LinkFacts) -> Result<(), PortError> {
    let Some(AttachedProgram { id, mode }) = interface.xdp else { return Ok(()) };
    let name = &interface.name;
    let state = |reason: String, remedy: String| PortError::new(device, PortErrorKind::State, reason, remedy);
    let remedy = format!("end the program that uses it, or: ip link set {name} xdp off");
    let program = match Program::by_id(id) {
        Ok(program) => program,
        Err(error) => {
            return Err(state(
                format!("the XDP program {id} is already on {name}, and it can't be looked at: {error}"),
                remedy,
            ));
        }
    };
    if program.name.starts_with(OURS) && holder(&program).is_none() {
        let deadline = Instant::now() + DETACH_WAIT;
        while Instant::now() < deadline {
            if links.by_index(interface.index).is_ok_and(|now| now.xdp.is_none()) {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
    if program.name != OF_LIBXDP {
        return Err(state(
            format!("another XDP program ('{}', {id}) is already on {name}", program.name),
            remedy,
        ));
    }
    if let Some(process) = holder(&program) {
        return Err(state(format!("{name} is already in use over AF_XDP by process {process}"), remedy));
    }
    links.detach_xdp(interface.index, mode).map_err(|error| {
        state(
            format!("the XDP program {id} that a dead process left on {name} can't be removed: {error}"),
            remedy,
        )
    })
}

/// An XDP program.
#[derive(Debug)]
struct Program {
    id: u32,
    name: String,
    maps: Vec<u32>,
}

/// The start of `struct bpf_prog_info`, up to the name.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    kind: u32,
    id: u32,
    tag: [u8; 8],
    jited_bytes: u32,
    xlated_bytes: u32,
    jited: u64,
    xlated: u64,
    load_time: u64,
    created_by: u32,
    maps: u32,
    map_ids: u64,
    name: [u8; 16],
}

const BPF_PROG_GET_FD_BY_ID: i64 = 13;
const BPF_OBJ_GET_INFO_BY_FD: i64 = 15;

/// Maps of a program we look at, at most.
const MAPS_MAX: usize = 16;

impl Program {
    /// Whether a process's descriptor is of the program or one of its maps.
    fn is_behind(&self, process: &str, descriptor: i32) -> bool {
        fs::read_link(format!("/proc/{process}/fd/{descriptor}"))
            .is_ok_and(|target| target.to_string_lossy().starts_with("anon_inode:bpf"))
            && fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}"))
                .is_ok_and(|text| mentions(&text, self))
    }

    fn by_id(id: u32) -> io::Result<Self> {
        // `union bpf_attr` for BPF_PROG_GET_FD_BY_ID: the number, the next number, flags.
        let mut by_id = [id, 0, 0];
        // SAFETY: the structure is as long as said; the descriptor is fresh.
        let descriptor = unsafe {
            let descriptor = bpf::call(BPF_PROG_GET_FD_BY_ID, &mut by_id)?;
            OwnedFd::from_raw_fd(descriptor)
        };
        let mut maps = [0u32; MAPS_MAX];
        let mut info =
            ProgramInfo { maps: MAPS_MAX as u32, map_ids: maps.as_mut_ptr() as u64, ..Default::default() };
        // For BPF_OBJ_GET_INFO_BY_FD: descriptor and length in one word each, and where to.
        #[repr(C)]
        struct InfoByFd {
            descriptor: u32,
            bytes: u32,
            info: u64,
        }
        let mut ask = InfoByFd {
            descriptor: descriptor.as_raw_fd() as u32,
            bytes: size_of::<ProgramInfo>() as u32,
            info: (&raw mut info) as u64,
        };
        // SAFETY: the kernel writes at most `bytes` to `info` and `maps` numbers to `map_ids`; both outlive the call.
        unsafe { bpf::call(BPF_OBJ_GET_INFO_BY_FD, &mut ask)? };
        let end = info.name.iter().position(|&b| b == 0).unwrap_or(info.name.len());
        let maps = maps[..(info.maps as usize).min(MAPS_MAX)].to_vec();
        Ok(Self { id, name: String::from_utf8_lossy(&info.name[..end]).into_owned(), maps })
    }
}

/// A process that has the program or one of its maps open.
fn holder(program: &Program) -> Option<u32> {
    let numbers = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(numbers);
    let mut processes = processes.into_iter();
    processes.find(|process| {
        let descriptors = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
        let mut numbers = descriptors.into_iter().filter_map(number);
        numbers.any(|number| program.is_behind(&process.to_string(), number))
    })
}

/// Whether a descriptor's `fdinfo` is about the program or one of its maps.
fn mentions(fdinfo: &str, program: &Program) -> bool {
    fdinfo.lines().any(|line| {
        let number = |key: &str| line.strip_prefix(key)?.trim().parse::<u32>().ok();
        number("prog_id:") == Some(program.id)
            || number("map_id:").is_some_and(|id| program.maps.contains(&id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_of_the_program_or_its_map_is_recognised() {
        let program = Program { id: 17, name: "xsk_def_prog".into(), maps: vec![4] };
        assert!(mentions("pos:\t0\nprog_id:\t17\n", &program));
        assert!(mentions("map_type:\t17\nmap_id:\t4\n", &program));
        assert!(!mentions("prog_id:\t170\nmap_id:\t17\n", &program));
    }
}
