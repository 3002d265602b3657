//! The eight points by which the business layers are verified, each seen where it matters: at
//! the model, in the other org, or in the customer's chat.

use ostler_domain::agent::AgentStatus;
use ostler_domain::hierarchy::delegation::OrgDelegation;
use ostler_domain::hierarchy::issue::Issue;
use ostler_domain::org::layer::BusinessLayer;
use ostler_domain::scope::layer_rules::{LAYER_3_BLOCKED, LAYER_4_ALLOWED};
use ostler_domain::session::key::ConversationEntry;
use ostler_testkit::TestDatabase;

use super::routing::{ADAS, Chats, ROSAS};
use super::tree::{AGENCY, CORA, LUCA, MARA, PLATFORM, Tree};
use crate::support::{BOT, ECHO, GIA, ORG};

const SCRIPT: &str = "
rules:
  - when: { user: charged, agent: 'You are Gia' }
    answer:
      - call: escalate_to_parent
        with: { summary: double charge, severity: high }
      - 'I have passed it on.'
  - when: { user: pass it on }
    answer:
      - call: escalate_to_parent
        with: { summary: refund of 10 euros, severity: medium }
      - 'Passed on.'
  - when: { user: delegate }
    answer:
      - call: delegate_to_child
        with: { clientSlug: bella, instruction: put the new menu online, priority: high }
      - '{{ result }}'
default: 'About {{ user }}: yes.'
";

/// Verification 1: the prompt shows the layer that follows from the org's place and the
/// agent's role.
#[tokio::test]
async fn verification_1_layer_identification() {
    let tree = Tree::new(ECHO).await;
    tree.scenario.say("rosa", "hello").await;
    for org in [ORG, AGENCY, PLATFORM] {
        tree.owner_says(org, "hello").await;
    }
    for (name, layer) in [
        ("Quinn", "Layer 1 of 4 (Platform)"),
        ("Mara", "Layer 2 of 4 (Agency)"),
        ("Luca", "Layer 3 of 4 (Client)"),
        ("Gia", "Layer 4 of 4 (End-Customer)"),
    ] {
        let prompt = tree.prompt_of(name);
        assert!(prompt.contains(layer), "{name}: {prompt}");
    }
}

/// Verification 2: customer service has reading tools and customer actions only.
#[tokio::test]
async fn verification_2_l4_tool_restriction() {
    let tree = Tree::new(ECHO).await;
    tree.scenario.say("rosa", "hello").await;
    let offered = tree.offered_to("Gia");
    assert!(!offered.is_empty());
    for tool in &offered {
        assert!(LAYER_4_ALLOWED.iter().any(|allowed| allowed.as_str() == tool), "{tool}");
    }
}

/// Verification 3: the PM of a sub-org sees no agency tool.
#[tokio::test]
async fn verification_3_l3_tool_restriction() {
    let tree = Tree::new(ECHO).await;
    tree.owner_says(ORG, "hello").await;
    let offered = tree.offered_to("Luca");
    assert!(offered.iter().any(|tool| tool == "escalate_to_parent"), "{offered:?}");
    for tool in LAYER_3_BLOCKED {
        assert!(!offered.iter().any(|one| one == tool.as_str()), "{tool}");
        assert!(!tree.prompt_of("Luca").contains(tool.as_str()), "{tool}");
    }
}

/// Verification 4: an issue of a layer-4 agent notifies the PM of layer 3.
#[tokio::test]
async fn verification_4_escalation_flow() {
    let tree = Tree::new(SCRIPT).await;
    tree.scenario.write("rosa", "I was charged twice").await;
    tree.scenario.work().await;
    let (_, issue) = tree.records::<Issue>(ORG, "escalation").await.remove(0);
    assert_eq!((issue.source.agent, issue.target.agent), (GIA, LUCA));
    assert_eq!(issue.target.business_layer, BusinessLayer::Client);
    let heard = tree.owner_hears(ORG).await;
    assert!(heard.iter().any(|text| text.contains("double charge")), "{heard:?}");
    tree.owner_says(ORG, "hello").await;
    assert!(tree.prompt_of("Luca").contains("double charge"));
}

