//! The same seed has the same trace in another process.
use std::process::Command;

#[test]
fn two_processes_have_the_same_traces() {
    let digests = || {
        let mut sim = Command::new(env!("CARGO_BIN_EXE_sim"));
        let run = sim.args(["--seed", "1", "--cases", "6", "--digest", "--no-shrink"]).output().expect("a run");
        let text = String::from_utf8(run.stdout).expect("text");
        assert!(run.status.success(), "{text}");
        text
    };
    let first = digests();
    assert_eq!(first.lines().count(), 7, "6 digests and a sum: {first}");
    assert_eq!(first, digests());
}
