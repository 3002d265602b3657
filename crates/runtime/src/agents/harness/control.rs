//! The coordination messages that the harness handles itself: shutdown, plan
//! approvals and team membership. All others are passed to the agent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostler_domain::queue_agent::authority::{Authority, AuthorityTier, resolve_authority};
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::AgentName;

use super::QueueAgentHarness;
use super::dispatch::NotHandled;
use super::recovery::DispatchOutcome;
use super::reply::send_reply;
use crate::agents::context::AgentContext;
use crate::agents::coordination::{
    CoordinationMessage, JoinApproved, JoinRequest, PlanApprovalResponse, ShutdownApproved,
    ShutdownRequest,
};
use crate::agents::error::Result as QueueResult;
use crate::agents::plans::ReceivedPlanAnswer;

/// How often a stopping agent checks whether its work is done.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl QueueAgentHarness {
    pub(super) async fn handle_coordination(
        self: &Arc<Self>,
        context: &AgentContext,
    ) -> Result<(), NotHandled> {
        let kind = &context.cause.message.kind;
        if ShutdownRequest::is(kind) {
            self.handle_shutdown_request(context).await
        } else if PlanApprovalResponse::is(kind) {
            self.handle_plan_answer(context).await
        } else if JoinApproved::is(kind) {
            self.handle_join_approved(context).await
        } else if JoinRequest::is(kind) {
            self.handle_join_request(context).await
        } else {
            self.dispatch(context, &Authority { tier: AuthorityTier::JustDoIt, granted_by: None })
                .await
        }
    }

    /// Finishes the other messages in progress, replies and stops.
    async fn handle_shutdown_request(
        self: &Arc<Self>,
        context: &AgentContext,
    ) -> Result<(), NotHandled> {
        ShutdownRequest::decode(&context.cause)?;
        if !self.may_be_stopped(context).await? {
            let reason =
                "only its team leader, the agent that started it, or a claim may stop an agent";
            return Err(NotHandled::dead_letter(FailureClass::Permission, reason));
        }
        let first = !self.shutting_down.swap(true, Ordering::SeqCst);
        while first && self.in_progress() > 1 && !self.is_closing() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let approved = ShutdownApproved { agent: self.spec.name.clone() };
        if context.cause.context.reply_to.is_some() {
            send_reply(&context.runtime, &self.spec.name, &context.cause, approved.reply()).await?;
        }
        context.stop_self();
        Ok(())
    }

    async fn may_be_stopped(&self, context: &AgentContext) -> Result<bool, NotHandled> {
        let cause = &context.cause;
        if !cause.claims.is_empty() {
            let (me, kind) = (&self.spec.name, cause.message.kind.as_str());
            let granted = resolve_authority(
                &cause.claims,
                me,
                kind,
                AuthorityTier::AskMeFirst,
                ostler_bus::now(),
            );
            return Ok(granted.is_ok());
        }
        let Some(from) = &cause.context.from_agent else { return Ok(false) };
        Ok(self.spec.started_by.as_ref() == Some(from) || self.is_led_by(context, from).await?)
    }

    async fn is_led_by(&self, context: &AgentContext, agent: &AgentName) -> QueueResult<bool> {
        for team in self.teams() {
            if context.runtime.team_leader(&team).await?.as_ref() == Some(agent) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts an approved message back into the queue, or tells its sender about
    /// the rejection.
    async fn handle_plan_answer(&self, context: &AgentContext) -> Result<(), NotHandled> {
        let cause = &context.cause;
        let response = PlanApprovalResponse::decode(cause)?;
        if response.key.agent != self.spec.name {
            return Err(NotHandled::dead_letter(
                FailureClass::Data,
                "this answers the plan of another agent",
            ));
        }
        let by = cause.context.from_agent.clone().ok_or_else(|| {
            NotHandled::dead_letter(FailureClass::Permission, "the answer has no sender")
        })?;
        let answered = ReceivedPlanAnswer {
            message: cause.message.id,
            by,
            reference: cause.reference,
            answer: response.decision,
        };
        let key = response.key;
        let (effect, held) = context.runtime.plans().answer(&key, answered).await?;
        Ok(context.runtime.carry_out_plan(&key, effect, held).await?)
    }

    /// Lets the agent, who leads the team, decide; adds the new member if it
    /// approves.
    async fn handle_join_request(&self, context: &AgentContext) -> Result<(), NotHandled> {
        let request = JoinRequest::decode(&context.cause)?;
        if context.cause.context.from_agent.as_ref() != Some(&request.agent) {
            let reason = "an agent can only ask to join for itself";
            return Err(NotHandled::dead_letter(FailureClass::Permission, reason));
        }
        if context.runtime.team_leader(&request.team).await?.as_ref() != Some(&self.spec.name) {
            let reason = format!("this agent does not lead the team `{}`", request.team);
            return Err(NotHandled::dead_letter(FailureClass::Permission, reason));
        }
        let DispatchOutcome::Handled(Some(reply)) = self.run_with_recovery(context).await? else {
            return Ok(());
        };
        if JoinApproved::is(&reply.kind) {
            context.runtime.admit_member(&request.team, &request.agent).await?;
        }
        send_reply(&context.runtime, &self.spec.name, &context.cause, reply).await?;
        Ok(())
    }

    /// Enters the team if the records confirm the membership.
    async fn handle_join_approved(
        self: &Arc<Self>,
        context: &AgentContext,
    ) -> Result<(), NotHandled> {
        let JoinApproved { team, .. } = JoinApproved::decode(&context.cause)?;
        if context.runtime.is_member(&team, &self.spec.name).await? {
            self.enter_team(team);
        }
        Ok(())
    }
}
