//! Turns a world file into a `World` and checks every name.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::autonomy::check_level;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection, ToolSelection};
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{AgentId, ContactId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::org::tree::{OrgTree, TreeError};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;
use ostler_domain::tool::{Integration, ToolName, Trust, catalogue};

use super::error::{SourceFile, WorldError, unknown_name};
use super::file::{AgentEntry, Name, OrgEntry, PolicyEntry, SessionEntry, WorldFile};
use super::seed_data::SeedData;
use super::{OrgToolSettings, World, WorldAgent, WorldSession};

/// The most failures of a tool in a session.
const MAX_FAILURES: u32 = 100;

type LoadResult<T> = Result<T, WorldError>;

pub(super) fn load(source: &SourceFile<'_>) -> LoadResult<World> {
    let file: WorldFile = toml::from_str(source.text).map_err(|error| match error.span() {
        Some(at) => source.error_at(at, error.message()),
        None => source.error(error.message()),
    })?;
    let loader = Loader { source, tools: tool_names() };
    let orgs = loader.orgs(&file.org)?;
    let agents = loader.agents(&file.agent, &orgs)?;
    Ok(World {
        platform: loader.policy(&file.platform)?,
        org_tools: loader.org_settings(&file.org, &orgs)?,
        seed_data: loader.seed_data(&file, &orgs, &agents)?,
        agents,
        sessions: loader.sessions(&file.session, &orgs)?,
        orgs,
    })
}

fn tool_names() -> BTreeSet<String> {
    catalogue::built_in().into_iter().map(|tool| tool.name.to_string()).collect()
}

struct Loader<'a> {
    source: &'a SourceFile<'a>,
    tools: BTreeSet<String>,
}

