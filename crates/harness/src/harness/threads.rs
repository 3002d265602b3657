//! Threads: creating, switching, listing and changing them.

use ostler_domain::id::ThreadId;
use ostler_store::{NewThread, OrgStore, ThreadCopy};
use serde_json::Value;

use super::{Harness, HarnessSession};
use crate::clock;
use crate::error::HarnessError;
use crate::event::{SessionEvent, TurnLifeEvent};
use crate::message::{HarnessMessage, StoredItem, message_id, unreadable_message};
use crate::session::{OpenThread, Session, TurnStatus, json};
use crate::state::{CURRENT_MODEL, TASKS};
use crate::thread::{HarnessThread, ThreadMetadata};
use crate::usage::TokenUsage;

/// How many threads a list has at most.
const MAX_THREADS: u32 = 1000;

/// Reads messages of a thread after a number, in order, without a harness. The caller checks
/// whose thread it is. In place of a message that cannot be read stands a note.
pub async fn read_messages(
    store: OrgStore<'_>,
    id: ThreadId,
    after: i64,
    limit: u32,
) -> Result<Vec<HarnessMessage>, HarnessError> {
    let stored = store.thread_messages(id, after, limit).await?;
    let read = stored.iter().map(|row| match serde_json::from_str::<StoredItem>(&row.message) {
        Ok(item) => item.message(row.turn, row.seq),
        Err(error) => {
            tracing::warn!(thread = %id, seq = row.seq, %error, "a message cannot be read");
            unreadable_message(message_id(row.turn, row.seq))
        }
    });
    Ok(read.collect())
}

