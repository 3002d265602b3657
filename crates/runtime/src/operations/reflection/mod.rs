//! Reflection on souls: an agent's model looks back at conversations in which a person had to
//! step in, and a change of the soul is proposed like any other, on which a person decides.
//!
//! The PM of the org proposes, so the right and the pace are those of an agent of layer 2 or 3,
//! also for customer service. What a reflection costs is charged to the org.

mod experience;

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, AuditId, OrgId, RecordId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::soul::Soul;
use ostler_domain::soul::patch::SoulPatch;
use ostler_domain::soul::proposal::{
    Initiative, ProposalAuthor, ProposalDecision, ProposalRefused,
};
use ostler_domain::soul::reflection::{has_own_soul, reflected_soul};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::driver::{Driver, TurnContext, UnstoredHost, command_channel};
use ostler_engine::history::Item;
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn, TurnEnd, TurnLimits};
use ostler_store::{NewAuditEntry, OrgStore, StoreError, StoredProposal, TurnCharges};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;

use self::experience::Experience;
use super::{Actor, OperationError, OrgOperations, Result};
use crate::agent_changes::proposal::{self, ProposalRequest, describe_proposal, notice};
use crate::assembly::{AgentHarness, Services, SessionFacts};
use crate::conversation::Worker;
use crate::ids::fresh;
use crate::org_view::{AgentView, OrgView};
use crate::outage_log::OutageLog;
use crate::records::encode;

const SYSTEM: &str = include_str!("prompt.md");
/// The record kind of [`LastReflection`].
const KIND: &str = "soul_reflection";
/// The channel of reflections, for policies and prompts.
const CHANNEL: &str = "reflection";
const MAX_TOKENS: u64 = 1000;
const TIMEOUT: Duration = Duration::from_secs(60);
/// How far the first reflection looks back.
const FIRST_LOOK: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How often orgs are asked whether a reflection is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(15 * 60);
/// How long after the start of a process the first check is, so that a crash loop costs little.
const FIRST_CHECK: Duration = Duration::from_secs(5 * 60);

/// The last reflection on an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LastReflection {
    at: Timestamp,
}

/// What a reflection led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SoulReflection {
    /// There are too few conversations in which a person had to step in. Nothing was asked.
    TooLittle {
        conversations: usize,
    },
    /// The model proposes nothing, or nothing that can be used, for this reason.
    NoChange {
        reason: String,
    },
    Proposed(Box<StoredProposal>),
}

/// Looks back for agents. Cheap to clone.
#[derive(Clone)]
pub struct SoulReflector {
    services: Arc<Services>,
}

impl std::fmt::Debug for SoulReflector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SoulReflector")
    }
}

/// The answer of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    reason: String,
    changes: SoulPatch,
}

impl OrgOperations<'_> {
    /// Looks back for an agent now, with the models of this process.
    pub async fn reflect(&self, agent: &str) -> Result<SoulReflection> {
        self.authorize(OrgPermission::Configure).await?;
        let services = self.inner().services.clone().ok_or(OperationError::NoModel)?;
        SoulReflector { services }.reflect(self.actor, self.org, agent).await
    }
}

impl SoulReflector {
    /// Creates a reflector with the models of a worker.
    pub fn for_worker(worker: &Worker) -> Self {
        Self { services: worker.services() }
    }

    /// Looks back for an agent now, whatever the settings say. Fails for an agent without a
    /// soul of its own, without a PM who could propose, and beyond the pace of proposals.
    pub async fn reflect(&self, actor: Actor, org: OrgId, agent: &str) -> Result<SoulReflection> {
        let store = &self.services.deps.store;
        actor.authorize(store, org, OrgPermission::Configure).await?;
        let view = self.services.org_views.current(org).await?;
        let target =
            view.find_agent(agent).ok_or_else(|| OperationError::NoAgent(agent.to_owned()))?;
        self.look_back(&view, target, actor.audit_actor(), 1).await
    }

