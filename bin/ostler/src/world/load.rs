//! From what was typed to what it means, with every name checked.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::autonomy::check_level;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolChoice};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::layer::Standing;
use ostler_domain::org::tree::{OrgTree, TreeError};
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::Profile;
use ostler_domain::tool::{Integration, ToolName, Trust, catalogue};

use super::file::{AgentEntry, File, Name, OrgEntry, Policy, SessionEntry};
use super::plant::Furniture;
use super::problem::{Source, WorldError, unknown};
use super::{OrgSettings, World, WorldAgent, WorldSession};

/// More failures than this tell a reader nothing new.
const MAX_FAILURES: u32 = 100;

type Loaded<T> = Result<T, WorldError>;

pub(super) fn load(source: &Source<'_>) -> Loaded<World> {
    let file: File = toml::from_str(source.text).map_err(|error| match error.span() {
        Some(at) => source.wrong(at, error.message()),
        None => source.wrong_whole(error.message()),
    })?;
    let loader = Loader { source, tools: tool_names() };
    let orgs = loader.orgs(&file.org)?;
    let agents = loader.agents(&file.agent, &orgs)?;
    Ok(World {
        platform: loader.policy(&file.platform)?,
        org_tools: loader.org_settings(&file.org, &orgs)?,
        furniture: loader.furniture(&file, &orgs, &agents)?,
        agents,
        sessions: loader.sessions(&file.session, &orgs)?,
        orgs,
    })
}

fn tool_names() -> BTreeSet<String> {
    catalogue::built_in().into_iter().map(|tool| tool.name.to_string()).collect()
}

struct Loader<'a> {
    source: &'a Source<'a>,
    tools: BTreeSet<String>,
}