impl<S> Harness<S> {
    /// Creates a thread and changes to it.
    pub async fn create_thread(&self, title: Option<&str>) -> Result<HarnessThread, HarnessError> {
        let title = title.map(str::to_owned);
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            harness.stop_turn().await;
            let mut session = harness.core.session.lock().await;
            harness.new_thread(&mut session, title, None).await
        })
        .await
    }

    /// Creates a thread with the messages of the current one and changes to it.
    pub async fn clone_thread(&self, title: Option<&str>) -> Result<HarnessThread, HarnessError> {
        self.copy_current(title, None).await
    }

    /// Creates a thread with the messages of the current one up to a message, and changes
    /// to it. Messages are counted from 1.
    pub async fn fork_thread(
        &self,
        up_to: i64,
        title: Option<&str>,
    ) -> Result<HarnessThread, HarnessError> {
        self.copy_current(title, Some(up_to)).await
    }

    async fn copy_current(
        &self,
        title: Option<&str>,
        up_to: Option<i64>,
    ) -> Result<HarnessThread, HarnessError> {
        let title = title.map(str::to_owned);
        self.run_detached(move |harness| async move {
            let from = harness.current_thread().await.ok_or(HarnessError::NoThread)?.id;
            harness.change_to_copy(ThreadCopy { from, up_to }, title).await
        })
        .await
    }

    /// Creates a thread with the messages of another one of the resource, all or up to a
    /// message, and changes to it. Messages are counted from 1.
    pub async fn copy_thread(
        &self,
        from: ThreadId,
        up_to: Option<i64>,
        title: Option<&str>,
    ) -> Result<HarnessThread, HarnessError> {
        let title = title.map(str::to_owned);
        self.run_detached(move |harness| async move {
            harness.check_resource(from).await?;
            harness.change_to_copy(ThreadCopy { from, up_to }, title).await
        })
        .await
    }

    async fn change_to_copy(
        &self,
        copy: ThreadCopy,
        title: Option<String>,
    ) -> Result<HarnessThread, HarnessError> {
        let _control = self.core.control.lock().await;
        self.stop_turn().await;
        let mut session = self.core.session.lock().await;
        self.new_thread(&mut session, title, Some(copy)).await
    }

    /// Aborts the turn and changes to a thread, with its mode, model, tasks and token usage.
    pub async fn switch_thread(&self, id: ThreadId) -> Result<(), HarnessError> {
        self.run_detached(move |harness| async move {
            let _control = harness.core.control.lock().await;
            harness.stop_turn().await;
            let mut session = harness.core.session.lock().await;
            harness.change_thread(&mut session, id).await
        })
        .await
    }

    /// Returns the threads of the resource, the most recently used first.
    pub async fn list_threads(&self) -> Result<Vec<HarnessThread>, HarnessError> {
        let resource = &self.core.config.resource_id;
        let threads = self.core.org().threads(resource, None, MAX_THREADS).await?;
        Ok(threads.into_iter().map(HarnessThread::from).collect())
    }

    /// Returns the threads of the resource that have a text in their title or messages.
    pub async fn search_threads(&self, text: &str) -> Result<Vec<HarnessThread>, HarnessError> {
        let resource = &self.core.config.resource_id;
        let threads = self.core.org().search_threads(resource, text, None, MAX_THREADS).await?;
        Ok(threads.into_iter().map(HarnessThread::from).collect())
    }

    /// Changes to the thread that was used last, or creates one.
    pub async fn select_or_create_thread(&self) -> Result<HarnessThread, HarnessError> {
        self.run_detached(|harness| async move { harness.select_or_create().await }).await
    }

    async fn select_or_create(&self) -> Result<HarnessThread, HarnessError> {
        let _control = self.core.control.lock().await;
        self.stop_turn().await;
        let mut session = self.core.session.lock().await;
        let resource = &self.core.config.resource_id;
        let latest = self.core.org().threads(resource, None, 1).await?;
        match latest.first() {
            Some(thread) => {
                self.change_thread(&mut session, thread.id).await?;
                let current = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
                Ok(current.info.clone())
            }
            None => self.new_thread(&mut session, None, None).await,
        }
    }

    /// Changes the title of the current thread.
    pub async fn rename_thread(&self, title: &str) -> Result<(), HarnessError> {
        let title = title.to_owned();
        self.change_current(|thread| thread.info.title = Some(title)).await
    }

    /// Deletes a thread with all that belongs to it. The current one is aborted first.
    pub async fn delete_thread(&self, id: ThreadId) -> Result<(), HarnessError> {
        self.run_detached(move |harness| async move { harness.delete(id).await }).await
    }

    async fn delete(&self, id: ThreadId) -> Result<(), HarnessError> {
        let _control = self.core.control.lock().await;
        let is_current = {
            let session = self.core.session.lock().await;
            session.thread.as_ref().is_some_and(|thread| thread.info.id == id)
        };
        if is_current {
            self.close_interrupted().await?;
            self.stop_turn().await;
        }
        let mut session = self.core.session.lock().await;
        let current = session.thread.take_if(|thread| thread.info.id == id);
        let thread = match current {
            Some(thread) => thread,
            None => self.core.open_thread(id).await?,
        };
        self.core.org().delete_thread(thread.lease).await.map_err(crate::session::lost)
    }

    /// Stores a setting of the embedder with the current thread.
    pub async fn persist_thread_setting(
        &self,
        key: &str,
        value: Value,
    ) -> Result<(), HarnessError> {
        let key = key.to_owned();
        self.change_current(|thread| {
            thread.info.metadata.settings.insert(key, value);
        })
        .await
    }

    /// Changes the current thread and stores it.
    pub(super) async fn change_current(
        &self,
        change: impl FnOnce(&mut OpenThread) + Send + 'static,
    ) -> Result<(), HarnessError> {
        self.run_detached(|harness| async move {
            let mut session = harness.core.session.lock().await;
            let thread = session.thread.as_mut().ok_or(HarnessError::NoThread)?;
            change(thread);
            harness.core.commit_metadata(thread).await
        })
        .await
    }

    /// Returns the current thread.
    pub async fn current_thread(&self) -> Option<HarnessThread> {
        self.core.session.lock().await.thread.as_ref().map(|thread| thread.info.clone())
    }

    /// Returns the tokens that the current thread has used.
    pub async fn token_usage(&self) -> TokenUsage {
        self.current_thread()
            .await
            .map_or_else(TokenUsage::default, |thread| thread.metadata.token_usage)
    }

    /// Returns messages of a thread after a number, in order.
    pub async fn messages(
        &self,
        id: ThreadId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<HarnessMessage>, HarnessError> {
        self.check_resource(id).await?;
        read_messages(self.core.org(), id, after, limit).await
    }

    /// Fails if a thread does not belong to the resource.
    pub(super) async fn check_resource(&self, id: ThreadId) -> Result<(), HarnessError> {
        let thread = self.core.org().thread(id).await?;
        match thread.is_some_and(|thread| thread.resource == self.core.config.resource_id) {
            true => Ok(()),
            false => Err(HarnessError::UnknownThread(id)),
        }
    }

    /// Returns what the harness works on.
    pub async fn session(&self) -> Result<HarnessSession, HarnessError> {
        let threads = self.list_threads().await?;
        let session = self.core.session.lock().await;
        let current = session.thread.as_ref().map(|thread| &thread.info);
        Ok(HarnessSession {
            current_thread_id: current.map(|thread| thread.id),
            current_mode_id: session.mode.clone(),
            current_model_id: self.core.current_model.get(),
            token_usage: current.map(|thread| thread.metadata.token_usage).unwrap_or_default(),
            threads,
        })
    }

    /// Creates a thread unless one is open.
    pub(super) async fn ensure_thread(&self, session: &mut Session) -> Result<(), HarnessError> {
        if session.thread.is_none() {
            self.new_thread(session, None, None).await?;
        }
        Ok(())
    }

    async fn new_thread(
        &self,
        session: &mut Session,
        title: Option<String>,
        copy: Option<ThreadCopy>,
    ) -> Result<HarnessThread, HarnessError> {
        let id = clock::fresh_id(ThreadId::from_u128);
        let metadata = ThreadMetadata {
            current_mode_id: Some(session.mode.clone()),
            current_model_id: self.core.current_model.get(),
            ..ThreadMetadata::default()
        };
        let new = NewThread {
            id,
            resource: self.core.config.resource_id.clone(),
            title,
            metadata: json(&metadata),
            copy,
        };
        self.core.org().create_thread(new).await?;
        let previous = self.leave_thread(session).await?;
        self.enter_thread(session, id).await?;
        let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
        let info = thread.info.clone();
        self.core.publish(Some(id), SessionEvent::ThreadCreated { thread: info.clone() });
        if previous.is_some() {
            let changed =
                SessionEvent::ThreadChanged { thread_id: id, previous_thread_id: previous };
            self.core.publish(Some(id), changed);
        }
        Ok(info)
    }

    async fn change_thread(&self, session: &mut Session, id: ThreadId) -> Result<(), HarnessError> {
        if session.thread.as_ref().is_some_and(|thread| thread.info.id == id) {
            return Ok(());
        }
        // The new thread is opened first: if that fails, the current one stays.
        let opened = self.core.open_thread(id).await?;
        let previous = self.leave_thread(session).await?;
        self.core.hub.begin_thread(id, opened.lease.token());
        session.thread = Some(opened);
        self.restore(session)?;
        let changed = SessionEvent::ThreadChanged { thread_id: id, previous_thread_id: previous };
        self.core.publish(Some(id), changed);
        self.continue_waiting(session)
    }

    async fn enter_thread(&self, session: &mut Session, id: ThreadId) -> Result<(), HarnessError> {
        let opened = self.core.open_thread(id).await?;
        self.core.hub.begin_thread(id, opened.lease.token());
        session.thread = Some(opened);
        self.restore(session)
    }

    /// Lets go of the current thread and returns its id.
    async fn leave_thread(&self, session: &mut Session) -> Result<Option<ThreadId>, HarnessError> {
        let Some(thread) = session.thread.take() else { return Ok(None) };
        let id = thread.info.id;
        match self.core.release_thread(thread).await {
            // It belongs to another process already.
            Ok(()) | Err(HarnessError::ThreadLost) => Ok(Some(id)),
            Err(error) => Err(error),
        }
    }

    /// Takes mode, model and tasks from the thread.
    fn restore(&self, session: &mut Session) -> Result<(), HarnessError> {
        let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
        let metadata = &thread.info.metadata;
        let mode = metadata.current_mode_id.as_deref().and_then(|id| self.core.config.mode(id));
        if let Some(mode) = mode {
            let stored = metadata.current_model_id.clone();
            let model = stored
                .or_else(|| metadata.mode_model(&mode.id).map(str::to_owned))
                .or_else(|| mode.default_model_id.clone());
            self.core.put_state(CURRENT_MODEL, model.clone().into());
            self.core.current_model.set(model);
        }
        let has_memory = thread.window.memory.is_some();
        let tasks = serde_json::to_value(&metadata.tasks).unwrap_or_default();
        self.core.put_state(TASKS, tasks);
        if let Some(mode) = mode {
            session.mode.clone_from(&mode.id);
        }
        if has_memory {
            // The tool that searches the memory belongs to the thread.
            session.assembled = None;
        }
        Ok(())
    }

    /// Continues a turn that waits for a person, and reports one that was interrupted.
    fn continue_waiting(&self, session: &mut Session) -> Result<(), HarnessError> {
        let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
        let id = thread.info.id;
        match &thread.turn {
            TurnStatus::Interrupted(stored) if stored.waits_for_people() => {
                self.core.continue_interrupted(session).map(drop)
            }
            TurnStatus::Interrupted(_) => {
                self.core.publish(Some(id), TurnLifeEvent::TurnInterrupted {});
                Ok(())
            }
            TurnStatus::Idle | TurnStatus::Running(_) => Ok(()),
        }
    }
}
