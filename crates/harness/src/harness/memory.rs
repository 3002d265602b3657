//! The memory of the current thread: its progress, and thresholds and models of its own.

use ostler_domain::memory::MemorySettings;

use super::Harness;
use crate::error::HarnessError;
use crate::memory::{OmStatus, ThreadMemory, load_om_progress};

impl<S> Harness<S> {
    /// Returns the state of the memory of the current thread; nothing without one.
    pub async fn memory_status(&self) -> Option<OmStatus> {
        self.with_memory(|memory| memory.status(0)).await.ok()
    }

    /// Returns the last status of the current thread's memory that was stored; nothing if the
    /// memory has not done anything yet. Selecting a thread restores its memory by itself.
    pub async fn load_om_progress(&self) -> Result<Option<OmStatus>, HarnessError> {
        let thread = self.current_thread().await.ok_or(HarnessError::NoThread)?.id;
        let config = &self.core.config;
        Ok(load_om_progress(&config.storage, config.org, thread).await?)
    }

    /// Returns the thresholds and models that the memory of the current thread works with.
    pub async fn memory_settings(&self) -> Result<MemorySettings, HarnessError> {
        self.with_memory(ThreadMemory::settings).await
    }

    /// Gives the memory of the current thread thresholds and models of its own. They are
    /// stored with the thread, and hold whatever the harness and its agents say.
    pub async fn set_memory_settings(&self, settings: MemorySettings) -> Result<(), HarnessError> {
        Ok(self.with_memory(|memory| memory.set_settings(settings)).await??)
    }

    async fn with_memory<T>(
        &self,
        read: impl FnOnce(&ThreadMemory) -> T,
    ) -> Result<T, HarnessError> {
        let session = self.core.session.lock().await;
        let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
        thread.window.memory.as_ref().map(read).ok_or(HarnessError::NoMemory)
    }
}