    /// Looks back for the agents of all orgs that want it and for which it is due. Returns how
    /// many proposals were made.
    pub async fn reflect_where_due(&self) -> std::result::Result<u64, StoreError> {
        let (store, now) = (&self.services.deps.store, self.services.deps.clock.now());
        let mut proposed = 0;
        for org in store.orgs().await?.into_iter().filter(|org| !org.archived) {
            let view = self.services.org_views.current(org.id).await?;
            let Some(settings) = view.settings.soul_reflection else { continue };
            for target in view.agents.iter().filter(|one| has_own_soul(&one.agent)) {
                let last = last_reflection(store.org(org.id), target.agent.id).await?;
                if !settings.is_due(last.map(|(_, last)| last.at), now) {
                    continue;
                }
                let least = settings.min_conversations.max(1) as usize;
                match self.look_back(&view, target, AuditActor::System, least).await {
                    Ok(SoulReflection::Proposed(_)) => proposed += 1,
                    Ok(_) => {}
                    Err(OperationError::Store(error)) => return Err(error),
                    Err(error) => {
                        tracing::info!(org_id = %org.id, agent_id = %target.agent.id, %error,
                            "no reflection on the soul");
                    }
                }
            }
        }
        Ok(proposed)
    }

    /// Checks periodically until it is stopped.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let (outage, mut wait) = (OutageLog::default(), FIRST_CHECK);
        loop {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                changed = stop.changed() => match changed {
                    Ok(()) if !*stop.borrow() => continue,
                    _ => return,
                },
            }
            wait = CHECK_INTERVAL;
            match self.reflect_where_due().await {
                Err(error) if outage.record_failure() => {
                    tracing::warn!(%error, "reflections incomplete, will retry");
                }
                Ok(_) if outage.record_success() => tracing::warn!("reflections complete again"),
                _ => {}
            }
        }
    }

    async fn look_back(
        &self,
        view: &OrgView,
        target: &AgentView,
        by: AuditActor,
        least: usize,
    ) -> Result<SoulReflection> {
        let (store, now) =
            (self.services.deps.store.org(view.org.id), self.services.deps.clock.now());
        check_target(target)?;
        let proposer = proposer(view, target)?;
        proposal::check_pace(store, proposer, now).await??;
        let last = last_reflection(store, target.agent.id).await?;
        let first = Timestamp::from_millis(
            now.as_millis()
                .saturating_sub(i64::try_from(FIRST_LOOK.as_millis()).unwrap_or(i64::MAX)),
        );
        let since = last.as_ref().map_or(first, |(_, last)| last.at);
        let experiences = experience::collect(store, target.agent.id, since).await?;
        if experiences.len() < least {
            return Ok(SoulReflection::TooLittle { conversations: experiences.len() });
        }
        // The process that stores this first looks back; another one finds it done.
        let read = last.as_ref().map(|(record, _)| record);
        remember(store, target.agent.id, read, now).await?;
        let Answer { reason, changes } = self.ask(view, target, &experiences).await?;
        let soul = match reflected_soul(&target.soul, changes) {
            Ok(soul) if soul == target.soul => {
                let reason = "nothing needs to change".to_owned();
                return Ok(SoulReflection::NoChange { reason });
            }
            Ok(soul) => soul,
            Err(unusable) => return Ok(SoulReflection::NoChange { reason: unusable.to_string() }),
        };
        self.propose(view, proposer, target, soul, reason, by).await
    }

    /// Asks the target's model, and charges the org.
    async fn ask(
        &self,
        view: &OrgView,
        target: &AgentView,
        experiences: &[Experience],
    ) -> Result<Answer> {
        let deps = &self.services.deps;
        let mut harness = AgentHarness::without_tools(deps, view, target);
        harness.limits = TurnLimits { max_steps: 1, max_tokens: MAX_TOKENS, ..harness.limits };
        let (channel, errors) = (Channel::from(CHANNEL), ErrorState::default());
        let budget = view.settings.session_budget;
        let facts = SessionFacts::without_conversation(&channel, &errors, budget);
        let material = json!({"soul": target.soul, "conversations": experiences});
        let history = vec![Item::user(material.to_string())];
        let price = harness.model_price().ok_or(OperationError::NoModel)?;
        let funds = harness.reserve_credits(&facts, price, SYSTEM, &history).await?;
        let funds = funds.map_err(|shortage| OperationError::NoCredits(shortage.explanation()))?;
        let mut turn = Turn::new(NewTurn {
            system: SYSTEM.into(),
            trust: Trust::Untrusted,
            history,
            approved: None,
            budget: funds.budget,
            errors,
            limits: harness.limits,
            now: deps.clock.now(),
        });
        let context = TurnContext {
            org: view.org.id,
            agent: target.agent.id,
            session: None,
            contact: None,
            audience: Audience::Staff,
            idempotency_prefix: format!("reflection/{}", funds.reservation),
            timeout: TIMEOUT,
        };
        let clock = deps.clock.clone();
        let host = UnstoredHost(move || clock.now());
        let (_handle, mut commands) = command_channel();
        let driver =
            Driver { context: &context, rules: harness.rules(deps.clock.now()), host: &host };
        let driven = driver.drive(&mut turn, &KnownOutcomes::new(), &mut commands).await;
        let charges = TurnCharges {
            payer: funds.payer,
            reservation: funds.reservation,
            budget_owner: target.agent.id,
            charges: turn.account().charges(),
        };
        deps.store.org(funds.payer).store_charges(charges).await?;
        let Ok(_progress) = driven;
        match turn.end() {
            Some(TurnEnd::Answer { text, .. }) => Ok(parse_answer(text)),
            _ => Err(OperationError::ModelFailed),
        }
    }

    async fn propose(
        &self,
        view: &OrgView,
        proposer: &AgentView,
        target: &AgentView,
        soul: Soul,
        reason: String,
        by: AuditActor,
    ) -> Result<SoulReflection> {
        let (store, now) = (&self.services.deps.store, self.services.deps.clock.now());
        let reason = match reason.trim() {
            "" => "recent conversations suggest it".to_owned(),
            reason => reason.chars().take(500).collect(),
        };
        let request = ProposalRequest {
            proposer,
            author: ProposalAuthor::Reflection(proposer.agent.id),
            initiative: Initiative::Own,
            target,
            soul,
            reason,
            made_in_turn: 0,
        };
        let (decision, stored) = proposal::decide(store, view.org.id, request, now).await??;
        if decision == ProposalDecision::SilentlyRejected {
            let reason = "the agent is protected".to_owned();
            return Ok(SoulReflection::NoChange { reason });
        }
        let audit = NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: by,
            action: "propose_soul".to_owned(),
            subject: target.agent.id.to_string(),
            data: encode(&describe_proposal(&stored, &target.soul)),
        };
        let notice = notice(&stored, &target.soul);
        store.org(view.org.id).audited(audit).create_proposal(stored.clone(), notice).await?;
        Ok(SoulReflection::Proposed(Box::new(stored)))
    }
}

