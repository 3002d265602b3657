//! Requests that wait for no other: stopping the turn, and answers to its questions.

use anyhow::{Context as _, Result};
use ostler_api::problem::{Problem, ProblemCode};
use ostler_api::thread::AskAnswer;
use ostler_domain::id::ThreadId;
use ostler_tui::protocol::ChatUpdate;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::stream::send_figures;
use crate::api_client::{Nothing, OrgApi};

/// The thread that is open, for requests that do not wait. Cheap to clone.
#[derive(Clone)]
pub(super) struct UrgentRequests {
    pub(super) org: OrgApi,
    pub(super) updates: mpsc::Sender<ChatUpdate>,
    pub(super) thread: watch::Receiver<Option<ThreadId>>,
}

impl UrgentRequests {
    /// Stops the turn.
    pub(super) async fn abort(self) {
        let stopped = match self.path_id() {
            Ok(id) => self.org.post(&["threads", &id, "abort"], &()).await.map(|_: Value| ()),
            Err(error) => Err(error),
        };
        self.done(stopped).await;
    }

    /// Answers a question.
    pub(super) async fn send_answer(self, answer: AskAnswer) {
        let answered = match self.path_id() {
            Ok(id) => self.org.post(&["threads", &id, "answers"], &answer).await,
            Err(error) => Err(error),
        };
        self.done(unless_gone(answered.map(|_: Nothing| ()))).await;
    }

    fn path_id(&self) -> Result<String> {
        let open = *self.thread.borrow();
        open.map(|id| id.to_string()).context("there is no thread yet; send a message first")
    }

    async fn done(&self, result: Result<()>) {
        if let Err(error) = result {
            let why = format!("Not done: {error:#}");
            // A UI that is gone needs no answer.
            let _ = self.updates.send(ChatUpdate::Refused { why, text: None }).await;
        }
        let open = *self.thread.borrow();
        if let Some(id) = open {
            // What the figures are is no reason to fail.
            let _ = send_figures(&self.org, id, &self.updates).await;
        }
    }
}

/// A question that was closed meanwhile, because the turn was stopped, is no failure.
fn unless_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(error) => match error.downcast_ref::<Problem>() {
            Some(problem) if problem.code == ProblemCode::NotNow => Ok(()),
            _ => Err(error),
        },
        done => done,
    }
}
