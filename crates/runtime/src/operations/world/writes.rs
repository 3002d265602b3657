//! Turns planned changes into writes of the store.

use std::collections::BTreeMap;

use ostler_domain::agent::{Agent, AgentStatus};
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{DocumentId, IntegrationId, OrgId, UserId};
use ostler_domain::knowledge::Document;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::Integration;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_store::{
    ConfigWrite, IntegrationConnection, NewGrant, OrgBinding, OrgIntegration, STARTING_CREDITS,
    User,
};
use ostler_world::plan::{Action, Change};
use ostler_world::spec::{
    AgentDefinition, ChannelDefinition, DocumentDefinition, HttpToolDefinition,
    IntegrationDefinition, McpServerDefinition, MemberDefinition, Names, OrgDefinition,
    PlatformDefinition, ScheduleResource, Spec, WorkflowResource,
};
use ostler_world::{Address, Kind};

use super::super::{OperationError, Operations, Result};
use super::apply::org_id;
use super::live::LiveOrg;
use super::{ApplyHost, CheckedPlan};
use crate::ids::fresh;
use crate::records::encode;

/// Turns the changes of one org into writes.
pub(super) struct Writer<'a> {
    pub(super) operations: &'a Operations,
    pub(super) plan: &'a CheckedPlan,
    pub(super) names: &'a BTreeMap<String, Names>,
    pub(super) slug: &'a str,
    pub(super) host: &'a dyn ApplyHost,
}

