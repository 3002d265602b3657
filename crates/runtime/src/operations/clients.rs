//! Clients of an agency: created with their first agents and a web chat, listed, measured, and
//! connected to a bot of their own.

use futures_util::future::BoxFuture;
use ostler_domain::channel::Channel;
use ostler_domain::hierarchy::bootstrap::initial_agents;
use ostler_domain::hierarchy::deep_link::DEFAULT_LINK_DAYS;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::org::guardrail::GuardedAction;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::secret::SecretRef;
use ostler_domain::session::key::ConversationEntry;
use ostler_store::{OrgBinding, SessionFilter, StoredSession};
use ostler_world::{Address, Kind, Resource, Resources};
use serde::Serialize;
use serde_json::{Value, json};

use super::world::{ApplyHost, LiveWorld};
use super::{
    Actor, Inner, NewBinding, NewDeepLink, OperationError, Operations, OrgOperations, Result,
};
use crate::deep_links::{self, DEEP_LINK, DeepLinkRequest};
use crate::hierarchy::plan::ISSUE;
use crate::records::decode;
use crate::records::session::Session;

/// The most sessions and issues that are counted.
const MAX_COUNTED: u32 = 1000;

/// What connecting a bot needs from the machine it is done on.
pub trait BotHost: ApplyHost {
    /// Asks the provider of a bot whether its token is valid, and returns the bot's name.
    /// Fails with the reason.
    fn check_bot<'a>(
        &'a self,
        org: OrgId,
        bound: &'a OrgBinding,
    ) -> BoxFuture<'a, std::result::Result<String, String>>;
}

/// A client to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewClient {
    /// The name in commands and addresses.
    pub slug: String,
    /// The name on screens and in prompts.
    pub name: String,
    /// The IANA name of its time zone.
    pub time_zone: String,
    /// The e-mail addresses of its owners.
    pub owners: Vec<String>,
    pub coordinator: bool,
}

/// A client that was created, or that existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedClient {
    pub org: Org,
    /// Whether it existed before, and at most missing parts were added.
    pub existed: bool,
    /// Why it has its PM only; a repeat adds the rest.
    pub missing: Option<String>,
    /// A deep link to it, unless it has one already.
    pub deep_link: Option<NewDeepLink>,
}

/// Figures of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientStats {
    pub slug: String,
    pub name: String,
    pub plan: LicencePlan,
    pub archived: bool,
    /// The agents that take messages.
    pub agents: usize,
    /// The channels that are enabled.
    pub channels: usize,
    /// Its sessions without tests, of the newest 1,000.
    pub sessions: usize,
    /// The sessions in which a person answers or is asked to.
    pub with_people: usize,
    pub pending_approvals: u64,
    /// The open issues that it has sent or received.
    pub open_issues: usize,
    /// `None` on an unlimited plan.
    pub available_credits: Option<Credits>,
}

/// Which of the first parts of a client are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientParts {
    /// What the client cannot be used without: its PM.
    Essential,
    /// All its first agents and a web chat.
    All { coordinator: bool },
}

/// Returns the first agents of a client, its owners, and the web chat on which customers reach
/// it.
pub fn first_resources(
    slug: &str,
    name: &str,
    owners: &[String],
    parts: ClientParts,
) -> Result<Resources> {
    let mut resources = Resources::new();
    let mut add = |kind: Kind, name: &str, value: Value| -> Result<()> {
        let address = Address { org: slug.to_owned(), kind, name: name.to_owned() };
        resources.insert(address, Resource::parse(kind, &value)?);
        Ok(())
    };
    let coordinator = parts == ClientParts::All { coordinator: true };
    let agents = initial_agents(name, coordinator);
    for agent in agents.into_iter().filter(|one| one.essential || parts != ClientParts::Essential) {
        let models: Vec<&str> = agent.model.into_iter().collect();
        let value = json!({
            "org": slug, "slug": agent.slug, "name": agent.name, "kind": agent.kind,
            "subtype": agent.subtype.to_string(), "autonomy": agent.autonomy,
            "models": models, "soul": agent.soul.unwrap_or_default(),
        });
        add(Kind::Agent, agent.slug, value)?;
    }
    for owner in owners {
        let email = owner.trim().to_lowercase();
        let value = json!({"org": slug, "email": email, "role": Role::Owner});
        add(Kind::Member, &email, value)?;
    }
    if parts != ClientParts::Essential {
        let webchat = json!({
            "org": slug, "name": "webchat", "kind": "webchat", "agent": "customer-service",
        });
        add(Kind::Channel, "webchat", webchat)?;
    }
    Ok(resources)
}