impl Loader<'_> {
    fn orgs(&self, entries: &[OrgEntry]) -> Loaded<OrgTree> {
        let id_of = |name: &Name| {
            let position = entries.iter().position(|entry| entry.slug.get_ref() == name.get_ref());
            let known = entries.iter().map(|entry| entry.slug.get_ref().as_str());
            position.map(org_id).ok_or_else(|| {
                self.source.wrong(name.span(), unknown("org", name.get_ref(), known))
            })
        };
        let mut orgs = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let place = match (&entry.parent, entry.platform) {
                (Some(parent), true) => {
                    return Err(self.source.wrong(parent.span(), "the platform has no parent"));
                }
                (Some(parent), false) => Place::SubOrg { parent: id_of(parent)? },
                (None, true) => Place::Platform,
                (None, false) => Place::TopLevel,
            };
            orgs.push(Org {
                id: org_id(position),
                slug: entry.slug.get_ref().clone(),
                name: entry.name.clone(),
                place,
                plan: entry.plan,
                sub_orgs_enabled: entry.sub_orgs,
                time_zone: entry.time_zone.clone(),
                retention_days: None,
            });
        }
        OrgTree::new(orgs).map_err(|error| self.tree_error(entries, &error))
    }

    /// Points at the org that a fault of the tree is about; of two with the
    /// same name, at the later one.
    fn tree_error(&self, entries: &[OrgEntry], error: &TreeError) -> WorldError {
        let slug = match error {
            TreeError::NoPlatform => return self.source.wrong_whole(error.to_string()),
            TreeError::SecondPlatform { slug }
            | TreeError::Duplicate { slug }
            | TreeError::UnknownParent { slug }
            | TreeError::TooDeep { slug, .. } => slug,
        };
        let entry = entries.iter().rev().find(|entry| entry.slug.get_ref() == slug);
        match entry {
            Some(entry) => self.source.wrong(entry.slug.span(), error.to_string()),
            None => self.source.wrong_whole(error.to_string()),
        }
    }

    fn org_settings(
        &self,
        entries: &[OrgEntry],
        orgs: &OrgTree,
    ) -> Loaded<BTreeMap<OrgId, OrgSettings>> {
        let settings = |entry: &OrgEntry| {
            let settings = OrgSettings {
                policy: self.policy(&entry.tools)?,
                integrations: entry
                    .integrations
                    .iter()
                    .map(|name| Integration::new(name))
                    .collect(),
                team_coordination: entry.team,
            };
            Ok((self.org(orgs, &entry.slug)?.id, settings))
        };
        entries.iter().map(settings).collect()
    }

    fn org<'t>(&self, orgs: &'t OrgTree, name: &Name) -> Loaded<&'t Org> {
        let known: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
        orgs.by_slug(name.get_ref())
            .ok_or_else(|| self.source.wrong(name.span(), unknown("org", name.get_ref(), known)))
    }

    fn agents(&self, entries: &[AgentEntry], orgs: &OrgTree) -> Loaded<Vec<WorldAgent>> {
        self.unique("agent", entries.iter().map(|entry| &entry.slug))?;
        let each = entries.iter().enumerate();
        each.map(|(position, entry)| self.agent(position, entry, orgs)).collect()
    }

    fn agent(&self, position: usize, entry: &AgentEntry, orgs: &OrgTree) -> Loaded<WorldAgent> {
        let org = self.org(orgs, &entry.org)?;
        let subtype = Subtype::from(entry.subtype.as_str());
        let standing = Standing::of(org, &subtype);
        let autonomy = *entry.autonomy.get_ref();
        check_level(&standing, autonomy)
            .map_err(|refused| self.source.wrong(entry.autonomy.span(), refused.to_string()))?;
        let profile = match &entry.profile {
            None => Profile::default_for(&subtype),
            Some(name) => name.get_ref().parse().map_err(
                |error: ostler_domain::tool::profile::UnknownProfile| {
                    self.source.wrong(name.span(), error.to_string())
                },
            )?,
        };
        let protection = match subtype {
            Subtype::System => Protection::Protected,
            _ => Protection::Open,
        };
        let agent = Agent {
            id: AgentId::from_u128(position as u128 + 1),
            org: org.id,
            slug: entry.slug.get_ref().clone(),
            display_name: entry.name.clone(),
            subtype,
            protection,
            status: AgentStatus::Active,
            kind: AgentKind::Conversational,
            template: (protection == Protection::Protected).then_some(AgentId::from_u128(0)),
            tools: ToolChoice { profile, policy: self.policy(&entry.tools)? },
            models: entry.model.iter().cloned().collect(),
            brand: None,
            autonomy,
            require_approval_for: self.tool_set(&entry.require_approval_for)?,
            blocked_topics: entry.blocked_topics.clone(),
            limits: AgentLimits::default(),
            knowledge_tags: BTreeSet::new(),
            created_at: Timestamp::from_millis(0),
        };
        Ok(WorldAgent { agent, standing })
    }

    fn sessions(&self, entries: &[SessionEntry], orgs: &OrgTree) -> Loaded<Vec<WorldSession>> {
        self.unique("session", entries.iter().map(|entry| &entry.name))?;
        entries.iter().map(|entry| self.session(entry, orgs)).collect()
    }

    fn session(&self, entry: &SessionEntry, orgs: &OrgTree) -> Loaded<WorldSession> {
        let mut errors = ErrorState::default();
        for (name, failures) in &entry.failures {
            let tool = self.tool(name)?;
            if *failures > MAX_FAILURES {
                let what = format!("a tool fails at most {MAX_FAILURES} times in a session here");
                return Err(self.source.wrong(name.span(), what));
            }
            for _ in 0..*failures {
                errors.record_failure(&tool, ErrorPolicy::default(), Timestamp::from_millis(0));
            }
        }
        let budget = SessionBudget { spent: Credits::new(entry.spent), ..Default::default() };
        let channel = Channel::from(entry.channel.as_str());
        Ok(WorldSession {
            name: entry.name.get_ref().clone(),
            org: self.org(orgs, &entry.org)?.id,
            tools: SessionTools::of(channel, &errors, budget.spending()),
            errors,
            budget,
            trust: if entry.untrusted { Trust::Untrusted } else { Trust::Trusted },
        })
    }

    fn furniture(&self, file: &File, orgs: &OrgTree, agents: &[WorldAgent]) -> Loaded<Furniture> {
        let mut all = Furniture::default();
        for entry in file.org.iter().filter(|entry| entry.credits > 0) {
            all.credits.push((self.org(orgs, &entry.slug)?.id, entry.credits));
        }
        for (entry, made) in file.agent.iter().zip(agents) {
            if let Some(soul) = &entry.soul {
                all.souls.push((made.agent.id, made.agent.org, soul.clone()));
            }
        }
        for entry in &file.binding {
            let org = self.org(orgs, &entry.org)?.id;
            let named = |one: &&WorldAgent| one.agent.slug == *entry.agent.get_ref();
            let agent = agents.iter().find(named).ok_or_else(|| {
                let known = agents.iter().map(|one| one.agent.slug.as_str());
                let what = unknown("agent", entry.agent.get_ref(), known);
                self.source.wrong(entry.agent.span(), what)
            })?;
            all.bindings.push((org, Channel::from(entry.channel.as_str()), agent.agent.id));
        }
        for entry in &file.record {
            let org = self.org(orgs, &entry.org)?.id;
            let data = serde_json::to_value(&entry.data)
                .map_err(|error| self.source.wrong(entry.org.span(), error.to_string()))?;
            all.records.push((org, entry.kind.clone(), data));
        }
        for entry in &file.document {
            let org = self.org(orgs, &entry.org)?.id;
            let (title, text) = (entry.title.clone(), entry.text.clone());
            all.documents.push((org, title, entry.tags.clone(), text));
        }
        Ok(all)
    }

    fn policy(&self, policy: &Policy) -> Loaded<ToolPolicy> {
        Ok(ToolPolicy { allow: self.tool_set(&policy.allow)?, deny: self.tool_set(&policy.deny)? })
    }

    fn tool_set(&self, names: &[Name]) -> Loaded<BTreeSet<ToolName>> {
        names.iter().map(|name| self.tool(name)).collect()
    }

    /// A tool of the catalogue: a misspelt deny must not look like one.
    fn tool(&self, name: &Name) -> Loaded<ToolName> {
        let known = self.tools.iter().map(String::as_str);
        let wrong = |what: String| self.source.wrong(name.span(), what);
        if !self.tools.contains(name.get_ref()) {
            return Err(wrong(unknown("tool", name.get_ref(), known)));
        }
        name.get_ref()
            .parse()
            .map_err(|error: ostler_domain::tool::BadToolName| wrong(error.to_string()))
    }

    fn unique<'n>(&self, kind: &str, names: impl Iterator<Item = &'n Name>) -> Loaded<()> {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name.get_ref()) {
                let what = format!("there are two {kind}s `{}`; names are unique", name.get_ref());
                return Err(self.source.wrong(name.span(), what));
            }
        }
        Ok(())
    }
}

const fn org_id(position: usize) -> OrgId {
    OrgId::from_u128(position as u128 + 1)
}