impl Writer<'_> {
    /// Returns the writes in the order of the kinds; settings go last, because they refer
    /// to agents and channels.
    pub(super) async fn writes(&self, changes: &[&Change]) -> Result<Vec<ConfigWrite>> {
        let mut changes = changes.to_vec();
        changes.sort_by_key(|change| (change.address.kind != Kind::Org, change.address.kind));
        let (mut writes, mut last) = (Vec::new(), Vec::new());
        for change in changes {
            match (change.address.kind, change.action) {
                (Kind::Org, action) => self.org(change, action, &mut writes, &mut last)?,
                (Kind::Platform, Action::Remove) => {
                    writes.push(ConfigWrite::PlatformPolicy(ToolPolicy::default()));
                }
                (Kind::Platform, _) => {
                    let spec: PlatformDefinition = self.spec(&change.address)?;
                    writes.push(ConfigWrite::PlatformPolicy(spec.tools));
                }
                (Kind::Agent, Action::Remove) => {
                    let agent = self.live_agent(&change.address)?;
                    let archived = Agent { status: AgentStatus::Archived, ..agent.clone() };
                    writes.push(ConfigWrite::Agent(Box::new(archived)));
                }
                (Kind::Agent, _) => self.agent(change, &mut writes)?,
                (Kind::Tool, Action::Remove) => {
                    let name = change.address.name.clone();
                    writes.push(ConfigWrite::DeleteTool(OrgToolKind::Http, name));
                }
                (Kind::Tool, _) => {
                    let spec: HttpToolDefinition = self.spec(&change.address)?;
                    writes.push(ConfigWrite::Tool(Box::new(OrgTool::Http(spec.tool))));
                }
                (Kind::McpServer, Action::Remove) => {
                    let name = change.address.name.clone();
                    writes.push(ConfigWrite::DeleteTool(OrgToolKind::Mcp, name));
                }
                (Kind::McpServer, _) => {
                    let spec: McpServerDefinition = self.spec(&change.address)?;
                    writes.push(ConfigWrite::Tool(Box::new(OrgTool::Mcp(spec.server))));
                }
                (Kind::Channel, action) => writes.push(self.channel(change, action)?),
                (Kind::Integration, action) => writes.push(self.integration(change, action)?),
                (Kind::Document, action) => writes.push(self.document(change, action)?),
                (Kind::Member, action) => writes.push(self.member(change, action).await?),
                (Kind::Workflow, Action::Remove) => {
                    writes.push(ConfigWrite::DeleteWorkflow(change.address.name.clone()));
                }
                (Kind::Workflow, _) => {
                    let spec: WorkflowResource = self.spec(&change.address)?;
                    writes.push(ConfigWrite::Workflow(Box::new(spec.definition)));
                }
                (Kind::Schedule, Action::Remove) => {
                    writes.push(ConfigWrite::DeleteSchedule(change.address.name.clone()));
                }
                (Kind::Schedule, _) => {
                    let spec: ScheduleResource = self.spec(&change.address)?;
                    writes.push(ConfigWrite::Schedule(Box::new(spec.schedule)));
                }
            }
        }
        writes.append(&mut last);
        Ok(writes)
    }

    fn spec<S: Spec>(&self, address: &Address) -> Result<S> {
        let resource = self.plan.plan.after.get(address);
        let resource = resource.ok_or_else(|| OperationError::BadResource(address.to_string()))?;
        resource.spec().map_err(|error| {
            OperationError::BadResource(format!("{address}: {}: {}", error.path, error.cause))
        })
    }

    fn names(&self) -> Result<&Names> {
        let names = self.names.get(self.slug);
        names.ok_or_else(|| OperationError::BadResource(format!("no org `{}`", self.slug)))
    }

    fn org_id(&self) -> Result<OrgId> {
        org_id(self.names, self.slug)
    }

    fn live(&self) -> Option<&LiveOrg> {
        self.plan.live.orgs.get(self.slug)
    }

    fn org(
        &self,
        change: &Change,
        action: Action,
        writes: &mut Vec<ConfigWrite>,
        last: &mut Vec<ConfigWrite>,
    ) -> Result<()> {
        let (id, names) = (self.org_id()?, self.names()?);
        if action == Action::Remove {
            let live = self.plan.live.resources.get(&change.address);
            let spec: Option<OrgDefinition> = live.and_then(|org| org.spec().ok());
            if let Some(spec) = spec {
                let org = OrgDefinition { archived: true, ..spec }.to_org(id, names)?;
                writes.push(ConfigWrite::UpdateOrg(Box::new(org)));
            }
            return Ok(());
        }
        let spec: OrgDefinition = self.spec(&change.address)?;
        let touched = |name: &str| {
            change.fields.iter().any(|field| field.path.split('.').next() == Some(name))
        };
        let org = Box::new(spec.to_org(id, names)?);
        if action == Action::Create {
            writes.push(ConfigWrite::CreateOrg(org.clone()));
            // The account gets the credits of its plan.
            writes.push(ConfigWrite::UpdateOrg(org));
            if !spec.starting_credits.is_zero() {
                writes.push(ConfigWrite::Grant(NewGrant {
                    reference: STARTING_CREDITS.to_owned(),
                    pool: PoolKind::Purchased,
                    amount: spec.starting_credits,
                }));
            }
        } else if change.fields.iter().any(|field| !is_part(&field.path)) {
            writes.push(ConfigWrite::UpdateOrg(org));
        }
        if spec.archived && touched("archived") {
            last.append(&mut self.close_channels()?);
        }
        if touched("tools") {
            writes.push(ConfigWrite::Policy(spec.tools.clone()));
        }
        if touched("sharing") {
            last.push(ConfigWrite::Sharing(spec.sharing.to_policy(names)?));
        }
        if touched("settings") || action == Action::Create {
            last.push(ConfigWrite::Settings(encode(&spec.settings.to_settings(names)?)));
        }
        Ok(())
    }

    /// Returns the writes that switch off every channel of the org.
    fn close_channels(&self) -> Result<Vec<ConfigWrite>> {
        let live = self.plan.live.resources.keys();
        let own = live.filter(|one| one.kind == Kind::Channel && one.org == self.slug);
        let close = |address: &Address| {
            let (address, action) = (address.clone(), Action::Remove);
            self.channel(&Change { address, action, fields: Vec::new() }, action)
        };
        own.map(close).collect()
    }

    fn agent(&self, change: &Change, writes: &mut Vec<ConfigWrite>) -> Result<()> {
        let spec: AgentDefinition = self.spec(&change.address)?;
        let names = self.names()?;
        let id = names.agents.find("agent", &spec.slug)?;
        let known = self.live().and_then(|live| live.agents.get(&id));
        let now = self.operations.0.clock.now();
        let created_at = known.map_or(now, |agent| agent.created_at);
        let agent = spec.to_agent(id, self.org_id()?, created_at, names)?;
        let has_own_soul = agent.template.is_none();
        if known != Some(&agent) {
            writes.push(ConfigWrite::Agent(Box::new(agent)));
        }
        let soul_changed = change.action == Action::Create
            || change.fields.iter().any(|field| field.path.starts_with("soul"));
        if has_own_soul && soul_changed {
            writes.push(ConfigWrite::Soul { owner: id, soul: spec.soul, at: now });
        }
        Ok(())
    }

    fn live_agent(&self, address: &Address) -> Result<&Agent> {
        let live = self.live();
        let agent = live.and_then(|live| live.agents.get(&live.names.agents.id(&address.name)?));
        agent.ok_or_else(|| OperationError::NoAgent(address.name.clone()))
    }

    fn channel(&self, change: &Change, action: Action) -> Result<ConfigWrite> {
        let org = self.org_id()?;
        let spec: ChannelDefinition = match action {
            Action::Remove => {
                let live = self.plan.live.resources.get(&change.address);
                let spec: Option<ChannelDefinition> = live.and_then(|one| one.spec().ok());
                let spec =
                    spec.ok_or_else(|| OperationError::BadResource(change.address.to_string()))?;
                ChannelDefinition { enabled: false, ..spec }
            }
            _ => self.spec(&change.address)?,
        };
        let names = self.names()?;
        let known = self.live().and_then(|live| live.binding(&spec.name));
        let id = match known {
            Some(id) => id,
            None => names.channels.find("channel", &spec.name)?,
        };
        let agent = match names.agents.id(&spec.agent) {
            Some(agent) => agent,
            None => {
                self.live_agent(&Address {
                    org: self.slug.to_owned(),
                    kind: Kind::Agent,
                    name: spec.agent.clone(),
                })?
                .id
            }
        };
        let refused = |why| OperationError::BadResource(format!("{}: {why}", change.address));
        let mut secret = spec.secret;
        if secret.is_none() && known.is_none() {
            secret = self.host.new_secret(org, id, &spec.kind).map_err(refused)?;
        }
        let (name, channel) = (spec.name, spec.kind);
        let binding = Binding { id, name, channel, enabled: spec.enabled, priority: spec.priority };
        let settings = encode(&spec.settings);
        let bound = OrgBinding { binding, agent, settings, secret };
        if bound.binding.enabled {
            self.host.check_channel(org, &bound).map_err(refused)?;
        }
        Ok(ConfigWrite::Binding(bound))
    }

    fn integration(&self, change: &Change, action: Action) -> Result<ConfigWrite> {
        let source = match action {
            Action::Remove => self.plan.live.resources.get(&change.address),
            _ => self.plan.plan.after.get(&change.address),
        };
        let spec: Option<IntegrationDefinition> = source.and_then(|one| one.spec().ok());
        let spec = spec.ok_or_else(|| OperationError::BadResource(change.address.to_string()))?;
        let known = self.live().and_then(|live| live.integrations.get(&spec.service).copied());
        let connected = spec.connected && action != Action::Remove;
        Ok(ConfigWrite::Integration(OrgIntegration {
            id: known.unwrap_or_else(|| fresh(IntegrationId::from_u128)),
            service: Integration::new(&spec.service),
            connection: match connected {
                true => IntegrationConnection::Connected,
                false => IntegrationConnection::Disconnected,
            },
            settings: encode(&spec.settings),
            secret: spec.secret,
        }))
    }

    fn document(&self, change: &Change, action: Action) -> Result<ConfigWrite> {
        let known = self.live().and_then(|live| live.documents.get(&change.address.name).copied());
        if let (Action::Remove, Some(id)) = (action, known) {
            return Ok(ConfigWrite::DeleteDocument(id));
        }
        let spec: DocumentDefinition = self.spec(&change.address)?;
        let tags = spec.tags.iter().map(String::as_str);
        let document = Document::new(&spec.title, &spec.text, tags)?;
        let id = known.unwrap_or_else(|| fresh(DocumentId::from_u128));
        Ok(ConfigWrite::Document(id, document))
    }

    async fn member(&self, change: &Change, action: Action) -> Result<ConfigWrite> {
        let known = self.live().and_then(|live| live.members.get(&change.address.name).copied());
        if let (Action::Remove, Some(user)) = (action, known) {
            return Ok(ConfigWrite::RemoveMember(user));
        }
        let spec: MemberDefinition = self.spec(&change.address)?;
        let user = match known {
            Some(user) => user,
            None => {
                let id = fresh(UserId::from_u128);
                let user = User { id, email: spec.email.clone(), name: spec.name.clone() };
                self.operations.0.store.ensure_user(user).await?
            }
        };
        Ok(ConfigWrite::Member(user, spec.role))
    }
}

/// Returns whether a field of an org is stored apart from the org itself.
fn is_part(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    matches!(first, "tools" | "sharing" | "settings")
}
