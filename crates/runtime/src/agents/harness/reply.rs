//! Replies to senders, and reports to the granter of the authority.

use std::sync::Arc;

use ostler_bus::{BusError, Envelope};
use ostler_domain::queue_agent::authority::Authority;
use ostler_domain::queue_agent::name::AgentName;

use super::QueueAgentHarness;
use super::dispatch::NotHandled;
use crate::agents::agent::AgentReply;
use crate::agents::context::AgentContext;
use crate::agents::coordination::{ActionReport, CoordinationMessage};
use crate::agents::error::{QueueError, Result};
use crate::agents::runtime::AgentRuntime;

impl QueueAgentHarness {
    pub(super) async fn deliver_reply(
        &self,
        context: &AgentContext,
        authority: &Authority,
        reply: Option<AgentReply>,
    ) -> Result<(), NotHandled> {
        let report_to = authority.granted_by.as_ref().filter(|_| authority.tier.shows_result());
        if let Some(granter) = report_to {
            Box::pin(self.send_report(context, granter, reply.as_ref())).await?;
        }
        match reply {
            Some(reply) => {
                send_reply(&context.runtime, &self.spec.name, &context.cause, reply).await?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Reports what was done to the granter of the authority.
    async fn send_report(
        &self,
        context: &AgentContext,
        granter: &AgentName,
        reply: Option<&AgentReply>,
    ) -> Result<()> {
        let cause = &context.cause;
        let report = ActionReport {
            agent: self.spec.name.clone(),
            message: cause.message.id,
            kind: cause.message.kind.clone(),
            result: reply.map(|reply| (*reply.payload).clone()),
        };
        let mut report = report.envelope(cause.reference);
        report.context.parent_message = Some(cause.message.id);
        report.context.from_agent = Some(self.spec.name.clone());
        context.runtime.send(granter, report).await
    }
}

/// How the sending of a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyDelivery {
    Sent,
    /// The message asks for no reply.
    NotWanted,
    /// Nobody waits for it any more.
    TooLate,
}

/// Sends the reply to a message in the name of an agent. Drops it if the
/// message asks for no reply.
pub(in crate::agents) async fn send_reply(
    runtime: &AgentRuntime,
    from: &AgentName,
    to: &Envelope,
    reply: AgentReply,
) -> Result<ReplyDelivery> {
    let Some(queue) = &to.context.reply_to else {
        let (kind, message) = (&to.message.kind, to.message.id);
        tracing::warn!(agent = %from, %message, %kind, "reply dropped: the message asks for none");
        return Ok(ReplyDelivery::NotWanted);
    };
    match runtime.send_to_queue(queue, signed(from, to, reply)).await {
        Err(QueueError::Bus(error @ BusError::NoPendingRequest(_))) => {
            tracing::debug!(agent = %from, message = %to.message.id, %error, "reply dropped: no request is waiting");
            Ok(ReplyDelivery::TooLate)
        }
        posted => posted.map(|()| ReplyDelivery::Sent),
    }
}

/// Returns the reply with its sender set.
fn signed(from: &AgentName, to: &Envelope, reply: AgentReply) -> Arc<Envelope> {
    let mut envelope = to.reply(reply.kind, reply.payload);
    envelope.context.from_agent = Some(from.clone());
    Arc::new(envelope)
}
