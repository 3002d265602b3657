//! What is left of a test, and of a customer's conversation.

use std::collections::BTreeSet;

use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::ContactId;
use ostler_domain::money::ledger::Expense;
use ostler_domain::session::key::ConversationEntry;
use ostler_runtime::operations::{Actor, Person};
use ostler_runtime::records::run::RunOutcome;
use ostler_store::{LedgerLineKind, Store};

use super::tree::Tree;
use crate::support::{ECHO, GIA, ORG, WEBCHAT, on_every_database};

on_every_database!(l34_l35_the_spend_of_a_test_is_kept_apart);
/// L34, L35: a test is marked in the ledger and takes nothing from the limits that customers
/// have; the prompt says that it is one.
async fn l34_l35_the_spend_of_a_test_is_kept_apart(store: Store) {
    let tree = Tree::in_store(store, ECHO).await;
    let scenario = &tree.scenario;
    let limits = AgentLimits { max_messages_per_day: 1, ..AgentLimits::default() };
    scenario.change_agent(GIA, |gia| gia.limits = limits).await;
    let tester = scenario.key_on(WEBCHAT, "ada", ConversationEntry::Testing);
    scenario.send(tester, vec![ostler_domain::message::MessagePart::text("hi")], Some(GIA)).await;
    scenario.work().await;
    assert!(tree.prompt_of("Gia").contains("TESTING MODE"), "{}", tree.prompt_of("Gia"));
    scenario.say("rosa", "hello").await;
    assert!(!tree.prompt_of("Gia").contains("TESTING MODE"), "L35");
    scenario.say("rosa", "one more").await;
    let outcomes: Vec<RunOutcome> =
        scenario.runs("rosa").await.into_iter().map(|run| run.outcome).collect();
    assert!(
        matches!(outcomes[..], [RunOutcome::Answered, RunOutcome::RateLimited]),
        "{outcomes:?}"
    );
    let lines = scenario.org().ledger_lines(None, 100).await.unwrap();
    let expenses: Vec<Expense> = lines
        .into_iter()
        .rev()
        .filter_map(|line| match line.kind {
            LedgerLineKind::Expense(entry) => Some(entry.expense),
            LedgerLineKind::Grant(_) => None,
        })
        .collect();
    let calls = Expense::ModelCalls("scripted".into());
    assert_eq!(expenses, [calls.clone().in_test(), calls]);
}

on_every_database!(l53_conversations_are_on_the_contacts_record);
/// L53: a conversation with customer service is on the contact's record without a tool call; a
/// test is not.
async fn l53_conversations_are_on_the_contacts_record(store: Store) {
    let tree = Tree::in_store(store, ECHO).await;
    let scenario = &tree.scenario;
    let rosa = Contact {
        id: ContactId::from_u128(5),
        name: "Rosa".into(),
        details: ContactDetails { email: Some("rosa@example.com".into()), phone: None },
        locale: None,
        tags: BTreeSet::new(),
        notes: Vec::new(),
        crm: None,
    };
    scenario.org().create_contact(rosa).await.unwrap();
    scenario.say("rosa@example.com", "a table for two").await;
    scenario.say("tom@example.com", "for three").await;
    let testing = scenario.key_on(WEBCHAT, "rosa@example.com", ConversationEntry::Testing);
    scenario.say_in(&testing, "only a test").await;
    let operations = scenario.operations();
    let bella = operations.as_actor(Actor::Terminal, ORG);
    let stats = bella.stats().await.unwrap();
    assert_eq!((stats.sessions, stats.with_people), (2, 0), "L35: the test is not counted");
    let stored = scenario.org().contact(ContactId::from_u128(5)).await.unwrap();
    let interactions = bella.interactions(&Person::Contact(stored)).await.unwrap();
    let newest = scenario.session("rosa@example.com").await;
    assert_eq!(interactions.len(), 1, "{newest:?}");
    assert_eq!(interactions[0].entry, ConversationEntry::Customer);
    assert_eq!((interactions[0].agent, interactions[0].messages), (Some(GIA), 2));
}