/// Checks that reflections on an agent are possible.
fn check_target(target: &AgentView) -> Result<()> {
    let slug = || target.agent.slug.clone();
    if !has_own_soul(&target.agent) {
        return Err(ProposalRefused::TemplatesSoul(slug()).into());
    }
    if target.soul_version == 0 {
        return Err(ProposalRefused::NoSoul(slug()).into());
    }
    Ok(())
}

/// Returns the agent that proposes: a PM for itself, and the PM of the org for all others.
fn proposer<'v>(view: &'v OrgView, target: &'v AgentView) -> Result<&'v AgentView> {
    if target.agent.subtype == Subtype::Pm {
        return Ok(target);
    }
    let pm = view.find_agent("pm").filter(|one| one.agent.subtype == Subtype::Pm);
    pm.ok_or_else(|| ProposalRefused::Layer(target.position.guardrail_layer).into())
}

async fn last_reflection(
    store: OrgStore<'_>,
    agent: AgentId,
) -> std::result::Result<Option<(ostler_store::Record, LastReflection)>, StoreError> {
    match store.record(KIND, RecordId::from_u128(agent.as_u128())).await {
        Ok(record) => {
            let last = crate::records::decode("reflection", &record.data);
            let last = last.map_err(|error| StoreError::Backend(error.to_string()))?;
            Ok(Some((record, last)))
        }
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

async fn remember(
    store: OrgStore<'_>,
    agent: AgentId,
    read: Option<&ostler_store::Record>,
    at: Timestamp,
) -> std::result::Result<(), StoreError> {
    let data = encode(&LastReflection { at });
    match read {
        Some(read) => store.update_record(KIND, read, data).await,
        None => store.create_record(KIND, RecordId::from_u128(agent.as_u128()), data).await,
    }
}

/// Parses the model's answer. What cannot be parsed changes nothing.
fn parse_answer(text: &str) -> Answer {
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::parse_answer;

    #[test]
    fn h08_an_unreadable_answer_changes_nothing() {
        let good = "Here: {\"reason\": \"too cold\", \"changes\": {\"traits\": [\"warm\"]}}";
        assert_eq!(parse_answer(good).changes.traits, Some(vec!["warm".to_owned()]));
        for bad in ["", "{}", "no", "{\"changes\": {\"autonomy\": \"autonomous\"}}", "}{"] {
            assert_eq!(parse_answer(bad).changes, Default::default(), "{bad}");
        }
    }
}
