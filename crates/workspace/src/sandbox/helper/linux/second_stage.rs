//! The second stage: drops rights, runs the command, and adopts what its processes leave.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, wait};

use crate::sandbox::helper::REFUSED;
use crate::sandbox::helper::linux::confinement;
use crate::sandbox::helper::linux::first_stage::{self, exit_code};
use crate::sandbox::helper::linux::mounts::PreparedMounts;
use crate::sandbox::spec::{HelperReport, HelperSpec};

/// Runs the command and returns its exit code.
pub(super) fn run(spec: &HelperSpec) -> i32 {
    let mut mounts = match confinement::prepare(spec) {
        Ok(mounts) => mounts,
        Err(why) => {
            let report = serde_json::to_vec(&HelperReport::Refused(why)).unwrap_or_default();
            let _ = std::fs::write(&spec.report, report);
            return REFUSED;
        }
    };
    match confine_and_start(spec, &mut mounts) {
        Ok(child) => wait_for(child),
        Err(why) => {
            let _ = write(&mut mounts.report, &HelperReport::Refused(why));
            REFUSED
        }
    }
}

fn confine_and_start(spec: &HelperSpec, mounts: &mut PreparedMounts) -> Result<Pid, String> {
    let enforcement = confinement::apply(spec, mounts)?;
    if let Some(why) = enforcement.insufficiency() {
        return Err(why.to_owned());
    }
    first_stage::adopt_orphans().map_err(|error| error.to_string())?;
    let death_signal = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    death_signal.map_err(|error| format!("cannot follow the parent process: {error}"))?;
    write(&mut mounts.report, &HelperReport::Started(enforcement))
        .map_err(|error| error.to_string())?;
    let (program, arguments) = spec.command.split_first().ok_or("there is no command")?;
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", &mounts.temporary)
        .env("TMPDIR", &mounts.temporary)
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| "no process id".to_owned())
}

fn write(report: &mut File, value: &HelperReport) -> io::Result<()> {
    report.set_len(0)?;
    io::Seek::rewind(report)?;
    report.write_all(&serde_json::to_vec(value)?)
}

/// Waits for the command, and for orphans of its processes meanwhile.
fn wait_for(child: Pid) -> i32 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return exit_code(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return REFUSED,
        }
    }
}
