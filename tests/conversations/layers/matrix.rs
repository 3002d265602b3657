//! The guardrail matrix: every capability is tried from every layer on every org, through the
//! tools of agents and as operations, and the effects are compared with the table.

use std::fmt::Write as _;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::hierarchy::delegation::OrgDelegation;
use ostler_domain::hierarchy::issue::Issue;
use ostler_domain::id::{AgentId, BindingId, ContactId, OrgId};
use ostler_domain::org::Relation::{self, Child, Own, Parent, Unrelated};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_runtime::operations::{Actor, NewClient, OrgSection};
use ostler_runtime::org_view::{SETTINGS, settings_record};
use ostler_testkit as testkit;
use serde_json::{Value, json};

use super::administration::script;
use super::tree::{AGENCY, LUCA, MARA, OTTO, PLATFORM, QUINN, STRANGER, Tree};
use crate::support::{GIA, ORG, TestHost, agent};

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capability {
    CreateSubOrg,
    DeployBot,
    ManageSettings,
    ReadFigures,
    ModifyAgent,
    EvolveSoul,
    /// Takes the contacts out.
    Export,
    /// Writes to a contact who is not in the conversation.
    WriteToContact,
    /// Sends an issue to the PM above.
    EscalateUp,
    /// Gives work to a PM below.
    DelegateDown,
}

use Capability::{
    CreateSubOrg, DelegateDown, DeployBot, EscalateUp, EvolveSoul, Export, ManageSettings,
    ModifyAgent, ReadFigures, WriteToContact,
};

const CAPABILITIES: [Capability; 10] = [
    CreateSubOrg,
    DeployBot,
    ManageSettings,
    ReadFigures,
    ModifyAgent,
    EvolveSoul,
    Export,
    WriteToContact,
    EscalateUp,
    DelegateDown,
];

/// An agent of the platform that is no system agent.
const PIA: AgentId = AgentId::from_u128(0xf1a00);

/// The actors, one of each layer, with the org that each belongs to.
const ACTORS: [(u8, AgentId, OrgId); 4] =
    [(1, QUINN, PLATFORM), (2, MARA, AGENCY), (3, LUCA, ORG), (4, GIA, ORG)];

/// The orgs: a platform, an agency, its client, and an agency that has nothing to do with them.
const ORGS: [(OrgId, &str, AgentId); 4] = [
    (PLATFORM, "platform", PIA),
    (AGENCY, "harbour", MARA),
    (ORG, "bella", LUCA),
    (STRANGER, "stranger", OTTO),
];

fn relation(home: OrgId, target: OrgId) -> Relation {
    match (home, target) {
        (home, target) if home == target => Own,
        (AGENCY, ORG) => Child,
        (ORG, AGENCY) => Parent,
        _ => Unrelated,
    }
}

/// Returns whether the table allows it. Its cells, from layer 1 to 4:
///
/// | capability | 1 | 2 | 3 | 4 |
/// |---|---|---|---|---|
/// | create sub-orgs | yes | yes | no | no |
/// | deploy bots | yes | yes | no | no |
/// | manage org settings | yes | own org | own sub-org | no |
/// | access parent data | - | - | no | no |
/// | access child data | yes | yes (query) | - | - |
/// | soul evolution | yes | propose | propose | no |
/// | modify agents | yes | own agents | own agents | no |
/// | data export | yes | yes | yes | no |
/// | send external messages | yes | yes | yes | yes: by answering |
/// | escalate up | - | to 1 | to 2 | to 3 |
/// | delegate down | by people | to 3 | to agents of its own | - |
///
/// Contacts are exported from and written to in the own org only, at every layer.
fn allowed(capability: Capability, layer: u8, org: Relation, target: OrgId) -> bool {
    match (capability, layer) {
        (EscalateUp, 2) => target == PLATFORM,
        (EscalateUp, 3) => org == Parent,
        (EscalateUp, 4) => org == Own,
        (DelegateDown, 2) => org == Child,
        (EscalateUp | DelegateDown, _) | (_, 4) => false,
        (Export | WriteToContact, _) => org == Own,
        // There is one level of sub-orgs, below agencies.
        (CreateSubOrg, 1) => matches!(target, AGENCY | STRANGER),
        (CreateSubOrg, 2) => org == Own,
        (DeployBot, 2) | (ReadFigures, 2) => matches!(org, Own | Child),
        (CreateSubOrg | DeployBot | ReadFigures, 3) => false,
        (_, 1) => true,
        (ManageSettings | ModifyAgent | EvolveSoul, _) => org == Own,
        (CreateSubOrg | DeployBot | ReadFigures, _) => false,
    }
}

