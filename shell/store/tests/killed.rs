//! A process that is killed at any moment leaves a store that opens and has every trial that was reported as finished.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{State, Store};

const TRIALS: u32 = 400;
const KILLS: u64 = 25;

/// The example beside this test's program: cargo builds both.
fn example() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    folder.join("examples/campaign")
}

fn command(file: &Path, id: Option<&str>) -> Command {
    let mut command = Command::new(example());
    command.arg(file).arg(TRIALS.to_string()).args(id).stdout(Stdio::piped());
    command
}

/// Starts the campaign, or resumes it, and kills it after a while. Returns its output: the campaign, and the total
/// number of finished trials.
fn run_and_kill(file: &Path, id: Option<&str>, after: Duration) -> (Option<String>, Option<u32>) {
    let mut child = command(file, id).spawn().expect("cargo builds examples before tests run");
    std::thread::sleep(after);
    child.kill().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    // A line is whole or it was not said.
    let mut lines = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    (lines.next().map(str::to_owned), lines.next_back().map(|number| number.parse::<u32>().unwrap() + 1))
}

fn check(file: &Path, id: &str, at_least: u32) -> u32 {
    let store = Store::open(file).unwrap();
    let id = store.find(id).unwrap();
    let trials = store.finished(&id).unwrap();
    let numbers: Vec<u32> = trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, (0..trials.len() as u32).collect::<Vec<_>>(), "a gap or a repeat");
    assert!(trials.len() as u32 >= at_least, "{} of {at_least} finished trials are left", trials.len());
    for trial in &trials {
        assert_eq!(trial.outcome["trial"], trial.number);
        assert_eq!(store.intervals(&id, trial.number).unwrap().len(), 20, "half a trial");
    }
    trials.len() as u32
}

#[test]
fn finished_trials_survive_kill_9_and_are_not_repeated() {
    let file = std::env::temp_dir().join(format!("eagre-killed-{}.db", std::process::id()));
    let remove = || {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
        }
    };
    remove();
    let (mut id, mut finished, mut killed_early) = (None::<String>, 0, 0);
    let mut moments = std::collections::BTreeSet::new();
    for round in 0..KILLS {
        // Spread over the start, the making of tables, and the trials.
        let after = Duration::from_micros(round * round * 400 + round * 137 % 1000);
        let (said, count) = run_and_kill(&file, id.as_deref(), after);
        id = id.or(said);
        let Some(known) = &id else {
            // It had not come so far as to say its campaign. What it left must open.
            drop(Store::open(&file).unwrap());
            killed_early += 1;
            continue;
        };
        finished = check(&file, known, count.unwrap_or(finished).max(finished));
        moments.insert(finished);
    }
    assert!(moments.len() > 3, "killed between the same trials again and again: {moments:?}");
    assert!(killed_early < KILLS, "every process was killed before it began");
    let id = id.unwrap();
    let whole = command(&file, Some(&id)).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    assert_eq!(check(&file, &id, TRIALS), TRIALS);
    let store = Store::open(&file).unwrap();
    let campaign = store.campaign(&store.find(&id).unwrap()).unwrap();
    assert_eq!(campaign.state, State::Done);
    assert!(campaign.resumed > 0);
    drop(store);
    remove();
}
