//! Where the rule of a decision comes from: the setting, who set it, when and in which file,
//! and the smallest change that would let the call run.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::agent::Agent;
use ostler_domain::agent::autonomy::{AutonomyLevel, check_level};
use ostler_domain::gate::setting::{DecidingSetting, SettingField, SettingHolder};
use ostler_domain::gate::{AskReason, GateDecision};
use ostler_domain::id::{AgentId, ApprovalId, OrgId};
use ostler_domain::org::OrgPlace;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;
use ostler_domain::tool::{Risk, ToolSpec};
use ostler_store::AuditFilter;
use ostler_world::{Address, Kind};
use serde::Serialize;
use serde_json::{Value, json};

use super::{NamedAuditEntry, OrgOperations, Result};
use crate::org_view::OrgView;
use crate::records::run::{RunRecord, TurnRecord};

/// The most audit entries of a resource that are searched.
const ENTRIES: u32 = 500;
/// How far back calls are counted.
const COUNTED: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many runs are read at a time, and at most.
const PAGE: u32 = 200;
const MAX_RUNS: usize = 5_000;

/// A decision of the gate on a tool of an agent.
#[derive(Debug, Clone, Copy)]
pub struct DecidedCall<'a> {
    pub agent: &'a Agent,
    pub tool: &'a str,
    pub decision: &'a GateDecision,
    /// `Value::Null` if no call was made.
    pub arguments: &'a Value,
    /// The approval that the call waits for. It is not counted as a past call.
    pub approval: Option<ApprovalId>,
    /// When it was decided; `None` for the settings of now.
    pub at: Option<Timestamp>,
}

/// The setting that a decision comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleSource {
    /// The resource that has it, as in the audit log.
    pub resource: String,
    pub field: &'static str,
    /// Who set it last; `None` if that is not recorded or not for the actor to see.
    pub set_by: Option<String>,
    pub set_at: Option<Timestamp>,
    /// The file and line that it was applied from, if it was.
    pub place: Option<String>,
    /// The command that changes as little as possible and lets such calls run.
    pub allow_with: Option<String>,
    /// How many calls of the last seven days waited or were refused for this setting, and
    /// would not have with that command.
    pub past_calls: usize,
}

/// Finds the settings behind decisions of an org, and reads each resource once.
#[derive(Debug)]
pub struct RuleSources<'o> {
    operations: OrgOperations<'o>,
    slug: String,
    platform: Option<OrgId>,
    /// The audit entries of resources, newest first.
    entries: BTreeMap<String, Vec<NamedAuditEntry>>,
    stopped: Option<Vec<StoppedCall>>,
}

/// A recorded call that a setting kept from running.
#[derive(Debug)]
struct StoppedCall {
    agent: AgentId,
    tool: String,
    setting: DecidingSetting,
    approval: Option<ApprovalId>,
}

impl<'o> OrgOperations<'o> {
    /// Returns a finder of the settings behind decisions. The actor needs to see the org.
    pub async fn rule_sources(&self) -> Result<RuleSources<'o>> {
        let orgs = self.inner().store.orgs().await?;
        let platform = orgs.iter().find(|org| org.place == OrgPlace::Platform).map(|org| org.id);
        Ok(RuleSources {
            operations: *self,
            slug: self.view().await?.org.slug.clone(),
            platform,
            entries: BTreeMap::new(),
            stopped: None,
        })
    }
}

