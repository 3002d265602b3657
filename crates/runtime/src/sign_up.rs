//! Makes the organization of a stranger who signs up: the org with its credits, its owner and
//! its PM in one transaction, then the link of the account that makes them recognized.
//!
//! The ids are stored before anything is made, so a repeat after a failure completes the same
//! organization. What is allowed, and what becomes of the answers, decides
//! [`ostler_domain::org::sign_up`].

use std::collections::BTreeSet;

use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::{Agent, AgentStatus, Brand, Protection, ToolSelection};
use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::hierarchy::bootstrap::{NewAgent, agency_pm};
use ostler_domain::hierarchy::deep_link::DEFAULT_LINK_DAYS;
use ostler_domain::id::{AgentId, AuditId, OrgId, RecordId, UserId};
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::account_link::{AccountLink, ChannelAccount};
use ostler_domain::org::plan::{Allowance, CreditAllowance};
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::{ChannelAddress, NotifyAddresses, OrgSettings};
use ostler_domain::org::sign_up::{
    SignUp, SignUpAnswers, SignUpRefused, SignUpSettings, slugs, user_email,
};
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;
use ostler_store::{
    ConfigChange, ConfigWrite, NewAuditEntry, NewGrant, OrgStore, Record, STARTING_CREDITS,
    StoreError, User,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::account_links::{LINK, link_id, linked_user, read, read_link};
use crate::deep_links::{self, DeepLinkRequest};
use crate::ids::{derived, fresh};
use crate::org_view::{OrgView, OrgViews};
use crate::records::encode;
use crate::shared_bot::new_shared_binding;

/// The record kind of [`SignUp`].
const SIGN_UP: &str = "sign_up";
/// The record kind of [`DayCount`].
const DAY: &str = "sign_up_day";
/// How often a count is tried when others change it at the same time.
const MAX_ATTEMPTS: usize = 20;

/// How many people began to sign up on a day.
#[derive(Debug, Default, Serialize, Deserialize)]
struct DayCount {
    count: u32,
}

/// A stranger who has answered and confirmed everything.
pub(crate) struct SignUpRequest<'a> {
    pub(crate) org_views: &'a OrgViews,
    /// The platform.
    pub(crate) view: &'a OrgView,
    /// The platform's bot or web chat on which they write.
    pub(crate) bot: &'a Binding,
    /// Their account, which the channel proves.
    pub(crate) account: ChannelAccount,
    pub(crate) answers: &'a SignUpAnswers,
    /// The agent that led the interview.
    pub(crate) by: AgentId,
    /// Its models, which the new organization gets as well.
    pub(crate) models: &'a [String],
    pub(crate) now: Timestamp,
}

/// An organization that a stranger got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedUp {
    pub(crate) org: Org,
    /// The name of its PM.
    pub(crate) pm: String,
    /// The address that opens it in Telegram, if a bot serves it.
    pub(crate) url: Option<String>,
}

/// Makes the organization, or completes one that an earlier attempt began. Refuses a person
/// who owns one, and everybody once the day's number is reached.
pub(crate) async fn sign_up(
    request: &SignUpRequest<'_>,
) -> Result<Result<SignedUp, SignUpRefused>, StoreError> {
    let Some(settings) = request.view.settings.sign_up else {
        return Ok(Err(SignUpRefused::Off));
    };
    let (record, begun) = match begin(request, settings).await? {
        Ok(begun) => begun,
        Err(refused) => return Ok(Err(refused)),
    };
    let org = create_org(request, settings, &begun).await?;
    if begun.completed_at.is_none() {
        complete(request, &record, begun.clone(), &org).await?;
    }
    let view = request.org_views.current(org.id).await?;
    let pm = view.agent(begun.agent).map(|one| one.agent.display_name.clone());
    let link = DeepLinkRequest {
        created_by: AuditActor::Agent(request.by),
        agent: Some(begun.agent),
        days: DEFAULT_LINK_DAYS,
        now: request.now,
    };
    let link = deep_links::create(request.org_views, &view, link).await?;
    let url = link.ok().and_then(|link| link.url);
    Ok(Ok(SignedUp { pm: pm.unwrap_or_else(|| org.name.clone()), url, org }))
}

/// Returns the stored sign-up of the person. A new one takes a place of the day.
async fn begin(
    request: &SignUpRequest<'_>,
    settings: SignUpSettings,
) -> Result<Result<(Record, SignUp), SignUpRefused>, StoreError> {
    let SignUpRequest { org_views, view, account, now, .. } = request;
    let platform = org_views.store().org(view.org.id);
    let key = format!("{SIGN_UP} {} {}", account.channel, account.identifier);
    let id = derived(RecordId::from_u128, view.org.id.as_u128(), &key);
    let known = find(platform, id).await?;
    let own = known.as_ref().map(|(_, begun)| begun.org);
    if owns_another(request, own).await? {
        return Ok(Err(SignUpRefused::OwnsOne));
    }
    if let Some((record, begun)) = known {
        let is_over = begun.completed_at.is_some() && !still_theirs(request, &begun).await?;
        return Ok(if is_over { Err(SignUpRefused::SignedUpBefore) } else { Ok((record, begun)) });
    }
    if !take_place(platform, settings.per_day, *now).await? {
        return Ok(Err(SignUpRefused::TooManyToday));
    }
    let begun = SignUp {
        account: account.clone(),
        org: fresh(OrgId::from_u128),
        agent: fresh(AgentId::from_u128),
        started_at: *now,
        completed_at: None,
    };
    match platform.create_record(SIGN_UP, id, encode(&begun)).await {
        // Another process began it at the same moment.
        Ok(()) | Err(StoreError::Conflict(_)) => {}
        Err(other) => return Err(other),
    }
    find(platform, id).await?.map(Ok).ok_or(StoreError::NotFound("sign-up"))
}