/// Returns the call that tries a capability on an org; `number` makes its effect unique.
fn call(capability: Capability, layer: u8, slug: &str, number: usize) -> (&'static str, Value) {
    let agent = ORGS.iter().find(|(_, one, _)| *one == slug).map(|(_, _, agent)| *agent);
    let agent = agent.map(|agent| agent.to_string()).unwrap_or_default();
    match capability {
        CreateSubOrg => (
            "create_client_org",
            json!({"slug": format!("new-{number}"), "name": "New", "agency": slug}),
        ),
        DeployBot => (
            "deploy_telegram_bot",
            json!({"clientSlug": slug, "token": format!("env:BOT_{number}")}),
        ),
        ManageSettings => (
            "update_org_settings",
            json!({"organization": slug, "changes": {"team": {"max_handoffs": number}}}),
        ),
        ReadFigures => ("get_client_org_stats", json!({"clientSlug": slug})),
        ModifyAgent => (
            "update_agent",
            json!({"organization": slug, "agent": agent,
                "changes": {"knowledge_tags": [format!("tag-{number}")]}}),
        ),
        Export => ("export_contacts", json!({})),
        WriteToContact => (
            "send_email",
            json!({"to": contact_id(slug), "subject": "News", "text": "A new menu."}),
        ),
        EscalateUp => {
            ("escalate_to_parent", json!({"summary": format!("Issue {number}"), "severity": "low"}))
        }
        DelegateDown => (
            "delegate_to_child",
            json!({"clientSlug": slug, "instruction": format!("Work {number}")}),
        ),
        EvolveSoul => {
            // Only the platform's agent names agents of other orgs.
            let elsewhere = match (layer, slug) {
                (1, "harbour") => Some("harbour/mara"),
                (1, "bella") => Some("bella/luca"),
                (1, "stranger") => Some("stranger/otto"),
                _ => None,
            };
            let changes = json!({"personality": format!("Bold {number}")});
            let agent = elsewhere.map_or(agent, str::to_owned);
            (
                "propose_soul_update",
                json!({"agent": agent, "reason": "it helps", "changes": changes}),
            )
        }
    }
}

/// Returns the id of the contact of an org.
fn contact_id(slug: &str) -> ContactId {
    let number = ORGS.iter().position(|(_, one, _)| *one == slug).expect("an org");
    ContactId::from_u128(0xc0 + number as u128)
}

/// Returns everything that a call could have changed in an org, as text.
async fn state(tree: &Tree, org: OrgId) -> String {
    let store = tree.scenario.store.org(org);
    let mut text = String::new();
    let settings = store.record(SETTINGS, settings_record(org)).await.unwrap();
    let _ = write!(text, "{}", settings.data);
    for bound in store.bindings(None, 1000).await.unwrap() {
        let _ = write!(text, "{bound:?}");
    }
    for config in store.agent_configs().await.unwrap() {
        let _ = write!(text, "{config:?}");
    }
    for (_, issue) in tree.records::<Issue>(org, "escalation").await {
        // The sender keeps a copy.
        let _ = if issue.target.org == org { write!(text, "{issue:?}") } else { Ok(()) };
    }
    for (_, work) in tree.records::<OrgDelegation>(org, "delegation").await {
        let _ = if work.target == org { write!(text, "{work:?}") } else { Ok(()) };
    }
    let clients = tree.scenario.store.orgs().await.unwrap();
    let _ = write!(text, "{:?}", clients.iter().filter(|one| one.parent() == Some(org)).count());
    text
}

/// Lets agencies have any number of clients, and gives the platform a second agent.
async fn prepare(tree: &Tree) {
    tree.save_agent(PLATFORM, agent(PIA, "pia", Subtype::SalesAssistant)).await;
    for at in [AGENCY, STRANGER] {
        let org = tree.scenario.store.org(at).org().await.unwrap();
        let org = Org { plan: LicencePlan::Enterprise, ..org };
        tree.scenario.store.org(at).update_org(org).await.unwrap();
    }
    let semi = AutonomyLevel::SemiAutonomous;
    tree.scenario.change_agent(GIA, |gia| gia.autonomy = semi).await;
    for (at, slug, agent) in ORGS {
        let org = tree.scenario.store.org(at);
        let mail = BindingId::from_u128((at.as_u128() << 16) + 1);
        testkit::bind_channel(&org, mail, Channel::Email, agent).await;
        let contact = Contact {
            id: contact_id(slug),
            name: format!("Contact of {slug}"),
            details: ContactDetails { phone: None, email: Some(format!("{slug}@example.org")) },
            locale: None,
            tags: Default::default(),
            notes: Vec::new(),
            crm: None,
        };
        org.create_contact(contact).await.unwrap();
    }
}

/// B14-B19, B22, H09, H11, L37-L41, L43-L45: every capability × layer × org through the tools.
#[tokio::test]
async fn l37_l38_l39_l40_l41_l44_h09_h11_the_matrix_holds_through_tools() {
    for capability in CAPABILITIES {
        try_everywhere(capability).await;
    }
}

