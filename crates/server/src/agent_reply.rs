//! Waiting for the answer to a request: what the agent writes meanwhile, and the end.
//!
//! The text is streamed if the turn runs in this process; the end is read from the run. A
//! caller who stops waiting abandons the run.

use std::time::Duration;

use ostler_api::problem::ProblemCode;
use ostler_domain::id::{OrgId, RunId};
use ostler_runtime::deltas::{Delta, DeltaContent};
use ostler_runtime::operations::{AgentAnswer, AgentRequest, OrgOperations};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::event_tail::LogSignal;
use crate::server::Server;

/// How long an answer is waited for.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(5 * 60);
/// How often the run is looked for without signals.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A request that an agent answers.
pub(crate) struct PendingReply {
    server: Server,
    caller: Caller,
    org: OrgId,
    pub(crate) run: RunId,
    signals: Receiver<LogSignal>,
    deltas: Receiver<Delta>,
    deadline: Instant,
    is_ended: bool,
}

/// What happens to a request.
pub(crate) enum ReplyEvent {
    /// More text of the answer. `offset` is the length of the draft before it.
    Text {
        offset: usize,
        text: String,
    },
    /// What follows is another text: the draft so far was discarded, or a tool was called.
    Break,
    Ended(Box<AgentAnswer>),
}

impl PendingReply {
    /// Sends a request to an agent of an org.
    pub(crate) async fn begin(
        server: &Server,
        caller: &Caller,
        org: OrgId,
        agent: &str,
        request: AgentRequest,
    ) -> Result<Self> {
        // Subscribe before the message is accepted, so that nothing is missed.
        let (signals, deltas) = (server.tails.subscribe(org), server.deps.deltas.follow());
        let operations = server.deps.operations.as_actor(caller.actor(), org);
        let run = operations.ask_agent(server.deps.receiver.intake(), agent, request).await?;
        Ok(Self {
            server: server.clone(),
            caller: caller.clone(),
            org,
            run,
            signals,
            deltas,
            deadline: Instant::now() + MAX_WAIT,
            is_ended: false,
        })
    }

    fn operations(&self) -> OrgOperations<'_> {
        self.server.deps.operations.as_actor(self.caller.actor(), self.org)
    }

    /// Waits for the next event. Fails if the answer takes too long.
    pub(crate) async fn next(&mut self) -> Result<ReplyEvent> {
        let mut poll_at = (Instant::now() + POLL_INTERVAL).min(self.deadline);
        loop {
            tokio::select! {
                biased;
                delta = self.deltas.recv() => match delta {
                    Ok(delta) if delta.run != self.run => continue,
                    Ok(Delta { content: DeltaContent::Text { offset, text }, .. }) => {
                        return Ok(ReplyEvent::Text { offset, text });
                    }
                    Ok(Delta { content: DeltaContent::Over, .. }) => {}
                    Ok(_) => return Ok(ReplyEvent::Break),
                    Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => tokio::time::sleep_until(poll_at).await,
                },
                signal = self.signals.recv() => if let Err(RecvError::Closed) = signal {
                    tokio::time::sleep_until(poll_at).await;
                },
                () = tokio::time::sleep_until(poll_at) => {}
            }
            if let Some(reply) = self.operations().agent_reply(self.run).await? {
                self.is_ended = true;
                return Ok(ReplyEvent::Ended(Box::new(reply)));
            }
            if Instant::now() >= self.deadline {
                let detail = "the answer took too long; the run was stopped";
                return Err(ApiError::new(ProblemCode::TimedOut, detail));
            }
            poll_at = (Instant::now() + POLL_INTERVAL).min(self.deadline);
        }
    }

    /// Waits for the end.
    pub(crate) async fn ended(&mut self) -> Result<AgentAnswer> {
        loop {
            if let ReplyEvent::Ended(reply) = self.next().await? {
                return Ok(*reply);
            }
        }
    }
}

/// A caller who has gone needs no answer.
impl Drop for PendingReply {
    fn drop(&mut self) {
        if !self.is_ended {
            self.operations().abandon_request(self.run);
        }
    }
}
