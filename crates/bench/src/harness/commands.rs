//! The start of a command in the sandbox of a workspace, beside the bare start of the same
//! program.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_workspace::sandbox::{CommandRequest, DiscardOutput, HelperProgram, SandboxOptions};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};

use crate::BenchError;
use crate::report::Measurement;

pub(super) const NAME: &str = "harness.command_start";

/// Runs a program that does nothing until the time is over. Fails where there is no sandbox.
pub(super) async fn run(time: Duration) -> Result<Measurement, BenchError> {
    let bare = bare(time / 2)?;
    let folder = tempfile::tempdir()?;
    let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
    let workspace = Arc::new(Workspace::open(WorkspaceOptions::new(folder.path(), sandbox))?);
    let request = CommandRequest {
        command: vec!["/bin/true".to_owned()],
        ..CommandRequest::shell(String::new())
    };
    // Finds out what the machine offers.
    workspace.run(&request, &DiscardOutput).await?;
    let (mut each, start) = (Vec::new(), Instant::now());
    while start.elapsed() < time / 2 {
        let began = Instant::now();
        workspace.run(&request, &DiscardOutput).await?;
        each.push(began.elapsed());
    }
    Ok(Measurement::new(NAME.to_owned(), each, start.elapsed(), Some(bare)))
}

/// Returns how many programs a second start without a sandbox.
fn bare(time: Duration) -> Result<f64, BenchError> {
    let (mut count, start) = (0_u32, Instant::now());
    while start.elapsed() < time {
        Command::new("/bin/true").stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}