impl RuleSources<'_> {
    /// Finds the setting behind a decision; `None` if the rule is built in.
    pub async fn find(&mut self, call: &DecidedCall<'_>) -> Result<Option<RuleSource>> {
        let Some(setting) = DecidingSetting::of(call.decision) else { return Ok(None) };
        let address = self.address(setting.holder, call.agent);
        let resource = address.to_string();
        let set = self.last_change(setting, &resource, call).await?;
        let view = self.operations.view().await?;
        let past_calls = self.past_calls(setting, call).await?;
        Ok(Some(RuleSource {
            resource,
            field: setting.field.path(),
            place: set.as_ref().and_then(|set| place(set, setting)),
            set_at: set.as_ref().map(|set| set.entry.at),
            set_by: set.map(|set| set.actor),
            allow_with: allow_with(setting, call, &view, &self.slug),
            past_calls,
        }))
    }

    fn address(&self, holder: SettingHolder, agent: &Agent) -> Address {
        match holder {
            SettingHolder::Platform => Address::of_platform(),
            SettingHolder::Org => Address::of_org(&self.slug),
            SettingHolder::Agent => {
                Address { org: self.slug.clone(), kind: Kind::Agent, name: agent.slug.clone() }
            }
        }
    }

    /// Returns the audit entry that set the setting: its last change, or else the creation of
    /// the resource.
    async fn last_change(
        &mut self,
        setting: DecidingSetting,
        resource: &str,
        call: &DecidedCall<'_>,
    ) -> Result<Option<NamedAuditEntry>> {
        if !self.entries.contains_key(resource) {
            let read = self.read_entries(setting.holder, resource, call.agent).await?;
            self.entries.insert(resource.to_owned(), read);
        }
        let in_force = |entry: &&NamedAuditEntry| call.at.is_none_or(|at| entry.entry.at <= at);
        let entries = self.entries.get(resource).into_iter().flatten().filter(in_force);
        let sets = |entry: &&NamedAuditEntry| {
            entry.changes.iter().any(|one| setting.is_field(&one.field) && one.before != one.after)
        };
        let creates = |entry: &&NamedAuditEntry| entry.entry.entry.action.starts_with("create_");
        Ok(entries.clone().find(sets).or_else(|| entries.clone().find(creates)).cloned())
    }

    async fn read_entries(
        &self,
        holder: SettingHolder,
        resource: &str,
        agent: &Agent,
    ) -> Result<Vec<NamedAuditEntry>> {
        let mut operations = self.operations;
        let mut subjects = vec![resource.to_owned()];
        match holder {
            // Approved proposals of levels name the agent by its id.
            SettingHolder::Agent => subjects.push(agent.id.to_string()),
            SettingHolder::Org => {}
            SettingHolder::Platform => match self.platform {
                Some(platform) => operations.org = platform,
                None => return Ok(Vec::new()),
            },
        }
        let mut entries = Vec::new();
        for subject in subjects {
            let filter = AuditFilter { subject: Some(subject), ..AuditFilter::default() };
            match operations.audit(&filter, None, ENTRIES).await {
                Ok(found) => entries.extend(found),
                // Who set a rule of the platform is for its people only.
                Err(_) if holder == SettingHolder::Platform => {}
                Err(other) => return Err(other),
            }
        }
        entries.sort_by_key(|one| std::cmp::Reverse((one.entry.at, one.entry.entry.id)));
        Ok(entries)
    }

    async fn past_calls(
        &mut self,
        setting: DecidingSetting,
        call: &DecidedCall<'_>,
    ) -> Result<usize> {
        if self.stopped.is_none() {
            self.stopped = Some(self.read_stopped().await?);
        }
        let covered = self.stopped.iter().flatten().filter(|one| {
            one.setting == setting
                && setting.concerns(call.tool, &one.tool)
                && (setting.holder != SettingHolder::Agent || one.agent == call.agent.id)
                && (call.approval.is_none() || one.approval != call.approval)
        });
        Ok(covered.count())
    }

    /// Reads the calls of the last days that a setting kept from running.
    async fn read_stopped(&self) -> Result<Vec<StoppedCall>> {
        let inner = self.operations.inner();
        let back = i64::try_from(COUNTED.as_millis()).unwrap_or(i64::MAX);
        let since = Timestamp::from_millis(inner.clock.now().as_millis().saturating_sub(back));
        let (store, mut before) = (inner.store.org(self.operations.org), None);
        let (mut stopped, mut runs) = (Vec::new(), 0);
        while runs < MAX_RUNS {
            let page = store.recent_runs(since, before, PAGE).await?;
            before = page.last().map(|recent| recent.run.id);
            runs += page.len();
            for recent in &page {
                let record = RunRecord::from_stored(&recent.run)?;
                stopped.extend(record.turns.iter().flat_map(stopped_calls));
            }
            if page.len() < PAGE as usize {
                break;
            }
        }
        Ok(stopped)
    }
}

