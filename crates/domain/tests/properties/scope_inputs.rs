//! Generated inputs for scopes and the gate: a catalogue, three policies, an org, an agent
//! and a session. Decides no rule.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::guardrail::MATRIX;
use ostler_domain::org::layer::{BusinessLayer, BusinessPosition, business_layer};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::removal::Removal;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::DisabledTool;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::profile::ToolProfile;
use ostler_domain::tool::{
    Audience, Integration, Reach, Risk, ToolCategory, ToolGroup, ToolName, ToolRole, ToolSpec,
    Trust,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The integrations that generated tools may need.
pub(crate) const SERVICES: [&str; 4] = ["payments", "unsplash", "sms", "calendar"];

/// Custom tools, whose names no rule knows.
const CUSTOM: [&str; 4] = ["mcp__one", "mcp__two", "mcp__three", "ask_user"];

/// Everything a scope depends on.
#[derive(Debug, Clone)]
pub(crate) struct ScopeInputs {
    pub(crate) catalogue: Vec<ToolSpec>,
    pub(crate) platform: ToolPolicy,
    pub(crate) org: ToolPolicy,
    pub(crate) agent: ToolPolicy,
    pub(crate) integrations: BTreeSet<Integration>,
    pub(crate) sub_orgs_enabled: bool,
    pub(crate) team_coordination: bool,
    pub(crate) position: BusinessPosition,
    pub(crate) profile: ToolProfile,
    pub(crate) autonomy: AutonomyLevel,
    pub(crate) session: SessionTools,
}

impl ScopeInputs {
    /// Returns the same catalogue, position and audience without any restriction.
    pub(crate) fn unrestricted(&self) -> Self {
        Self {
            catalogue: self.catalogue.clone(),
            platform: ToolPolicy::default(),
            org: ToolPolicy::default(),
            agent: ToolPolicy::default(),
            integrations: SERVICES.map(Integration::new).into(),
            sub_orgs_enabled: true,
            team_coordination: true,
            position: self.position.clone(),
            profile: ToolProfile::Everything,
            autonomy: AutonomyLevel::Autonomous,
            session: SessionTools::new(Channel::Webchat, self.session.audience),
        }
    }

    /// Returns the same inputs for an agent of another layer.
    pub(crate) fn at(&self, layer: BusinessLayer) -> Self {
        let position = BusinessPosition {
            business_layer: layer,
            guardrail_layer: layer,
            ..self.position.clone()
        };
        Self { position, ..self.clone() }
    }

    pub(crate) fn scope(&self) -> ToolScope {
        let facts = ScopeFacts {
            platform: &self.platform,
            org: OrgTools {
                policy: &self.org,
                integrations: &self.integrations,
                sub_orgs_enabled: self.sub_orgs_enabled,
                team_coordination: self.team_coordination,
            },
            agent: AgentTools {
                position: &self.position,
                profile: self.profile,
                policy: &self.agent,
                autonomy: self.autonomy,
            },
            session: &self.session,
        };
        resolve(self.catalogue.clone(), &facts)
    }

    pub(crate) fn active(&self) -> BTreeSet<ToolName> {
        self.scope().active().map(|tool| tool.name.clone()).collect()
    }

    pub(crate) fn removals(&self) -> BTreeMap<ToolName, Removal> {
        let scope = self.scope();
        let removed = scope.tools().iter();
        removed.filter_map(|tool| Some((tool.spec.name.clone(), tool.removed.clone()?))).collect()
    }
}

/// Generates any inputs.
pub(crate) fn scope_inputs() -> impl Strategy<Value = ScopeInputs> {
    catalogues().prop_flat_map(|catalogue| {
        let names: Vec<ToolName> = catalogue.iter().map(|tool| tool.name.clone()).collect();
        let policies = [policies(&names), policies(&names), policies(&names)];
        let flags = (prop::bool::weighted(0.7), prop::bool::weighted(0.7));
        let agent = (positions(), select(ToolProfile::ALL.to_vec()), autonomy_levels());
        let session = sessions(&names);
        (policies, subsequence(SERVICES.to_vec(), 0..=4), flags, agent, session).prop_map(
            move |([platform, org, of_agent], services, flags, agent, session)| ScopeInputs {
                catalogue: catalogue.clone(),
                platform,
                org,
                agent: of_agent,
                integrations: services.into_iter().map(Integration::new).collect(),
                sub_orgs_enabled: flags.0,
                team_coordination: flags.1,
                position: agent.0,
                profile: agent.1,
                autonomy: agent.2,
                session,
            },
        )
    })
}

/// Generates any autonomy level.
pub(crate) fn autonomy_levels() -> impl Strategy<Value = AutonomyLevel> {
    select(AutonomyLevel::ALL.to_vec())
}

/// Generates a subset of at most `limit` names.
pub(crate) fn some_of(
    names: &[ToolName],
    limit: usize,
) -> impl Strategy<Value = BTreeSet<ToolName>> + use<> {
    let limit = limit.min(names.len());
    subsequence(names.to_vec(), 0..=limit).prop_map(|names| names.into_iter().collect())
}

fn policies(names: &[ToolName]) -> BoxedStrategy<ToolPolicy> {
    let allow = prop_oneof![2 => Just(BTreeSet::new()), 1 => some_of(names, names.len())];
    let deny = prop_oneof![1 => Just(BTreeSet::new()), 1 => some_of(names, 4)];
    (allow, deny).prop_map(|(allow, deny)| ToolPolicy { allow, deny }).boxed()
}

fn sessions(names: &[ToolName]) -> impl Strategy<Value = SessionTools> + use<> {
    let channel = select(vec![Channel::Webchat, Channel::Sms, Channel::Named("pager".into())]);
    let read_only = prop::bool::weighted(0.2);
    (channel, audiences(), some_of(names, 3), read_only, some_of(names, 3)).prop_map(
        |(channel, audience, failed, read_only, mut off_here)| {
            let mut session = SessionTools::new(channel, audience);
            let disabled = DisabledTool { failures: 3, since: Timestamp::from_millis(7) };
            session.disabled = failed.into_iter().map(|name| (name, disabled)).collect();
            session.read_only = read_only;
            session.channel_restrictions.append(&mut off_here);
            session
        },
    )
}

fn audiences() -> impl Strategy<Value = Audience> {
    select(vec![Audience::Customer, Audience::Staff])
}

fn positions() -> impl Strategy<Value = BusinessPosition> {
    let place = select(vec![
        OrgPlace::Platform,
        OrgPlace::TopLevel,
        OrgPlace::SubOrg { parent: OrgId::from_u128(1) },
    ]);
    let subtype = select([Subtype::KNOWN.as_slice(), &[Subtype::from("night porter")]].concat());
    (place, subtype).prop_map(|(place, subtype)| {
        let layer = business_layer(place, &subtype);
        let to_customers = subtype == Subtype::CustomerService;
        let guardrail_layer = if to_customers { BusinessLayer::EndCustomer } else { layer };
        BusinessPosition { business_layer: layer, guardrail_layer, subtype }
    })
}

/// Generates the built-in tools and up to four custom ones.
fn catalogues() -> impl Strategy<Value = Vec<ToolSpec>> {
    let custom = CUSTOM.map(|name| tools(ToolName::from_static(name)));
    (custom, 0..=CUSTOM.len()).prop_map(|(custom, count)| {
        built_in().into_iter().chain(custom.into_iter().take(count)).collect()
    })
}

fn tools(name: ToolName) -> impl Strategy<Value = ToolSpec> {
    use ToolGroup::{Agency, Crm, CrossLayer, Custom, Orders, Outreach, PlatformAdmin, Team, Web};
    let group =
        select(vec![Agency, Crm, CrossLayer, Custom, Orders, Outreach, PlatformAdmin, Team, Web]);
    let category = select(vec![
        ToolCategory::Read,
        ToolCategory::Edit,
        ToolCategory::Execute,
        ToolCategory::Mcp,
        ToolCategory::Other,
    ]);
    let risk = select(vec![Risk::Read, Risk::Write, Risk::Destructive]);
    let role = select(vec![ToolRole::Ordinary, ToolRole::Control]);
    let services = subsequence(SERVICES.to_vec(), 0..=2);
    let capability = prop::option::weighted(0.3, select(MATRIX.map(|(row, _)| row).to_vec()));
    (group, category, risk, role, services, capability, audiences(), 0..5u64).prop_map(
        move |(group, category, risk, role, services, capability, audience, price)| ToolSpec {
            name: name.clone(),
            group,
            category,
            risk,
            reach: Reach::External,
            role,
            output: Trust::Untrusted,
            integrations: services.into_iter().map(Integration::new).collect(),
            capability,
            audience,
            url_argument: None,
            units: None,
            price: Credits::new(price),
        },
    )
}
