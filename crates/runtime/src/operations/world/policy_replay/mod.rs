//! What a change of rules would have meant: the tool calls of the last days are decided
//! again, under the rules that apply now and under those of a plan.

mod rules;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use ostler_domain::agent::Agent;
use ostler_domain::gate::GateDecision;
use ostler_domain::gate::replay::{ReplayRules, replay};
use ostler_domain::id::{AgentId, RunId, SessionId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::scope::ToolScope;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, ToolSpec};
use ostler_engine::turn::GateRecord;
use ostler_store::RecentRun;
use ostler_world::Kind;
use ostler_world::plan::{Action, Change};

use super::super::{Actor, Operations, Result};
use super::CheckedPlan;
use crate::records::decode;
use crate::records::run::RunRecord;
use crate::records::session::Session;
use rules::OrgRules;

/// How many runs are read at a time.
const PAGE: u32 = 200;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Which recorded calls are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayWindow {
    /// Calls of the last so many days.
    pub days: u32,
    /// At most so many calls, the newest of each org first.
    pub max_calls: usize,
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self { days: 7, max_calls: 10_000 }
    }
}

/// The recorded calls that a change of rules would have decided differently.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyReplay {
    /// How many calls were replayed.
    pub calls: usize,
    /// Whether there were more calls than the window allows.
    pub truncated: bool,
    /// By org, agent and tool.
    pub changes: Vec<VerdictChange>,
}

/// Calls of a tool by an agent that would have been decided differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictChange {
    /// The slug of the org.
    pub org: String,
    /// The slug of the agent.
    pub agent: String,
    pub tool: String,
    /// The decision under the rules that apply now, for the newest of the calls.
    pub from: GateDecision,
    /// The decision under the rules of the plan.
    pub to: GateDecision,
    pub calls: usize,
    /// The newest of the calls.
    pub example: RecordedCall,
}

/// Where a call is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCall {
    pub session: SessionId,
    pub run: RunId,
    pub at: Timestamp,
}

impl Operations {
    /// Replays recorded calls of the orgs whose rules a plan changes. Returns `None` if it
    /// changes none.
    pub async fn replay_policy(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        window: ReplayWindow,
    ) -> Result<Option<PolicyReplay>> {
        let orgs = changed_orgs(plan);
        if orgs.is_empty() {
            return Ok(None);
        }
        let mut result = PolicyReplay::default();
        for slug in orgs {
            self.replay_org(actor, plan, slug, window, &mut result).await?;
        }
        Ok(Some(result))
    }

    async fn replay_org(
        &self,
        actor: Actor,
        plan: &CheckedPlan,
        slug: &str,
        window: ReplayWindow,
        result: &mut PolicyReplay,
    ) -> Result<()> {
        let Some(live) = plan.live.orgs.get(slug) else { return Ok(()) };
        let names = &live.names;
        let Some(org) = names.orgs.id(slug) else { return Ok(()) };
        actor.authorize(&self.0.store, org, OrgPermission::View).await?;
        let view = self.0.org_views.current(org).await?;
        let rules = |resources| -> Result<OrgRules> {
            let mut rules = OrgRules::new(resources, slug, org, names)?;
            rules.add_substitute(view.platform_agent.as_ref());
            Ok(rules)
        };
        let mut replayed = OrgReplay {
            slug,
            tools: view.tools.specs().cloned().collect(),
            now: rules(&plan.live.resources)?,
            proposed: rules(&plan.plan.after)?,
            scopes: HashMap::new(),
            changes: BTreeMap::new(),
        };
        let millis = DAY.saturating_mul(window.days).as_millis() as i64;
        let since = Timestamp::from_millis(self.0.clock.now().as_millis().saturating_sub(millis));
        let (store, mut before) = (self.0.store.org(org), None);
        loop {
            let page = store.recent_runs(since, before, PAGE).await?;
            before = page.last().map(|recent| recent.run.id);
            for recent in &page {
                let left = window.max_calls.saturating_sub(result.calls);
                let (calls, all) = replayed.run(recent, left)?;
                result.calls += calls;
                result.truncated |= !all;
            }
            if page.len() < PAGE as usize || result.truncated {
                break;
            }
        }
        result.changes.extend(replayed.changes.into_values());
        Ok(())
    }
}