impl Operations {
    /// Returns every org that is not retired, for an actor of the platform.
    pub async fn organizations(&self, actor: Actor) -> Result<Vec<Org>> {
        let mut orgs = self.0.store.orgs().await?;
        let platform = orgs.iter().find(|org| org.place == OrgPlace::Platform).map(|org| org.id);
        if let Some(platform) = platform {
            actor.authorize(&self.0.store, platform, OrgPermission::GrantCredits).await?;
        }
        orgs.retain(|org| !org.archived);
        Ok(orgs)
    }

    /// Returns the orgs that an actor may view, by slug.
    pub async fn visible_orgs(&self, actor: Actor) -> Result<Vec<Org>> {
        let orgs = self.0.store.orgs().await?;
        let mut visible = actor.visible(&self.0.store, orgs).await?;
        visible.sort_by(|one, other| one.slug.cmp(&other.slug));
        Ok(visible)
    }

    /// Returns the id of an org that an actor may view. To others it does not exist.
    pub async fn find_org(&self, actor: Actor, slug: &str) -> Result<OrgId> {
        let unknown = || OperationError::NoOrg(slug.to_owned());
        let org = self.0.store.org_by_slug(slug.trim()).await?.ok_or_else(unknown)?;
        let viewed = actor.authorize(&self.0.store, org, OrgPermission::View).await;
        viewed.map(|()| org).map_err(|error| match error {
            OperationError::Store(error) => error.into(),
            _ => unknown(),
        })
    }
}