/// Verification 5: work of a layer-2 agent is in the next prompt of the PM of layer 3.
#[tokio::test]
async fn verification_5_delegation_flow() {
    let tree = Tree::new(SCRIPT).await;
    tree.owner_says(AGENCY, "delegate to bella").await;
    let (_, work) = tree.records::<OrgDelegation>(ORG, "delegation").await.remove(0);
    assert_eq!((work.source, work.target), (AGENCY, ORG));
    tree.owner_says(ORG, "hello").await;
    let luca = tree.prompt_of("Luca");
    assert!(luca.contains("from Mara of Harbour: put the new menu online"), "{luca}");
}

/// Verification 6: the owner of the agency who opens a deep link to a client tests its agent of
/// layer 4: the greeting says so, and the prompt too.
#[tokio::test]
async fn verification_6_testing_mode() {
    let mut chats = Chats::new(TestDatabase::sqlite_memory().migrated().await).await;
    let link = chats.at(ORG).create_deep_link(Some("gia"), 30).await.unwrap();
    let code = chats.code("ada@example.com").await;
    chats.says(BOT, ADAS, &format!("/link {code}")).await;
    let heard = chats.says(BOT, ADAS, &format!("/start {}", link.payload)).await;
    let greeting = "Welcome to testing mode for Bella Pizza. You are talking to Gia. \
                    Send /exit to leave.";
    assert_eq!(heard[0], greeting);
    assert_eq!(chats.newest(ORG).await, (Some(GIA), ConversationEntry::Testing));
    assert!(chats.last_prompt().contains("TESTING MODE"), "{}", chats.last_prompt());
    chats.says(BOT, ROSAS, &format!("/start {}", link.payload)).await;
    assert_eq!(chats.newest(ORG).await, (Some(GIA), ConversationEntry::Customer));
    assert!(!chats.last_prompt().contains("TESTING MODE"), "customers are not testers");
}

/// Verification 7: an issue crosses the boundary of the org through the coordinator, and
/// arrives at the agency's PM.
#[tokio::test]
async fn verification_7_coordinator_routing() {
    let tree = Tree::new(SCRIPT).await;
    tree.add_coordinator(AGENCY).await;
    tree.owner_says(ORG, "pass it on").await;
    let (_, issue) = tree.records::<Issue>(AGENCY, "escalation").await.remove(0);
    assert_eq!((issue.source.org, issue.target.org), (ORG, AGENCY));
    assert_eq!((issue.source.agent, issue.target.agent), (LUCA, MARA));
    assert_eq!(issue.routed_by.map(|one| (one.org, one.agent)), Some((AGENCY, CORA)));
    tree.owner_says(AGENCY, "hello").await;
    assert!(tree.prompt_of("Mara").contains("refund of 10 euros"));
}

/// Verification 8: in a sub-org without customer service the PM answers customers, with the
/// tools that customers may use only.
#[tokio::test]
async fn verification_8_backward_compatibility() {
    let tree = Tree::new(ECHO).await;
    for agent in tree.scenario.org().agents().await.unwrap() {
        if agent.id != LUCA {
            let paused = AgentStatus::Paused;
            tree.scenario.change_agent(agent.id, |one| one.status = paused).await;
        }
    }
    assert_eq!(tree.scenario.say("rosa", "hello").await.len(), 1);
    let offered = tree.offered_to("Luca");
    for staff in ["create_agent", "update_agent", "instruct_agent"] {
        assert!(!offered.iter().any(|tool| tool == staff), "{staff}: {offered:?}");
    }
    tree.owner_says(ORG, "hello").await;
    assert!(tree.prompt_of("Luca").contains("Layer 3 of 4"));
}
