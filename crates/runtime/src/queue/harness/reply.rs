//! Replies to whoever asked, and reports to whoever granted the authority.

use std::sync::Arc;

use ostler_bus::{BusError, Envelope};
use ostler_domain::dispatch::authority::Authority;
use ostler_domain::dispatch::name::AgentName;

use super::Harness;
use super::dispatch::Undone;
use crate::queue::agent::Reply;
use crate::queue::context::AgentContext;
use crate::queue::coordination::{Coordination, Report};
use crate::queue::error::{QueueError, Result};
use crate::queue::runtime::AgentRuntime;

impl Harness {
    pub(super) async fn deliver(
        &self,
        context: &AgentContext,
        authority: &Authority,
        reply: Option<Reply>,
    ) -> Result<(), Undone> {
        let shown_to = authority.granted_by.as_ref().filter(|_| authority.tier.shows_result());
        if let Some(granter) = shown_to {
            Box::pin(self.show(context, granter, reply.as_ref())).await?;
        }
        match reply {
            Some(reply) => {
                Ok(answer(&context.runtime, &self.spec.name, &context.cause, reply).await?)
            }
            None => Ok(()),
        }
    }

    /// Shows what was done to whoever granted it.
    async fn show(
        &self,
        context: &AgentContext,
        granter: &AgentName,
        reply: Option<&Reply>,
    ) -> Result<()> {
        let cause = &context.cause;
        let report = Report {
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

/// Replies to a message in the name of an agent: to where it wants the reply,
/// under its code, with it as the parent. A reply that nobody wants is dropped.
pub(in crate::queue) async fn answer(
    runtime: &AgentRuntime,
    from: &AgentName,
    to: &Envelope,
    reply: Reply,
) -> Result<()> {
    let Some(queue) = &to.context.reply_to else {
        let (kind, message) = (&to.message.kind, to.message.id);
        tracing::warn!(agent = %from, %message, %kind, "a reply was dropped: nobody asked for one");
        return Ok(());
    };
    match runtime.post(queue, signed(from, to, reply)).await {
        Err(QueueError::Bus(error @ BusError::NobodyWaits(_))) => {
            tracing::debug!(agent = %from, message = %to.message.id, %error, "a reply came late");
            Ok(())
        }
        posted => posted,
    }
}

/// The reply to a message, with the name of who gives it.
fn signed(from: &AgentName, to: &Envelope, reply: Reply) -> Arc<Envelope> {
    let mut envelope = to.reply(reply.kind, reply.payload);
    envelope.context.from_agent = Some(from.clone());
    Arc::new(envelope)
}