impl OrgOperations<'_> {
    /// Creates a client of the org on the free plan: the org, its owners, its first agents and
    /// a web chat, all in one transaction, and a deep link. If only parts fail that it can be
    /// used without, it starts with its PM. For a client that exists, missing parts are added.
    pub async fn create_client(
        &self,
        new: &NewClient,
        host: &dyn ApplyHost,
    ) -> Result<CreatedClient> {
        let store = &self.inner().store;
        self.actor.authorize_guarded(store, self.org, GuardedAction::CreateSubOrg).await?;
        let (live, parent) = self.live_org().await?;
        let address = Address::of_org(&new.slug);
        let known = live.resources.get(&address);
        let existed = match known {
            Some(org) if org.value()["parent"] == parent.org => true,
            Some(_) => return Err(OperationError::SlugTaken(new.slug.clone())),
            None => false,
        };
        let all = ClientParts::All { coordinator: new.coordinator };
        let made = self.make_client(live, &parent.org, new, all, host).await;
        let missing = match made {
            Ok(()) => None,
            Err(error) if existed => return Err(error),
            Err(error) => {
                let (live, _) = self.live_org().await?;
                let essential = ClientParts::Essential;
                match self.make_client(live, &parent.org, new, essential, host).await {
                    Ok(()) => Some(error.to_string()),
                    Err(_) => return Err(error),
                }
            }
        };
        let id = store.org_by_slug(&new.slug).await?;
        let id = id.ok_or_else(|| OperationError::NoOrg(new.slug.clone()))?;
        let deep_link = self.first_deep_link(id).await?;
        Ok(CreatedClient { org: store.org(id).org().await?, existed, missing, deep_link })
    }

    /// Creates the first deep link of a client that the actor was allowed to create.
    async fn first_deep_link(&self, client: OrgId) -> Result<Option<NewDeepLink>> {
        let Inner { store, org_views, clock, .. } = self.inner();
        if !store.org(client).newest_records(DEEP_LINK, None, 1).await?.is_empty() {
            return Ok(None);
        }
        let view = org_views.current(client).await?;
        let (created_by, now) = (self.actor.audit_actor(), clock.now());
        let request = DeepLinkRequest { created_by, agent: None, days: DEFAULT_LINK_DAYS, now };
        let created = deep_links::create(org_views, &view, request).await?;
        created.map(Some).map_err(|_| OperationError::NoRandomNumbers)
    }

    async fn make_client(
        &self,
        live: LiveWorld,
        parent: &str,
        new: &NewClient,
        parts: ClientParts,
        host: &dyn ApplyHost,
    ) -> Result<()> {
        let NewClient { slug, name, time_zone, owners, .. } = new;
        let mut wanted = first_resources(slug, name, owners, parts)?;
        if live.resources.contains_key(&Address::of_org(slug)) {
            wanted.retain(|address, resource| is_missing(&live, address, resource));
        } else {
            let org = json!({"slug": slug, "name": name, "parent": parent, "time_zone": time_zone});
            wanted.insert(Address::of_org(slug), Resource::parse(Kind::Org, &org)?);
        }
        let plan = self.operations.plan_change(live, &wanted)?;
        if plan.is_empty() {
            return Ok(());
        }
        self.operations.apply_authorized(self.actor, &plan, host).await
    }

    /// Returns the clients of the org that are not retired, by name.
    pub async fn clients(&self) -> Result<Vec<Org>> {
        self.authorize(OrgPermission::View).await?;
        let mut orgs = self.inner().store.orgs().await?;
        orgs.retain(|org| org.parent() == Some(self.org) && !org.archived);
        orgs.sort_by(|one, other| one.slug.cmp(&other.slug));
        Ok(orgs)
    }

    /// Returns the figures of the org.
    pub async fn stats(&self) -> Result<ClientStats> {
        let store = self.authorize(OrgPermission::View).await?;
        let view = self.view().await?;
        let count = async |filter| -> Result<usize> {
            let sessions = store.sessions(filter, None, MAX_COUNTED).await?;
            Ok(sessions.iter().filter(|one| !is_test(one)).count())
        };
        let issues = store.newest_records(ISSUE, None, MAX_COUNTED).await?;
        let is_open = |data: &str| {
            let issue = serde_json::from_str::<ostler_domain::hierarchy::issue::Issue>(data);
            issue.is_ok_and(|issue| issue.is_open())
        };
        Ok(ClientStats {
            slug: view.org.slug.clone(),
            name: view.org.name.clone(),
            plan: view.org.plan,
            archived: view.org.archived,
            agents: view.agents.iter().filter(|one| one.agent.receives_messages()).count(),
            channels: view.bindings.iter().filter(|one| one.binding.enabled).count(),
            sessions: count(SessionFilter::All).await?,
            with_people: count(SessionFilter::HandedOff).await?,
            pending_approvals: store.count_pending_approvals(None).await?,
            open_issues: issues.iter().filter(|one| is_open(&one.data)).count(),
            available_credits: store.credit_account().await?.available(),
        })
    }

    /// Connects a Telegram bot to the org, after its provider accepted the token. Returns the
    /// bot's name. A bot that is connected already stays as it is.
    pub async fn deploy_telegram_bot(
        &self,
        agent: Option<String>,
        token: Option<SecretRef>,
        host: &dyn BotHost,
    ) -> Result<(String, BindingId)> {
        let store = &self.inner().store;
        self.actor.authorize_guarded(store, self.org, GuardedAction::DeployBot).await?;
        let (channel, settings) = (Channel::Telegram, "{}".to_owned());
        let mut bound = self
            .new_binding(NewBinding {
                channel,
                settings: Some(settings),
                secret: token,
                agent,
                priority: 1,
            })
            .await?;
        if bound.secret.is_none() {
            let created = host.new_secret(self.org, bound.binding.id, &Channel::Telegram);
            bound.secret = created.map_err(OperationError::UnusableBot)?;
        }
        let checked = host.check_bot(self.org, &bound).await;
        let name = checked.map_err(OperationError::UnusableBot)?;
        let id = bound.binding.id;
        match self.store_binding(bound).await {
            Err(OperationError::AlreadyBound(id)) => Ok((name, id)),
            other => other.map(|()| (name, id)),
        }
    }
}

/// Returns whether a session is a test of the agency's owner, which no figure counts.
fn is_test(stored: &StoredSession) -> bool {
    let session = decode::<Session>("session", &stored.data);
    session.is_ok_and(|session| session.entry == ConversationEntry::Testing)
}

/// Returns whether a client lacks a first resource: an agent of that role, any channel, or any
/// member.
fn is_missing(live: &LiveWorld, address: &Address, resource: &Resource) -> bool {
    let same = |one: &Address| one.org == address.org && one.kind == address.kind;
    let mut known = live.resources.iter().filter(|(one, _)| same(one));
    !known.any(|(_, known)| {
        address.kind != Kind::Agent || known.value()["subtype"] == resource.value()["subtype"]
    })
}
