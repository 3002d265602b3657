//! Watching a command: its output and its limits.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin};

use crate::sandbox::capture::{CapturedOutput, CommandOutput, OutputStream};
use crate::sandbox::command::CommandEnd;
use crate::sandbox::limits::CommandLimits;

/// How long the helper may take to kill a command.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A running command.
pub(super) struct Watch<'w> {
    pub(super) limits: &'w CommandLimits,
    pub(super) listener: &'w dyn CommandOutput,
    pub(super) captured: &'w mut CapturedOutput,
    /// The helper kills the command when this is closed.
    pub(super) lifeline: ChildStdin,
}

impl Watch<'_> {
    /// Passes the output on until all processes have ended or a limit is reached. Returns the
    /// limit.
    pub(super) async fn until_end(self, child: &mut Child) -> Option<CommandEnd> {
        let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take())
        else {
            return None;
        };
        let Self { limits, listener, captured, lifeline } = self;
        let (mut lifeline, mut end) = (Some(lifeline), None);
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        let (mut out_open, mut err_open) = (true, true);
        let deadline = tokio::time::sleep(limits.time);
        tokio::pin!(deadline);
        while out_open || err_open {
            let (stream, read) = tokio::select! {
                read = stdout.read(&mut out), if out_open => (OutputStream::Stdout, read.unwrap_or(0)),
                read = stderr.read(&mut err), if err_open => (OutputStream::Stderr, read.unwrap_or(0)),
                () = &mut deadline => {
                    if lifeline.take().is_none() {
                        // The helper did not manage to kill it.
                        let _ = child.start_kill();
                        break;
                    }
                    end = end.or(Some(CommandEnd::TimedOut));
                    deadline.as_mut().reset(tokio::time::Instant::now() + KILL_TIMEOUT);
                    continue;
                }
            };
            let (open, buffer) = match stream {
                OutputStream::Stdout => (&mut out_open, &out),
                OutputStream::Stderr => (&mut err_open, &err),
            };
            *open = read > 0;
            if end.is_none() && read > 0 {
                captured.push(&buffer[..read]);
                listener.write(stream, &buffer[..read]);
                if captured.total_bytes() > limits.max_output_bytes {
                    end = Some(CommandEnd::OutputLimit);
                    lifeline = None;
                    deadline.as_mut().reset(tokio::time::Instant::now() + KILL_TIMEOUT);
                }
            }
        }
        end
    }
}
