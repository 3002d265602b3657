//! Sending messages, and stopping, steering and continuing turns.

use std::sync::atomic::Ordering;

use ostler_domain::id::RunId;
use ostler_engine::history::{Content, Item};

use super::Harness;
use crate::error::HarnessError;
use crate::event::SessionEvent;
use crate::message::MessageOrigin;
use crate::session::{QueuedMessage, RunningTurn, Session, TurnOutcome, TurnStatus};

/// How many follow-ups may wait.
const MAX_FOLLOW_UPS: usize = 64;

/// Text, or several parts such as text and images. In a text, `@path` adds a file of the
/// workspace, and `/name` at the beginning a prompt or a skill. Parts are taken as they are.
pub struct MessageInput {
    content: Vec<Content>,
    /// Whether the first part is a text that a person has written.
    is_typed: bool,
}

impl From<&str> for MessageInput {
    fn from(text: &str) -> Self {
        Self::with_attachments(text, Vec::new())
    }
}

impl From<String> for MessageInput {
    fn from(text: String) -> Self {
        Self::with_attachments(text, Vec::new())
    }
}

impl From<Vec<Content>> for MessageInput {
    fn from(content: Vec<Content>) -> Self {
        Self { content, is_typed: false }
    }
}

impl MessageInput {
    /// A text that a person has written, and parts that come with it.
    pub fn with_attachments(text: impl Into<String>, attachments: Vec<Content>) -> Self {
        let text = Content::text(text.into());
        let content = std::iter::once(text).chain(attachments).collect();
        Self { content, is_typed: true }
    }

    fn checked(self) -> Result<QueuedMessage, HarnessError> {
        let is_blank =
            |part: &Content| matches!(part, Content::Text { text } if text.trim().is_empty());
        let Self { content, is_typed } = self;
        if content.iter().all(is_blank) {
            return Err(HarnessError::EmptyMessage);
        }
        Ok(QueuedMessage { content, origin: MessageOrigin::Conversation, is_typed })
    }
}

/// A turn that has begun. Dropping this does not stop it.
#[derive(Debug)]
pub struct StartedTurn {
    pub id: RunId,
    done: Waiting,
}

impl StartedTurn {
    /// Waits for the end of the turn.
    pub async fn ended(self) -> TurnOutcome {
        ended(self.done).await
    }
}

/// Returns the turn that was just started.
fn started(session: &Session) -> Result<StartedTurn, HarnessError> {
    match session.thread.as_ref().map(|thread| &thread.turn) {
        Some(TurnStatus::Running(RunningTurn { id, done, .. })) => {
            Ok(StartedTurn { id: *id, done: done.clone() })
        }
        _ => Err(HarnessError::NothingToResume),
    }
}

type Waiting = tokio::sync::watch::Receiver<Option<TurnOutcome>>;

impl<S> Harness<S> {
    /// Sends a message and waits for the end of its turn. Without a thread, one is created.
    /// Dropping the future does not stop the turn.
    pub async fn send_message(
        &self,
        message: impl Into<MessageInput>,
    ) -> Result<TurnOutcome, HarnessError> {
        Ok(self.start_message(message).await?.ended().await)
    }

