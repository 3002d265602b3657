//! The coordination messages that the harness carries out itself: stopping, the
//! answer to a plan, and joining a team. The agent gets the others.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostler_domain::dispatch::authority::{Authority, Tier, authority};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::plan::PlanEffect;

use super::Harness;
use super::dispatch::Undone;
use super::recovery::Outcome;
use super::reply::answer;
use crate::queue::agent::Reply;
use crate::queue::context::AgentContext;
use crate::queue::coordination::{
    Coordination, JoinApproved, JoinRequest, PlanApprovalResponse, PlanRejected, ShutdownApproved,
    ShutdownRequest,
};
use crate::queue::error::Result as QueueResult;
use crate::queue::plans::Answered;

/// How often an agent that is to stop looks whether its work is done.
const MOMENT: Duration = Duration::from_millis(5);

impl Harness {
    pub(super) async fn coordinate(self: &Arc<Self>, context: &AgentContext) -> Result<(), Undone> {
        let kind = &context.cause.message.kind;
        if ShutdownRequest::is(kind) {
            self.shut_down(context).await
        } else if PlanApprovalResponse::is(kind) {
            self.plan_answered(context).await
        } else if JoinApproved::is(kind) {
            self.joined(context).await
        } else if JoinRequest::is(kind) {
            self.join_asked(context).await
        } else {
            self.carry_out(context, &Authority { tier: Tier::JustDoIt, granted_by: None }).await
        }
    }

    /// Finishes what else is in work, approves, and stops.
    async fn shut_down(self: &Arc<Self>, context: &AgentContext) -> Result<(), Undone> {
        ShutdownRequest::read(&context.cause)?;
        if !self.may_be_stopped(context).await? {
            let reason = "only its team's leader, its starter or a claim may stop an agent";
            return Err(Undone::dead(FailureClass::Permission, reason));
        }
        let first = !self.leaving.swap(true, Ordering::SeqCst);
        while first && self.in_work() > 1 && !self.is_closing() {
            tokio::time::sleep(MOMENT).await;
        }
        let approved = ShutdownApproved { agent: self.spec.name.clone() };
        if context.cause.context.reply_to.is_some() {
            answer(&context.runtime, &self.spec.name, &context.cause, approved.reply()).await?;
        }
        context.stop_myself();
        Ok(())
    }

    async fn may_be_stopped(&self, context: &AgentContext) -> Result<bool, Undone> {
        let cause = &context.cause;
        if !cause.claims.is_empty() {
            let (me, kind) = (&self.spec.name, cause.message.kind.as_str());
            let granted = authority(&cause.claims, me, kind, Tier::AskMeFirst, ostler_bus::now());
            return Ok(granted.is_ok());
        }
        let Some(from) = &cause.context.from_agent else { return Ok(false) };
        Ok(self.spec.started_by.as_ref() == Some(from) || self.is_led_by(context, from).await?)
    }

    async fn is_led_by(&self, context: &AgentContext, who: &AgentName) -> QueueResult<bool> {
        for team in self.teams() {
            if context.runtime.leader(&team).await?.as_ref() == Some(who) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the message that waited go on, or tells who asked that it will not.
    async fn plan_answered(&self, context: &AgentContext) -> Result<(), Undone> {
        let cause = &context.cause;
        let response = PlanApprovalResponse::read(cause)?;
        if response.key.agent != self.spec.name {
            return Err(Undone::dead(FailureClass::Data, "this is the answer to another's plan"));
        }
        let by = cause.context.from_agent.clone().ok_or_else(|| {
            Undone::dead(FailureClass::Permission, "the answer does not say who gave it")
        })?;
        let answered = Answered {
            message: cause.message.id,
            by,
            reference: cause.reference,
            answer: response.decision,
        };
        let key = response.key;
        let (effect, held) = context.runtime.plans().answer(&key, answered).await?;
        match effect {
            PlanEffect::Dispatch => Ok(context.runtime.send_shared(&key.agent, held).await?),
            PlanEffect::Inform { requester, reason } => {
                let agent = self.spec.name.clone();
                let rejected = PlanRejected { agent: agent.clone(), reason };
                if held.context.reply_to.is_some() {
                    answer(&context.runtime, &agent, &held, rejected.reply()).await?;
                } else if let Some(requester) = requester {
                    let Reply { kind, payload } = rejected.reply();
                    let mut note = held.reply(kind, payload);
                    note.context.from_agent = Some(agent);
                    context.runtime.send(&requester, note).await?;
                }
                Ok(context.runtime.plans().forget(&key).await?)
            }
        }
    }

    /// The agent, who leads the team, decides; what it approves is done.
    async fn join_asked(&self, context: &AgentContext) -> Result<(), Undone> {
        let request = JoinRequest::read(&context.cause)?;
        if context.cause.context.from_agent.as_ref() != Some(&request.agent) {
            let reason = "an agent asks to join for itself only";
            return Err(Undone::dead(FailureClass::Permission, reason));
        }
        if context.runtime.leader(&request.team).await?.as_ref() != Some(&self.spec.name) {
            let reason = format!("this agent does not lead the team `{}`", request.team);
            return Err(Undone::dead(FailureClass::Permission, reason));
        }
        let Outcome::Handled(Some(reply)) = self.recovering(context).await? else {
            return Ok(());
        };
        if JoinApproved::is(&reply.kind) {
            context.runtime.admit(&request.team, &request.agent).await?;
        }
        Ok(answer(&context.runtime, &self.spec.name, &context.cause, reply).await?)
    }

    /// The team has this agent in it now, if the records say so too.
    async fn joined(self: &Arc<Self>, context: &AgentContext) -> Result<(), Undone> {
        let JoinApproved { team, .. } = JoinApproved::read(&context.cause)?;
        if context.runtime.is_member(&team, &self.spec.name).await? {
            self.enter_team(team);
        }
        Ok(())
    }
}