async fn try_everywhere(capability: Capability) {
    let mut calls = Vec::new();
    for (layer, _, _) in ACTORS {
        for (_, slug, _) in ORGS {
            let (tool, arguments) = call(capability, layer, slug, calls.len() + 50);
            calls.push((format!("case-{layer}-{slug}."), tool, arguments));
        }
    }
    let named: Vec<(&str, &str, Value)> =
        calls.iter().map(|(name, tool, with)| (name.as_str(), *tool, with.clone())).collect();
    let tree = Tree::new(&script(&named)).await;
    prepare(&tree).await;
    for (layer, agent, home) in ACTORS {
        for (target, slug, changed) in ORGS {
            let before = state(&tree, target).await;
            let text = format!("do case-{layer}-{slug}.");
            let said = match layer {
                4 => tree.scenario.say("rosa", &text).await.join("\n"),
                _ => tree.owner_says(home, &text).await.join("\n"),
            };
            let org = relation(home, target);
            let case = format!("{capability:?} by layer {layer} in {slug} ({org:?}): {said}");
            let expected = allowed(capability, layer, org, target);
            let is_changed = state(&tree, target).await != before;
            let done = match capability {
                ReadFigures => said.contains(&format!("\"slug\":\"{slug}\"")),
                Export => said.contains(&format!("Contact of {slug}")),
                WriteToContact => {
                    said == format!("The message to Contact of {slug} is on its way.")
                }
                EvolveSoul if layer != 1 => {
                    let store = tree.scenario.store.org(target);
                    let waiting = store.proposal_activity(agent).await.unwrap().pending;
                    assert!(!is_changed, "a proposal changes nothing: {case}");
                    waiting > 0 && home == target && changed == agent
                }
                _ => is_changed,
            };
            assert_eq!(done, expected, "{case}");
            if layer == 4 {
                assert!(!said.contains("layer"), "L48, {case}");
            }
        }
    }
}

/// L42: layers 1 and 2 import more than 100 contacts in one call, layer 3 does not.
#[tokio::test]
async fn l42_the_layer_limits_how_many_contacts_are_imported() {
    let people = |count: usize| {
        let people: Vec<Value> = (0..count).map(|n| json!({"name": format!("P{n}")})).collect();
        json!({ "contacts": people })
    };
    let calls = [("few", "import_contacts", people(100)), ("many", "import_contacts", people(101))];
    let tree = Tree::new(&script(&calls)).await;
    for (layer, _, home) in ACTORS.into_iter().filter(|actor| actor.0 < 4) {
        let few = tree.owner_says(home, "do few").await.join("");
        assert!(few.contains("\"created\":100"), "layer {layer}: {few}");
        let many = tree.owner_says(home, "do many").await.join("");
        let expected = if layer == 3 { "up to 100 records" } else { "\"created\":101" };
        assert!(many.contains(expected), "layer {layer}: {many}");
    }
}

/// L37, L39, L41: people of an agency see its clients and create them, configure their own org
/// only, and reach neither the platform nor strangers; so do their keys.
#[tokio::test]
async fn l37_l39_l41_people_of_an_agency_configure_their_own_org_only() {
    let tree = Tree::new("default: I see.").await;
    prepare(&tree).await;
    let operations = tree.scenario.operations();
    for (home, role) in [(AGENCY, Role::Owner), (AGENCY, Role::Operator), (ORG, Role::Owner)] {
        let key = ostler_domain::id::KeyId::from_u128(7);
        let actor = Actor::Key { id: key, org: home, role };
        for (number, (target, slug, agent)) in ORGS.into_iter().enumerate() {
            let org = relation(home, target);
            let there = operations.as_actor(actor, target);
            let case = format!("{role} of {home} at {slug} ({org:?})");
            let configures = org == Own && role == Role::Owner;
            assert_eq!(there.stats().await.is_ok(), matches!(org, Own | Child), "{case}");
            let patch = json!({"team": {"max_handoffs": number + 2}});
            let settings = there.change_settings(OrgSection::Settings, &patch).await;
            assert_eq!(settings.is_ok(), configures, "{case}: {settings:?}");
            let tags = json!({"knowledge_tags": ["a", slug]});
            let changed = there.change_agent(&agent.to_string(), &tags).await;
            assert_eq!(changed.is_ok(), configures, "{case}: {changed:?}");
            let new = NewClient {
                slug: format!("new-{}-{number}", role.name()),
                name: "New".to_owned(),
                time_zone: "UTC".to_owned(),
                owners: Vec::new(),
                coordinator: false,
            };
            let is_agency = tree.scenario.store.org(target).org().await.unwrap().place;
            let created = there.create_client(&new, &TestHost).await;
            let may_create = configures && is_agency == OrgPlace::TopLevel;
            assert_eq!(created.is_ok(), may_create, "{case}: {created:?}");
        }
    }
}