    /// Sends a message as [`send_message`](Self::send_message) does, and returns when its
    /// turn has begun.
    pub async fn start_message(
        &self,
        message: impl Into<MessageInput>,
    ) -> Result<StartedTurn, HarnessError> {
        let message = message.into().checked()?;
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            harness.close_interrupted().await?;
            let mut session = harness.core.session.lock().await;
            harness.ensure_thread(&mut session).await?;
            if is_running(&session) {
                return Err(HarnessError::Busy);
            }
            harness.core.start_turn(&mut session, Some(message)).await?;
            started(&session)
        })
        .await
    }

    /// Queues a message behind the running turn, or sends it at once if none is running.
    /// Does not wait for its turn. Returns the turn if it was started at once.
    pub async fn follow_up(
        &self,
        message: impl Into<MessageInput>,
    ) -> Result<Option<StartedTurn>, HarnessError> {
        let message = message.into().checked()?;
        self.run_detached(|harness| async move { harness.queue_or_start(message).await }).await
    }

    async fn queue_or_start(
        &self,
        mut message: QueuedMessage,
    ) -> Result<Option<StartedTurn>, HarnessError> {
        let _control = self.core.control.lock().await;
        self.close_interrupted().await?;
        let mut session = self.core.session.lock().await;
        self.ensure_thread(&mut session).await?;
        let running = is_running(&session);
        let thread = session.thread.as_mut().ok_or(HarnessError::NoThread)?;
        if thread.follow_ups.len() >= MAX_FOLLOW_UPS {
            return Err(HarnessError::QueueFull(MAX_FOLLOW_UPS));
        }
        self.core.store_attachments(thread.lease, &mut message.content).await?;
        thread.follow_ups.push_back(message);
        if !running {
            self.core.start_next(&mut session).await?;
            return started(&session).map(Some);
        }
        let (id, count) = (thread.info.id, thread.follow_ups.len());
        if let Err(error) = self.core.commit_metadata(thread).await {
            thread.follow_ups.pop_back();
            return Err(error);
        }
        self.core.publish(Some(id), SessionEvent::FollowUpQueued { count });
        Ok(None)
    }

    /// Aborts the turn, discards the queue and sends a message instead.
    pub async fn steer(
        &self,
        message: impl Into<MessageInput>,
    ) -> Result<TurnOutcome, HarnessError> {
        Ok(self.start_steer(message).await?.ended().await)
    }

    /// Does what [`steer`](Self::steer) does, and returns when the new turn has begun.
    pub async fn start_steer(
        &self,
        message: impl Into<MessageInput>,
    ) -> Result<StartedTurn, HarnessError> {
        let message = message.into().checked()?;
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            harness.close_interrupted().await?;
            harness.stop_turn().await;
            let mut session = harness.core.session.lock().await;
            harness.ensure_thread(&mut session).await?;
            if let Some(thread) = session.thread.as_mut() {
                thread.follow_ups.clear();
            }
            harness.core.start_turn(&mut session, Some(message)).await?;
            started(&session)
        })
        .await
    }

    /// Stops the running turn and waits for its end. The queue stays; [`resume`](Self::resume)
    /// continues it. Returns whether a turn was running.
    pub async fn abort(&self) -> bool {
        let stopped = self.run_detached(|harness| async move {
            let mut session = harness.core.session.lock().await;
            stop(&mut session, false)
        });
        match stopped.await {
            Some(done) => {
                ended(done).await;
                true
            }
            None => false,
        }
    }

    /// Continues a turn of a process that is gone, or else the queue. Waits for the end of
    /// the turn.
    pub async fn resume(&self) -> Result<TurnOutcome, HarnessError> {
        Ok(self.start_resume().await?.ended().await)
    }

    /// Does what [`resume`](Self::resume) does, and returns when the turn goes on.
    pub async fn start_resume(&self) -> Result<StartedTurn, HarnessError> {
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            let mut session = harness.core.session.lock().await;
            let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
            match &thread.turn {
                TurnStatus::Running(_) => {}
                TurnStatus::Interrupted(_) => {
                    harness.core.continue_interrupted(&mut session)?;
                }
                TurnStatus::Idle => {
                    let next = harness.core.start_next(&mut session).await?;
                    next.ok_or(HarnessError::NothingToResume)?;
                }
            }
            started(&session)
        })
        .await
    }

    /// Answers the last message again after a turn that failed.
    pub async fn retry(&self) -> Result<TurnOutcome, HarnessError> {
        Ok(self.start_retry().await?.ended().await)
    }

    /// Does what [`retry`](Self::retry) does, and returns when the turn has begun.
    pub async fn start_retry(&self) -> Result<StartedTurn, HarnessError> {
        self.run_detached(|harness| async move {
            let _control = harness.core.control.lock().await;
            let mut session = harness.core.session.lock().await;
            let thread = session.thread.as_ref().ok_or(HarnessError::NoThread)?;
            if !matches!(thread.turn, TurnStatus::Idle) {
                return Err(HarnessError::Busy);
            }
            if !matches!(thread.window.last(), Some(Item::User { .. } | Item::Results { .. })) {
                return Err(HarnessError::NothingToResume);
            }
            harness.core.start_turn(&mut session, None).await?;
            started(&session)
        })
        .await
    }

    /// Waits until no turn is running and nothing is started by itself. Returns how the
    /// last turn ended that was waited for.
    pub async fn wait_until_idle(&self) -> Option<TurnOutcome> {
        let mut last = None;
        loop {
            let done = {
                let session = self.core.session.lock().await;
                match session.thread.as_ref().map(|thread| &thread.turn) {
                    Some(TurnStatus::Running(running)) => running.done.clone(),
                    _ => return last,
                }
            };
            last = Some(ended(done).await);
        }
    }

    /// Returns the turn that is running or waits for an answer.
    pub async fn current_turn_id(&self) -> Option<RunId> {
        started(&*self.core.session.lock().await).ok().map(|turn| turn.id)
    }

    /// Returns whether a turn is at work; one that only waits for a person is not.
    pub async fn is_working(&self) -> bool {
        let session = self.core.session.lock().await;
        match session.thread.as_ref().map(|thread| &thread.turn) {
            Some(TurnStatus::Running(running)) => !running.waits.load(Ordering::Acquire),
            _ => false,
        }
    }

    /// Returns whether a turn is running or waits for an answer.
    pub async fn is_running(&self) -> bool {
        is_running(&*self.core.session.lock().await)
    }

    /// Returns how many messages wait in the queue.
    pub async fn follow_up_count(&self) -> usize {
        let session = self.core.session.lock().await;
        session.thread.as_ref().map_or(0, |thread| thread.follow_ups.len())
    }

    /// Discards the messages that wait in the queue.
    pub async fn clear_follow_ups(&self) -> Result<(), HarnessError> {
        self.change_current(|thread| thread.follow_ups.clear()).await
    }

    /// Stops the running turn, starts nothing after it, and waits for its end. The caller
    /// holds the control lock.
    pub(super) async fn stop_turn(&self) {
        let done = {
            let mut session = self.core.session.lock().await;
            stop(&mut session, true)
        };
        if let Some(done) = done {
            ended(done).await;
        }
    }

    /// Ends a turn of a process that is gone, so that another one can begin. The caller
    /// holds the control lock.
    pub(super) async fn close_interrupted(&self) -> Result<(), HarnessError> {
        let done = {
            let mut session = self.core.session.lock().await;
            match self.core.continue_interrupted(&mut session)? {
                Some(_) => stop(&mut session, true),
                None => None,
            }
        };
        if let Some(done) = done {
            ended(done).await;
        }
        Ok(())
    }
}

fn is_running(session: &Session) -> bool {
    let turn = session.thread.as_ref().map(|thread| &thread.turn);
    matches!(turn, Some(TurnStatus::Running(_)))
}

/// Tells the running turn to stop. With `hold`, nothing is started after it.
fn stop(session: &mut Session, hold: bool) -> Option<Waiting> {
    let TurnStatus::Running(running) = &mut session.thread.as_mut()?.turn else { return None };
    running.hold |= hold;
    running.handle.abort();
    running.answered.notify_one();
    Some(running.done.clone())
}

/// Waits for the end of a turn.
async fn ended(mut done: Waiting) -> TurnOutcome {
    loop {
        let outcome = done.borrow_and_update().clone();
        if let Some(outcome) = outcome {
            return outcome;
        }
        if done.changed().await.is_err() {
            // The runtime is shutting down.
            std::future::pending::<()>().await;
        }
    }
}