impl Loader<'_> {
    fn orgs(&self, entries: &[OrgEntry]) -> LoadResult<OrgTree> {
        let id_of = |name: &Name| {
            let position = entries.iter().position(|entry| entry.slug.get_ref() == name.get_ref());
            let known = entries.iter().map(|entry| entry.slug.get_ref().as_str());
            position.map(org_id).ok_or_else(|| {
                self.source.error_at(name.span(), unknown_name("org", name.get_ref(), known))
            })
        };
        let mut orgs = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let place = match (&entry.parent, entry.platform) {
                (Some(parent), true) => {
                    return Err(self.source.error_at(parent.span(), "the platform has no parent"));
                }
                (Some(parent), false) => OrgPlace::SubOrg { parent: id_of(parent)? },
                (None, true) => OrgPlace::Platform,
                (None, false) => OrgPlace::TopLevel,
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

    /// Returns an error at the org that violates a rule of the tree; of two orgs with
    /// the same name, at the later one.
    fn tree_error(&self, entries: &[OrgEntry], error: &TreeError) -> WorldError {
        let slug = match error {
            TreeError::NoPlatform => return self.source.error(error.to_string()),
            TreeError::SecondPlatform { slug }
            | TreeError::Duplicate { slug }
            | TreeError::UnknownParent { slug }
            | TreeError::TooDeep { slug, .. } => slug,
        };
        let entry = entries.iter().rev().find(|entry| entry.slug.get_ref() == slug);
        match entry {
            Some(entry) => self.source.error_at(entry.slug.span(), error.to_string()),
            None => self.source.error(error.to_string()),
        }
    }

    fn org_settings(
        &self,
        entries: &[OrgEntry],
        orgs: &OrgTree,
    ) -> LoadResult<BTreeMap<OrgId, OrgToolSettings>> {
        let settings = |entry: &OrgEntry| {
            let settings = OrgToolSettings {
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

    fn org<'t>(&self, orgs: &'t OrgTree, name: &Name) -> LoadResult<&'t Org> {
        let known: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
        orgs.by_slug(name.get_ref()).ok_or_else(|| {
            self.source.error_at(name.span(), unknown_name("org", name.get_ref(), known))
        })
    }

    fn agents(&self, entries: &[AgentEntry], orgs: &OrgTree) -> LoadResult<Vec<WorldAgent>> {
        self.unique("agent", entries.iter().map(|entry| &entry.slug))?;
        let each = entries.iter().enumerate();
        each.map(|(index, entry)| self.agent(index, entry, orgs)).collect()
    }

    fn agent(&self, index: usize, entry: &AgentEntry, orgs: &OrgTree) -> LoadResult<WorldAgent> {
        let org = self.org(orgs, &entry.org)?;
        let subtype = Subtype::from(entry.subtype.as_str());
        let position = BusinessPosition::of(org, &subtype);
        let autonomy = *entry.autonomy.get_ref();
        check_level(&position, autonomy)
            .map_err(|refused| self.source.error_at(entry.autonomy.span(), refused.to_string()))?;
        let profile = match &entry.profile {
            None => ToolProfile::default_for(&subtype),
            Some(name) => name.get_ref().parse().map_err(
                |error: ostler_domain::tool::profile::UnknownToolProfile| {
                    self.source.error_at(name.span(), error.to_string())
                },
            )?,
        };
        let protection = match subtype {
            Subtype::System => Protection::Protected,
            _ => Protection::Open,
        };
        let agent = Agent {
            id: AgentId::from_u128(index as u128 + 1),
            org: org.id,
            slug: entry.slug.get_ref().clone(),
            display_name: entry.name.clone(),
            subtype,
            protection,
            status: AgentStatus::Active,
            kind: AgentKind::Conversational,
            template: (protection == Protection::Protected).then_some(AgentId::from_u128(0)),
            tools: ToolSelection { profile, policy: self.policy(&entry.tools)? },
            models: entry.model.iter().cloned().collect(),
            brand: None,
            autonomy,
            require_approval_for: self.tool_set(&entry.require_approval_for)?,
            blocked_topics: entry.blocked_topics.clone(),
            limits: AgentLimits::default(),
            knowledge_tags: BTreeSet::new(),
            created_at: Timestamp::from_millis(0),
        };
        Ok(WorldAgent { agent, position })
    }

    fn sessions(&self, entries: &[SessionEntry], orgs: &OrgTree) -> LoadResult<Vec<WorldSession>> {
        self.unique("session", entries.iter().map(|entry| &entry.name))?;
        entries.iter().map(|entry| self.session(entry, orgs)).collect()
    }

    fn session(&self, entry: &SessionEntry, orgs: &OrgTree) -> LoadResult<WorldSession> {
        let mut errors = ErrorState::default();
        for (name, failures) in &entry.failures {
            let tool = self.tool(name)?;
            if *failures > MAX_FAILURES {
                let message =
                    format!("a tool fails at most {MAX_FAILURES} times in a session here");
                return Err(self.source.error_at(name.span(), message));
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
            tools: SessionTools::of(channel, &errors, budget.spending_mode()),
            errors,
            budget,
            trust: if entry.untrusted { Trust::Untrusted } else { Trust::Trusted },
        })
    }

    fn seed_data(
        &self,
        file: &WorldFile,
        orgs: &OrgTree,
        agents: &[WorldAgent],
    ) -> LoadResult<SeedData> {
        let mut data = SeedData::default();
        for entry in file.org.iter().filter(|entry| entry.credits > 0) {
            data.credits.push((self.org(orgs, &entry.slug)?.id, entry.credits));
        }
        for (entry, world_agent) in file.agent.iter().zip(agents) {
            if let Some(soul) = &entry.soul {
                data.souls.push((world_agent.agent.id, world_agent.agent.org, soul.clone()));
            }
        }
        for entry in &file.binding {
            let org = self.org(orgs, &entry.org)?.id;
            let has_slug = |candidate: &&WorldAgent| candidate.agent.slug == *entry.agent.get_ref();
            let agent = agents.iter().find(has_slug).ok_or_else(|| {
                let known = agents.iter().map(|agent| agent.agent.slug.as_str());
                let message = unknown_name("agent", entry.agent.get_ref(), known);
                self.source.error_at(entry.agent.span(), message)
            })?;
            data.bindings.push((org, Channel::from(entry.channel.as_str()), agent.agent.id));
        }
        self.unique("contact", file.contact.iter().map(|entry| &entry.slug))?;
        for (number, entry) in (1..).zip(&file.contact) {
            let org = self.org(orgs, &entry.org)?.id;
            let contact = Contact {
                id: ContactId::from_u128(number),
                name: entry.name.clone(),
                details: ContactDetails::default(),
                locale: None,
                tags: BTreeSet::new(),
                notes: Vec::new(),
                crm: None,
            };
            let slug = entry.slug.get_ref().clone();
            data.contacts.push((slug, org, contact, entry.identifiers.clone()));
        }
        for entry in &file.record {
            let org = self.org(orgs, &entry.org)?.id;
            let mut record = serde_json::to_value(&entry.data)
                .map_err(|error| self.source.error_at(entry.org.span(), error.to_string()))?;
            if let Some(owner) = &entry.contact {
                let found = data.contacts.iter().find(|(slug, ..)| slug == owner.get_ref());
                let (_, _, contact, _) = found.ok_or_else(|| {
                    let known = data.contacts.iter().map(|(slug, ..)| slug.as_str());
                    let message = unknown_name("contact", owner.get_ref(), known);
                    self.source.error_at(owner.span(), message)
                })?;
                record["contact"] = serde_json::json!(contact.id);
            }
            data.records.push((org, entry.kind.clone(), record));
        }
        for entry in &file.document {
            let org = self.org(orgs, &entry.org)?.id;
            let (title, text) = (entry.title.clone(), entry.text.clone());
            data.documents.push((org, title, entry.tags.clone(), text));
        }
        Ok(data)
    }

    fn policy(&self, policy: &PolicyEntry) -> LoadResult<ToolPolicy> {
        Ok(ToolPolicy { allow: self.tool_set(&policy.allow)?, deny: self.tool_set(&policy.deny)? })
    }

    fn tool_set(&self, names: &[Name]) -> LoadResult<BTreeSet<ToolName>> {
        names.iter().map(|name| self.tool(name)).collect()
    }

    /// Returns a tool of the catalogue, or an error: a misspelt name in a deny list must
    /// not go unnoticed.
    fn tool(&self, name: &Name) -> LoadResult<ToolName> {
        let known = self.tools.iter().map(String::as_str);
        let invalid = |message: String| self.source.error_at(name.span(), message);
        if !self.tools.contains(name.get_ref()) {
            return Err(invalid(unknown_name("tool", name.get_ref(), known)));
        }
        name.get_ref()
            .parse()
            .map_err(|error: ostler_domain::tool::InvalidToolName| invalid(error.to_string()))
    }

    fn unique<'n>(&self, kind: &str, names: impl Iterator<Item = &'n Name>) -> LoadResult<()> {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name.get_ref()) {
                let message =
                    format!("there are two {kind}s `{}`; names are unique", name.get_ref());
                return Err(self.source.error_at(name.span(), message));
            }
        }
        Ok(())
    }
}

const fn org_id(position: usize) -> OrgId {
    OrgId::from_u128(position as u128 + 1)
}