fn stopped_calls(turn: &TurnRecord) -> impl Iterator<Item = StoppedCall> {
    let decided = turn.decisions_with_approvals();
    decided.filter_map(|(decision, approval)| {
        let setting = DecidingSetting::of(&decision.verdict)?;
        Some(StoppedCall { agent: turn.agent, tool: decision.tool.clone(), setting, approval })
    })
}

/// Returns the file and line that an entry set the setting from.
fn place(entry: &NamedAuditEntry, setting: DecidingSetting) -> Option<String> {
    let fields = entry.changes.iter().filter(|one| setting.is_field(&one.field));
    fields.filter_map(|one| entry.place(&one.field)).next()
}

/// Returns the command that changes as little as possible and lets such calls run; `None` if
/// no single one does.
fn allow_with(
    setting: DecidingSetting,
    call: &DecidedCall<'_>,
    view: &OrgView,
    org: &str,
) -> Option<String> {
    let DecidedCall { agent, tool, .. } = call;
    let of_agent = |change: String| format!("ostler agent set {} --org {org} {change}", agent.slug);
    let policy = |change: &str| match setting.holder {
        SettingHolder::Platform => format!("ostler policy set --platform {change} {tool}"),
        SettingHolder::Org => format!("ostler policy set --org {org} {change} {tool}"),
        SettingHolder::Agent => {
            format!("ostler policy set --org {org} --agent {} {change} {tool}", agent.slug)
        }
    };
    Some(match setting.field {
        SettingField::ToolsDeny => policy("--remove"),
        SettingField::ToolsAllow => policy("--allow"),
        SettingField::Autonomy => {
            let position = &view.agent(agent.id)?.position;
            let allowed = |level: &AutonomyLevel| check_level(position, *level).is_ok();
            let level = levels_that_allow(call.decision).iter().copied().find(allowed)?;
            of_agent(format!("autonomy={level}"))
        }
        SettingField::RequireApprovalFor => {
            let others = agent.require_approval_for.iter().filter(|one| one.as_str() != *tool);
            let others: Vec<String> = others.map(ToString::to_string).collect();
            of_agent(format!("'require_approval_for={}'", json!(others)))
        }
        SettingField::Profile => {
            let specs: Vec<&ToolSpec> = view.tools.specs().collect();
            of_agent(format!("profile={}", profile_that_adds(tool, agent, &specs)?))
        }
        SettingField::SubOrgs => format!("ostler org set {org} sub_orgs=true"),
        SettingField::Team => format!("ostler settings set 'team={{}}' --org {org}"),
        SettingField::WebHosts => {
            let spec = view.tools.specs().find(|spec| spec.name.as_str() == *tool)?;
            let url = call.arguments[spec.url_argument.as_ref()?].as_str()?;
            let host = url.strip_prefix("https://")?.split(['/', '?', '#']).next()?;
            let mut hosts = view.settings.web_hosts.clone();
            hosts.insert(host.to_lowercase());
            format!("ostler settings set 'web_hosts={}' --org {org}", json!(hosts))
        }
        // The budget of a session is fixed when it begins.
        SettingField::SessionBudget => return None,
    })
}

/// Returns the levels, the lowest first, at which a call that its level stopped would run; for
/// one that was refused, at least ask.
const fn levels_that_allow(decision: &GateDecision) -> &'static [AutonomyLevel] {
    use AutonomyLevel::{Autonomous, SemiAutonomous, Supervised};
    match decision {
        GateDecision::Ask(AskReason::Autonomy { risk: Risk::Read, .. }) => {
            &[SemiAutonomous, Autonomous]
        }
        GateDecision::Ask(_) => &[Autonomous],
        GateDecision::Allow(_) | GateDecision::Deny(_) => &[Supervised, SemiAutonomous, Autonomous],
    }
}

/// Returns the smallest profile that has a tool besides everything that the agent has.
fn profile_that_adds(tool: &str, agent: &Agent, specs: &[&ToolSpec]) -> Option<ToolProfile> {
    let size = |profile: ToolProfile| specs.iter().filter(|spec| profile.includes(spec)).count();
    let keeps = |profile: &ToolProfile| {
        specs.iter().all(|spec| {
            let needed = spec.name.as_str() == tool || agent.tools.profile.includes(spec);
            !needed || profile.includes(spec)
        })
    };
    ToolProfile::ALL.into_iter().filter(keeps).min_by_key(|profile| size(*profile))
}
