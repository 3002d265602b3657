//! Agents write to contacts through the outbox, as far as their business layer allows.

use ostler_channels::email_thread::EmailThread;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::gate::GateDecision;
use ostler_domain::id::{BindingId, ContactId, OrgId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::key::Peer;
use ostler_runtime::operations::explain::fresh_scope;
use ostler_runtime::operations::{Actor, OrgSection};
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_store::DecisionState;
use ostler_testkit as testkit;
use serde_json::json;

use super::administration::script;
use super::tree::{AGENCY, LUCA, MARA, PLATFORM, QUINN, Tree};
use crate::fake_server::Reply;
use crate::support::{
    ConnectedOrg, GIA, ORG, SMS, Scenario, delivery_options, lenient_settings, text_of,
};

/// The most records of a bulk operation at layer 3.
const LIMIT: u128 = 100;

/// Returns a script with the three tools.
fn sends() -> String {
    let mail = |to: &str| json!({"to": to, "subject": "Your table", "text": "It is **ready**."});
    let bulk = |tag: &str, limit: u32| json!({"tag": tag, "limit": limit, "subject": "News", "text": "A new menu."});
    let listed = json!({"to": ["ada@example.org", "c0@example.org", "c1@example.org"],
        "subject": "News", "text": "A new menu."});
    let unlimited = json!({"tag": "all", "subject": "News", "text": "A new menu."});
    script(&[
        ("mail-ada", "send_email", mail("Ada@example.org")),
        ("mail-stranger", "send_email", mail("eve@elsewhere.example")),
        ("mail-nobody", "send_email", json!({"to": "bo@example.org", "subject": "x", "text": ""})),
        ("text-ada", "send_sms", json!({"to": "+39 06 1", "text": "Your table is ready."})),
        ("bulk-many", "send_bulk_email", bulk("many", 120)),
        ("bulk-all", "send_bulk_email", bulk("all", 120)),
        ("bulk-three", "send_bulk_email", listed),
        ("bulk-unlimited", "send_bulk_email", unlimited),
        ("bulk-thousand", "send_bulk_email", bulk("many", 1000)),
        ("bulk-none", "send_bulk_email", json!({"subject": "News", "text": "x"})),
    ])
}

/// Gives an org channels, Ada, and 101 contacts, of whom one lacks the tag `many`.
async fn prepare(tree: &Tree, at: OrgId, answering: ostler_domain::id::AgentId) {
    let org = tree.scenario.store.org(at);
    for (n, channel) in [(1, Channel::Email), (2, Channel::Sms)] {
        let id = BindingId::from_u128((at.as_u128() << 16) + n);
        testkit::bind_channel(&org, id, channel, answering).await;
    }
    let contact = |n: u128, name: &str, phone: Option<&str>, tags: &[&str]| Contact {
        id: ContactId::from_u128((at.as_u128() << 16) + n),
        name: name.to_owned(),
        details: ContactDetails {
            phone: phone.map(str::to_owned),
            email: Some(format!("{}@example.org", name.to_lowercase())),
        },
        locale: None,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        notes: Vec::new(),
        crm: None,
    };
    org.create_contact(contact(1, "Ada", Some("+39061"), &["all"])).await.unwrap();
    for n in 0..LIMIT {
        let name = format!("c{n}");
        org.create_contact(contact(10 + n, &name, None, &["all", "many"])).await.unwrap();
    }
    testkit::grant_credits(&org, "mails", 1000).await;
    let budget = json!({"session_budget": {"cap": 1500, "warning": 1400}});
    let operations = tree.scenario.operations();
    let operations = operations.as_actor(Actor::Terminal, at);
    operations.change_settings(OrgSection::Settings, &budget).await.unwrap();
}

fn to<'m>(sent: &'m [OutgoingMessage], address: &str) -> Vec<&'m OutgoingMessage> {
    let peer = Peer::Person(address.to_owned());
    sent.iter().filter(|one| one.to == peer).collect()
}

/// Returns how many messages are mails to contacts.
fn mails(sent: &[OutgoingMessage]) -> usize {
    sent.iter().filter(|one| one.thread.is_some()).count()
}

/// L42, L43: layers 1, 2 and 3 write to a contact by e-mail and text message; layer 3 writes to at
/// most 100 contacts at once; only contacts of the org are written to.
#[tokio::test]
async fn l42_l43_agents_write_to_contacts_within_the_limits_of_their_layer() {
    let tree = Tree::new(&sends()).await;
    for (at, agent) in [(PLATFORM, QUINN), (AGENCY, MARA), (ORG, LUCA)] {
        prepare(&tree, at, agent).await;
        let say = async |name: &str| {
            let peer = Peer::Person(format!("boss-of-{}", at.as_u128()));
            tree.owner_sends(at, &format!("do {name}")).await;
            tree.scenario.work().await;
            let sent = tree.scenario.deliver().await;
            let said = sent.iter().filter(|one| one.to == peer).map(text_of).collect::<Vec<_>>();
            (said.join("\n"), sent)
        };
        let (said, sent) = say("mail-ada").await;
        assert_eq!(said, "The message to Ada is on its way.");
        let mail = to(&sent, "ada@example.org");
        assert_eq!(text_of(mail[0]), "It is **ready**.");
        assert_eq!(mail[0].thread, Some(EmailThread::new("Your table")));
        assert_eq!(mail[0].agent, Some(agent));
        let (_, sent) = say("text-ada").await;
        assert_eq!(text_of(to(&sent, "+39061")[0]), "Your table is ready.");
        for (name, why) in [
            ("mail-stranger", "contacts of your organization only"),
            ("mail-nobody", "the message is empty"),
            ("bulk-none", "either the contacts"),
        ] {
            let (said, sent) = say(name).await;
            assert!(said.contains(why) && sent.len() == 1, "{name}: {said}");
        }
        let (said, sent) = say("bulk-many").await;
        assert_eq!((said.as_str(), mails(&sent)), ("100 e-mails are on their way.", 100));
        let (said, sent) = say("bulk-all").await;
        match at {
            ORG => {
                assert!(said.contains("up to 100 records") && mails(&sent) == 0, "{said}");
            }
            _ => assert_eq!((said.as_str(), mails(&sent)), ("101 e-mails are on their way.", 101)),
        }
        assert!(tree.audit(at).await.contains(&"send_message".to_owned()));
    }
    tree.scenario.say("rosa", "hello").await;
    let offered = tree.offered_to("Gia");
    assert!(!offered.iter().any(|one| one.starts_with("send_")), "{offered:?}");
}

