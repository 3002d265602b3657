//! The context of the current thread.

use super::Harness;
use crate::context::ContextReport;
use crate::error::HarnessError;
use crate::session::context_report;

impl<S> Harness<S> {
    /// Returns what the next request of the current thread consists of: files for agents
    /// that the model was shown, and the tokens of each part. Files are read when a turn
    /// begins.
    pub async fn context(&self) -> Result<ContextReport, HarnessError> {
        let mut session = self.core.session.lock().await;
        let assembled = self.core.assemble(&mut session)?;
        let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
        Ok(context_report(thread, &assembled))
    }
}
