//! The threads that this process works on: a harness for each, kept while it is in use.
//!
//! A thread that nobody has used for a while is let go of; its open questions stay, and the
//! next request opens it again. The same happens to all threads when the server stops.

mod registry;
mod slot;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use ostler_api::thread::ThreadChoices;
use ostler_domain::id::OrgId;
use ostler_harness::Harness;

pub(crate) use registry::LiveThreads;
pub(crate) use slot::LiveThread;
pub(crate) use streams::OpenStream;

/// The owner of threads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ThreadOwner {
    pub org: OrgId,
    /// The user or key, as the resource id of the harness.
    pub resource: String,
}

/// Why a harness could not be built.
pub type BuildError = Box<dyn std::error::Error + Send + Sync>;

/// Builds a harness for the threads of an owner.
pub type HarnessFactory = Arc<dyn Fn(&ThreadOwner) -> Result<Harness, BuildError> + Send + Sync>;

/// How threads are served.
#[derive(Clone)]
pub struct ThreadOptions {
    pub build: HarnessFactory,
    /// Returns the modes and models that threads can have.
    pub choices: Arc<dyn Fn() -> ThreadChoices + Send + Sync>,
    /// After this time without a request a thread is let go of.
    pub idle_timeout: Duration,
    /// How many threads of an org are open at the same time.
    pub max_per_org: usize,
    /// How many threads are open at the same time.
    pub max_in_all: usize,
    /// How many event streams of threads an owner has open at the same time.
    pub max_streams_per_owner: usize,
}

impl ThreadOptions {
    /// Returns options with the usual limits.
    pub fn new(build: HarnessFactory) -> Self {
        Self {
            build,
            choices: Arc::new(ThreadChoices::default),
            idle_timeout: Duration::from_secs(10 * 60),
            max_per_org: 500,
            max_in_all: 5_000,
            max_streams_per_owner: 32,
        }
    }
}

impl std::fmt::Debug for ThreadOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadOptions")
            .field("idle_timeout", &self.idle_timeout)
            .field("max_per_org", &self.max_per_org)
            .field("max_in_all", &self.max_in_all)
            .finish_non_exhaustive()
    }
}