/// The replay of one org's calls.
struct OrgReplay<'a> {
    slug: &'a str,
    tools: Vec<ToolSpec>,
    now: OrgRules,
    proposed: OrgRules,
    /// The scopes now and as proposed, of an agent on a channel for an audience.
    scopes: HashMap<(AgentId, String, Audience), [ToolScope; 2]>,
    /// By agent, tool and the two verdicts.
    changes: BTreeMap<(String, String, &'static str, &'static str), VerdictChange>,
}

impl OrgReplay<'_> {
    /// Replays at most `limit` calls of a run. Returns how many, and whether these were all.
    fn run(&mut self, recent: &RecentRun, limit: usize) -> Result<(usize, bool)> {
        let record = RunRecord::from_stored(&recent.run)?;
        let session: Session = decode("session", &recent.session_data)?;
        let turns = record.turns.iter();
        let calls = turns.flat_map(|turn| turn.decisions.iter().map(|call| (turn.agent, call)));
        let found: Vec<(AgentId, &GateRecord)> =
            calls.filter(|(agent, _)| self.now.agents.contains_key(agent)).collect();
        let (at, run) = (record.at, record.id);
        for (agent, call) in found.iter().take(limit) {
            let example = RecordedCall { session: session.id, run, at };
            self.call(*agent, call, &session, example);
        }
        Ok((found.len().min(limit), found.len() <= limit))
    }

    fn call(
        &mut self,
        agent: AgentId,
        call: &GateRecord,
        session: &Session,
        example: RecordedCall,
    ) {
        let audience = session.audience();
        let key = (agent, session.channel.name().to_owned(), audience);
        let Self { slug: org, tools, now, proposed, scopes, changes } = self;
        let (Some((old, _)), Some((new, _))) =
            (now.agents.get(&agent), proposed.agents.get(&agent))
        else {
            return;
        };
        let scopes = scopes.entry(key).or_insert_with(|| {
            [&*now, proposed].map(|rules| rules.scope(agent, tools, &session.channel, audience))
        });
        let decide = |agent: &Agent, scope: &ToolScope| {
            let rules = ReplayRules {
                scope,
                autonomy: agent.autonomy,
                require_approval_for: &agent.require_approval_for,
            };
            replay(&call.tool, &call.verdict, &rules)
        };
        let (from, to) = (decide(old, &scopes[0]), decide(new, &scopes[1]));
        if from.verdict() == to.verdict() {
            return;
        }
        let (slug, tool) = (old.slug.clone(), call.tool.clone());
        let key = (slug.clone(), tool.clone(), from.verdict(), to.verdict());
        let change = changes.entry(key).or_insert_with(|| VerdictChange {
            org: (*org).to_owned(),
            agent: slug,
            tool,
            from,
            to,
            calls: 0,
            example,
        });
        change.calls += 1;
    }
}

/// Returns the orgs whose rules a plan changes: all of them if the platform's change.
fn changed_orgs(plan: &CheckedPlan) -> BTreeSet<&str> {
    let changes = || plan.plan.changes.iter().filter(|change| changes_rules(change));
    if changes().any(|change| change.address.kind == Kind::Platform) {
        return plan.live.orgs.keys().map(String::as_str).collect();
    }
    let orgs = changes().map(|change| change.address.org.as_str());
    orgs.filter(|slug| plan.live.orgs.contains_key(*slug)).collect()
}

/// Returns whether a change decides about tool calls of agents that exist.
fn changes_rules(change: &Change) -> bool {
    let fields: &[&str] = match (change.address.kind, change.action) {
        (Kind::Integration, _) => return true,
        (_, Action::Create | Action::Remove) => return false,
        (Kind::Platform, Action::Change) => &["tools"],
        (Kind::Org, Action::Change) => &["tools", "sub_orgs", "settings.team"],
        (Kind::Agent, Action::Change) => {
            &["tools", "profile", "autonomy", "require_approval_for", "subtype"]
        }
        _ => return false,
    };
    let within = |path: &str, field: &str| {
        path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    change.fields.iter().any(|changed| fields.iter().any(|field| within(&changed.path, field)))
}