async fn find(
    platform: OrgStore<'_>,
    id: RecordId,
) -> Result<Option<(Record, SignUp)>, StoreError> {
    match platform.record(SIGN_UP, id).await {
        Ok(record) => {
            let begun = read(&record)?;
            Ok(Some((record, begun)))
        }
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Returns the user that the account belongs to, if it belongs to one.
async fn user_of(request: &SignUpRequest<'_>) -> Result<Option<UserId>, StoreError> {
    let store = request.org_views.store();
    let platform = store.org(request.view.org.id);
    if let Some(user) = linked_user(platform, &request.account).await? {
        return Ok(Some(user));
    }
    if needs_link(&request.account) {
        return Ok(None);
    }
    match store.user_account_by_email(&request.account.identifier).await {
        Ok(account) => Ok(Some(account.user.id)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Returns whether an account is recognized by a link. An address that a web chat proved needs
/// none.
fn needs_link(account: &ChannelAccount) -> bool {
    user_email(account) != account.identifier
}

/// Returns whether the person owns an org other than `own`.
async fn owns_another(request: &SignUpRequest<'_>, own: Option<OrgId>) -> Result<bool, StoreError> {
    let Some(user) = user_of(request).await? else { return Ok(false) };
    let account = request.org_views.store().user_account(user).await?;
    let mut owned = account.memberships.iter().filter(|one| one.role.must_be_held());
    Ok(owned.any(|one| Some(one.org) != own))
}

/// Returns whether a completed sign-up still holds: the org is not retired, and nobody took it
/// from the account.
async fn still_theirs(request: &SignUpRequest<'_>, done: &SignUp) -> Result<bool, StoreError> {
    let store = request.org_views.store();
    let org = match store.org(done.org).org().await {
        Ok(org) => org,
        Err(StoreError::NotFound(_)) => return Ok(false),
        Err(other) => return Err(other),
    };
    let Some(user) = user_of(request).await? else { return Ok(false) };
    let account = store.user_account(user).await?;
    let mut roles = account.memberships.iter();
    Ok(!org.archived && roles.any(|one| one.org == done.org && one.role == Role::Owner))
}

/// Takes one of the day's places. Returns false if there is none left.
async fn take_place(
    platform: OrgStore<'_>,
    per_day: u32,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let key = format!("{DAY} {}", now.utc_day().number());
    let id = derived(RecordId::from_u128, platform.id().as_u128(), &key);
    let mut last = StoreError::Conflict("the number of sign-ups of the day".into());
    for _ in 0..MAX_ATTEMPTS {
        let stored = match platform.record(DAY, id).await {
            Ok(stored) => Some(stored),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other),
        };
        let DayCount { count } = stored.as_ref().map(read).transpose()?.unwrap_or_default();
        if count >= per_day {
            return Ok(false);
        }
        let next = encode(&DayCount { count: count + 1 });
        let written = match &stored {
            Some(stored) => platform.update_record(DAY, stored, next).await,
            None => platform.create_record(DAY, id, next).await,
        };
        match written {
            Ok(()) => return Ok(true),
            Err(error @ StoreError::Conflict(_)) => last = error,
            Err(other) => return Err(other),
        }
    }
    Err(last)
}

/// Creates the org with everything in it, unless it exists. Tries another slug if one is taken.
async fn create_org(
    request: &SignUpRequest<'_>,
    settings: SignUpSettings,
    begun: &SignUp,
) -> Result<Org, StoreError> {
    let store = request.org_views.store();
    match store.org(begun.org).org().await {
        Err(StoreError::NotFound(_)) => {}
        found => return found,
    }
    let user = User {
        id: fresh(UserId::from_u128),
        email: user_email(&request.account),
        name: request.answers.owner.clone(),
    };
    let user = store.ensure_user(user).await?;
    for slug in slugs(&request.answers.business) {
        if store.org_by_slug(&slug).await?.is_some() {
            continue;
        }
        let org = Org {
            id: begun.org,
            slug,
            name: request.answers.business.clone(),
            place: OrgPlace::TopLevel,
            plan: settings.plan,
            sub_orgs_enabled: settings.plan.sub_orgs() != Allowance::UpTo(0),
            time_zone: "UTC".to_owned(),
            retention_days: None,
            archived: false,
            credits: CreditAllowance::default(),
        };
        let change = first_change(request, settings, begun, &org, user);
        match store.org(org.id).change_config(change).await {
            // Somebody took the slug at the same moment.
            Err(StoreError::Conflict(_)) => {}
            other => return other.map(|()| org),
        }
    }
    Err(StoreError::Conflict("a name for the organization".into()))
}

/// Returns the change that creates the org: its account, its PM, its owner, and on Telegram the
/// chat in which the owner hears of it.
fn first_change(
    request: &SignUpRequest<'_>,
    settings: SignUpSettings,
    begun: &SignUp,
    org: &Org,
    user: UserId,
) -> ConfigChange {
    let NewAgent { name, slug, subtype, kind, autonomy, soul, .. } = agency_pm(org);
    let about = request.answers.about.clone();
    let brand = Brand { name: org.name.clone(), about, ..Brand::default() };
    let profile = ToolProfile::default_for(&subtype);
    let pm = Agent {
        id: begun.agent,
        org: org.id,
        slug: slug.to_owned(),
        display_name: name,
        subtype,
        protection: Protection::Open,
        status: AgentStatus::Active,
        kind,
        template: None,
        tools: ToolSelection { profile, policy: ToolPolicy::default() },
        models: Vec::new(),
        brand: Some(brand),
        autonomy,
        require_approval_for: BTreeSet::new(),
        blocked_topics: Vec::new(),
        limits: AgentLimits::default(),
        knowledge_tags: BTreeSet::new(),
        created_at: request.now,
    };
    let bot = new_shared_binding(org.id, pm.id, request.bot, std::iter::empty());
    let owner =
        ChannelAddress { binding: bot.binding.id, identifier: request.account.identifier.clone() };
    let owner = Some(owner).filter(|_| request.account.channel == Channel::Telegram);
    let people = NotifyAddresses { owner, ..NotifyAddresses::default() };
    let models = request.models.to_vec();
    let org_settings = OrgSettings { people, models, ..OrgSettings::default() };
    let created = |action: &str, subject: String, after: Value| {
        audit_entry(request.by, action, subject, &json!({"before": null, "after": after}))
    };
    let audit = vec![
        created("create_org", org.slug.clone(), json!({"name": org.name, "plan": org.plan})),
        created("create_agent", pm.id.to_string(), json!({"name": pm.display_name})),
        created("add_member", user.to_string(), json!({"role": Role::Owner})),
    ];
    let mut writes = vec![
        ConfigWrite::CreateOrg(Box::new(org.clone())),
        // The account gets the credits of its plan.
        ConfigWrite::UpdateOrg(Box::new(org.clone())),
    ];
    if !settings.credits.is_zero() {
        writes.push(ConfigWrite::Grant(NewGrant {
            reference: STARTING_CREDITS.to_owned(),
            pool: PoolKind::Purchased,
            amount: settings.credits,
        }));
    }
    writes.extend([
        ConfigWrite::Soul { owner: pm.id, soul: soul.unwrap_or_default(), at: request.now },
        ConfigWrite::Binding(bot),
        ConfigWrite::Member(user, Role::Owner),
        ConfigWrite::Settings(encode(&org_settings)),
    ]);
    writes.insert(2, ConfigWrite::Agent(Box::new(pm)));
    ConfigChange { revision: None, writes, audit, applied: None }
}

/// Links the account to the owner, so that they are recognized from now on, and marks the
/// sign-up as complete.
async fn complete(
    request: &SignUpRequest<'_>,
    record: &Record,
    begun: SignUp,
    org: &Org,
) -> Result<(), StoreError> {
    let SignUpRequest { org_views, view, account, answers, now, .. } = request;
    let store = org_views.store();
    let platform = store.org(view.org.id);
    if needs_link(account) {
        let user = store.user_account_by_email(&user_email(account)).await?.user.id;
        let known = read_link(platform, account).await?;
        let is_linked =
            known.as_ref().is_some_and(|(_, link)| link.user == user && link.revoked_at.is_none());
        if !is_linked {
            let link = AccountLink {
                user,
                account: account.clone(),
                name: Some(answers.owner.clone()),
                linked_at: *now,
                revoked_at: None,
            };
            let before = known.as_ref().map(|(_, link)| link);
            let data = json!({"before": before, "after": link, "organization": org.id});
            let audit = audit_entry(request.by, "link_account", user.to_string(), &data);
            let (id, read) = (link_id(platform, account), known.as_ref().map(|(read, _)| read));
            platform.audited(audit).save_record(LINK, id, read, encode(&link)).await?;
        }
    }
    let done = SignUp { completed_at: Some(*now), ..begun };
    match platform.update_record(SIGN_UP, record, encode(&done)).await {
        // Another process completed it.
        Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Returns an audit entry of the agent that led the interview.
pub(crate) fn audit_entry(
    by: AgentId,
    action: &str,
    subject: String,
    data: &Value,
) -> NewAuditEntry {
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::Agent(by),
        action: action.to_owned(),
        subject,
        data: data.to_string(),
    }
}