/// E01: a bulk e-mail costs 2 credits for each mail that is sent, whatever was held for it; one that
/// could cost more than is left is not sent, nor one to more contacts than it names.
#[tokio::test]
async fn e01_a_bulk_email_costs_by_the_recipient() {
    let tree = Tree::new(&sends()).await;
    prepare(&tree, AGENCY, MARA).await;
    let store = tree.scenario.store.org(AGENCY);
    let cost_of = async |name: &str| {
        let left = async || store.credit_account().await.unwrap().available().unwrap().get();
        let before = left().await;
        tree.owner_sends(AGENCY, &format!("do {name}")).await;
        tree.scenario.work().await;
        let sent = mails(&tree.scenario.deliver().await);
        (before - left().await, sent)
    };
    let (model, _) = cost_of("nothing").await;
    assert_eq!(cost_of("bulk-three").await, (model + 6, 3));
    assert_eq!(cost_of("bulk-many").await, (model + 200, 100), "120 were held");
    assert_eq!(cost_of("bulk-unlimited").await, (model + 2, 0), "101 have the tag");
    assert_eq!(cost_of("bulk-thousand").await, (model, 0), "the cap of the session is lower");
}

/// L42, L43: a supervised agent's e-mail waits for a person, and is sent once it is approved.
#[tokio::test]
async fn l43_an_email_of_a_supervised_agent_waits_for_approval() {
    let tree = Tree::new(&sends()).await;
    prepare(&tree, ORG, GIA).await;
    tree.scenario.change_agent(LUCA, |one| one.autonomy = AutonomyLevel::Supervised).await;
    tree.owner_sends(ORG, "do mail-ada").await;
    tree.scenario.work().await;
    assert!(to(&tree.scenario.deliver().await, "ada@example.org").is_empty(), "not yet");
    let operations = tree.scenario.operations();
    let bella = operations.as_actor(Actor::Terminal, ORG);
    let waiting = bella.approvals(DecisionState::Pending, None, 9).await.unwrap();
    bella.approve(waiting[0].approval.id).await.unwrap();
    tree.scenario.work().await;
    assert_eq!(to(&tree.scenario.deliver().await, "ada@example.org").len(), 1, "once");
}

/// L11, L43: a coordinator has no tool to write to a contact, and a message of an agent that has
/// become one is not delivered; the owner is told.
#[tokio::test]
async fn l11_a_coordinators_message_is_refused_at_the_gate_and_at_delivery() {
    let tree = Tree::new(&sends()).await;
    tree.add_coordinator(ORG).await;
    let (store, tools) = (&tree.scenario.store, tree.scenario.worker.deps().tools.clone());
    let cora = fresh_scope(store, &tools, ORG, "cora").await.unwrap().unwrap();
    for tool in ["send_email", "send_sms", "send_bulk_email"] {
        assert!(matches!(cora.verdict(tool), GateDecision::Deny(_)), "the gate, {tool}");
    }

    let scenario = Scenario::new("default: I see.").await;
    scenario.save_settings(&lenient_settings()).await;
    let org = ConnectedOrg::of(scenario, delivery_options());
    let gateway = org.sms([Reply::json(200, &json!({}))]).await;
    let hello = json!({"type": "message", "from": {"id": "+39061"}, "text": "hello"});
    org.receive_webhook(SMS, "msg_1", &hello).await;
    org.scenario.work().await;
    org.scenario.change_agent(GIA, |gia| gia.subtype = Subtype::Coordinator).await;
    org.deliver().await;
    assert!(gateway.seen().is_empty(), "delivery");
    let told = org.scenario.org().unread_notices(NoticeRecipient::Owner, None, 9).await.unwrap();
    let dead = told.iter().find(|one| one.notice.kind == NoticeKind::DeadLetter);
    assert!(dead.is_some_and(|one| one.notice.data.contains("coordinator")), "{told:?}");
    org.scenario.change_agent(GIA, |gia| gia.subtype = Subtype::CustomerService).await;
    for _ in 0..100 {
        org.delivery.sweep().await.unwrap();
        org.deliver().await;
        if !gateway.seen().is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the dead letter is retried");
}
