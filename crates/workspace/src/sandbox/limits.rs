//! Limits of a command.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a command may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    pub time: Duration,
    /// Bytes of output after which the command is killed.
    pub max_output_bytes: u64,
    /// Bytes of output that are kept for the result: the beginning and the end.
    pub kept_output_bytes: usize,
    pub resources: ResourceLimits,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            max_output_bytes: 32 << 20,
            kept_output_bytes: 24 * 1024,
            resources: ResourceLimits::default(),
        }
    }
}

/// What the processes of a command may use together; where there is no control group, the
/// memory is per process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    pub memory_bytes: u64,
    pub processes: u32,
    /// The size of one file that the command writes.
    pub file_bytes: u64,
    /// The files that one process may have open.
    pub open_files: u32,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { memory_bytes: 4 << 30, processes: 512, file_bytes: 2 << 30, open_files: 4096 }
    }
}
