//! Runs one command in the sandbox of a directory, to see what it may do there. It is also the
//! sandbox helper of programs that cannot be their own.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use ostler_workspace::sandbox::{
    CommandEnd, CommandOutput, CommandRequest, Enforcement, HelperProgram, OutputStream,
    SandboxOptions, run_helper_if_requested,
};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};

const USAGE: &str = "usage: ostler-sandbox DIRECTORY COMMAND\n\
    example: ostler-sandbox . 'make test'";

fn main() -> ExitCode {
    run_helper_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, line] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    match run(directory, line) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(directory: &str, line: &str) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
    let workspace = Arc::new(Workspace::open(WorkspaceOptions::new(directory, sandbox))?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let status = workspace.sandbox_status().await;
        eprintln!("sandbox: {status}");
        for gap in status.enforcement().map(Enforcement::gaps).unwrap_or_default() {
            eprintln!("not enforced: {gap}");
        }
        workspace.run(&CommandRequest::shell(line), &Terminal).await
    })?;
    let result = result.result;
    let millis = result.duration.as_millis();
    Ok(match result.end {
        CommandEnd::Exited(code) => {
            eprintln!("exit code {code} after {millis} ms");
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }
        end => {
            eprintln!("killed after {millis} ms: {end:?}");
            ExitCode::FAILURE
        }
    })
}

/// Passes the output on to this program's own.
struct Terminal;

impl CommandOutput for Terminal {
    fn write(&self, stream: OutputStream, bytes: &[u8]) {
        let _ = match stream {
            OutputStream::Stdout => std::io::stdout().write_all(bytes),
            OutputStream::Stderr => std::io::stderr().write_all(bytes),
        };
    }
}
