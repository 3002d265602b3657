//! What people do with conversations besides answering: assigning, notes, what was read,
//! searching, and what it all cost.

use ostler_domain::channel::Channel;
use ostler_domain::id::UserId;
use ostler_domain::money::Credits;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::OrgSettings;
use ostler_runtime::operations::{
    Actor, ListedSession, OperationError, OrgOperations, SessionHolder, SessionQuery,
};
use ostler_store::{PersonalDataKind, Store};

use crate::support::{GIA, ORG, OWNER, Scenario, lenient_settings, on_every_database};

const BEN: UserId = UserId::from_u128(0xbe);
const VIEWER: UserId = UserId::from_u128(0x21);

async fn bella(store: Store) -> Scenario {
    let scenario = Scenario::in_store(store, "default: 'About {{ user }}: yes.'").await;
    for (user, role) in [(OWNER, Role::Owner), (BEN, Role::Operator), (VIEWER, Role::Viewer)] {
        scenario.add_member(user, role).await;
    }
    scenario
}

async fn names(operator: OrgOperations<'_>, query: SessionQuery) -> Vec<String> {
    let (found, next) = operator.list_sessions(&query, None, 50).await.unwrap();
    assert_eq!(next, None);
    let name = |one: &ListedSession| format!("{:?}", one.session.peer);
    found.iter().map(name).map(|peer| peer.replace("Person(\"", "").replace("\")", "")).collect()
}

fn assigned() -> SessionQuery {
    SessionQuery { assigned_to_me: true, ..SessionQuery::default() }
}

fn unread() -> SessionQuery {
    SessionQuery { unread: true, ..SessionQuery::default() }
}

on_every_database!(u02_a_conversation_is_assigned_to_a_person);
/// U02: a conversation is assigned to a person who works here, who gets a notice and finds it;
/// taking it makes no notice, and the agent goes on answering.
async fn u02_a_conversation_is_assigned_to_a_person(store: Store) {
    let scenario = bella(store).await;
    scenario.say("rosa", "hello").await;
    scenario.say("otto", "hello").await;
    let (rosa, otto) = (scenario.session("rosa").await.id, scenario.session("otto").await.id);
    let operations = scenario.operations();
    let ada = operations.as_actor(Actor::User(OWNER), ORG);
    let ben = operations.as_actor(Actor::User(BEN), ORG);
    assert_eq!(ada.assign_person(rosa, &format!("{BEN}@example.org")).await.unwrap(), BEN);
    ben.assign_person(otto, "me").await.unwrap();
    assert_eq!(names(ben, assigned()).await, ["otto", "rosa"]);
    assert!(names(ada, assigned()).await.is_empty());
    let told = scenario.org().notices(NoticeRecipient::User(BEN), 9).await.unwrap();
    let told: Vec<_> = told.iter().map(|one| (one.notice.kind, &one.notice.subject)).collect();
    assert_eq!(told, [(NoticeKind::SessionAssigned, &rosa.to_string())]);
    assert_eq!(scenario.say("rosa", "and now").await, ["About and now: yes."]);

    ben.unassign_person(otto).await.unwrap();
    assert_eq!(names(ben, assigned()).await, ["rosa"]);
    let wrong = ada.assign_person(otto, &format!("{VIEWER}@example.org")).await.unwrap_err();
    assert!(matches!(wrong, OperationError::NoAssignee(_)), "viewers do not work here: {wrong}");
    let viewer = operations.as_actor(Actor::User(VIEWER), ORG);
    let refused = viewer.assign_person(otto, "me").await;
    assert!(matches!(refused, Err(OperationError::Forbidden { .. })), "{refused:?}");
    ben.close(rosa).await.unwrap();
    assert!(names(ben, assigned()).await.is_empty(), "what is closed is not on the list");
}

on_every_database!(u02_messages_are_unread_for_each_person);
/// U02: messages are unread for each person until that person reads them.
async fn u02_messages_are_unread_for_each_person(store: Store) {
    let scenario = bella(store).await;
    scenario.say("rosa", "hello").await;
    let rosa = scenario.session("rosa").await.id;
    let operations = scenario.operations();
    let ada = operations.as_actor(Actor::User(OWNER), ORG);
    let viewer = operations.as_actor(Actor::User(VIEWER), ORG);
    let count = async |who: OrgOperations<'_>| who.session_work(rosa).await.unwrap().listed.unread;
    assert_eq!((count(ada).await, count(viewer).await), (2, 2));
    viewer.mark_read(rosa, None).await.unwrap();
    ada.mark_read(rosa, Some(1)).await.unwrap();
    assert_eq!((count(ada).await, count(viewer).await), (1, 0));
    assert_eq!(names(ada, unread()).await, ["rosa"]);
    assert!(names(viewer, unread()).await.is_empty());
    scenario.say("rosa", "and now").await;
    ada.mark_read(rosa, Some(1)).await.unwrap();
    assert_eq!((count(ada).await, count(viewer).await), (3, 2), "reading again changes nothing");
    ada.close(rosa).await.unwrap();
    assert_eq!(count(ada).await, 0, "nobody has to read what is closed");
}

on_every_database!(u02_a_listed_session_has_its_last_message);
/// U02: the list has the last message of each session, without reading their threads.
async fn u02_a_listed_session_has_its_last_message(store: Store) {
    let scenario = bella(store).await;
    scenario.say("rosa", "hello").await;
    scenario.say("otto", "and you?").await;
    let operations = scenario.operations();
    let ada = operations.as_actor(Actor::User(OWNER), ORG);
    let (listed, _) = ada.list_sessions(&SessionQuery::default(), None, 9).await.unwrap();
    let mut last: Vec<String> =
        listed.iter().filter_map(|one| Some(one.last_message.as_ref()?.text().into())).collect();
    last.sort();
    assert_eq!(last, ["About and you?: yes.", "About hello: yes."]);
}

on_every_database!(u03_a_note_is_read_by_people_only_and_erased_with_the_contact);
/// U03: notes are for people only, and are erased with the contact.
async fn u03_a_note_is_read_by_people_only_and_erased_with_the_contact(store: Store) {
    let scenario = bella(store).await;
    let operations = scenario.operations();
    let ada = operations.as_actor(Actor::User(OWNER), ORG);
    let ben = operations.as_actor(Actor::User(BEN), ORG);
    scenario.say("rosa", "hello").await;
    let rosa = scenario.session("rosa").await.id;
    let first = ada.add_note(rosa, "  She is the baker's sister.  ").await.unwrap();
    let second = ben.add_note(rosa, "Called on Monday.").await.unwrap();
    let notes = ben.session_work(rosa).await.unwrap().notes;
    let notes: Vec<_> = notes.iter().map(|note| (note.id, note.author, &*note.text)).collect();
    let expected =
        [(first, OWNER, "She is the baker's sister."), (second, BEN, "Called on Monday.")];
    assert_eq!(notes, expected);
    assert_eq!(scenario.say("rosa", "and now").await, ["About and now: yes."]);
    let thread = format!("{:?}", scenario.thread("rosa").await);
    assert!(!thread.contains("baker"), "no note is a message");
    assert!(ada.delete_note(rosa, second).await.is_err(), "it is another's");
    ben.delete_note(rosa, second).await.unwrap();
    for text in [" ".to_owned(), "x".repeat(10_001)] {
        assert!(ada.add_note(rosa, &text).await.is_err());
    }
    let audit = scenario.org().audit_entries(Some(&rosa.to_string()), None, 9).await.unwrap();
    assert!(audit.iter().any(|one| one.entry.action == "add_note"));
    assert!(audit.iter().all(|one| !one.entry.data.contains("baker")), "it outlives the contact");

    let contact = scenario.session("rosa").await.contact;
    let Some(contact) = contact else { return };
    let erased = ada.delete_contact(contact).await.unwrap();
    assert_eq!(erased.get(&PersonalDataKind::Note), Some(&1));
}

/// U03: canned replies are a setting of the org, and name the customer.
#[tokio::test]
async fn u03_canned_replies_name_the_customer() {
    let scenario = Scenario::new("default: Hello.").await;
    let replies = [("wait".to_owned(), "One moment{name}.".to_owned())].into();
    scenario.save_settings(&OrgSettings { canned_replies: replies, ..lenient_settings() }).await;
    scenario.say("rosa", "hello").await;
    let rosa = scenario.session("rosa").await;
    let operations = scenario.operations();
    let found = operations.as_actor(Actor::Terminal, ORG).session_work(rosa.id).await.unwrap();
    let name = rosa.name.unwrap_or_default();
    assert_eq!(found.canned_replies, [("wait".to_owned(), format!("One moment{name}."))]);
}

on_every_database!(u02_messages_are_searched_and_conversations_filtered);
/// U02: messages are found by the beginnings of their words, in the org of the viewer only;
/// filters narrow the list.
async fn u02_messages_are_searched_and_conversations_filtered(store: Store) {
    let scenario = bella(store).await;
    scenario.say("rosa", "Where is my Café order?").await;
    scenario.say("otto", "talk to a human").await;
    let operations = scenario.operations();
    let viewer = operations.as_actor(Actor::User(VIEWER), ORG);
    let find = async |words: &str| {
        let (found, next) = viewer.search_messages(words, None, 50).await.unwrap();
        assert_eq!(next, None);
        found.iter().map(|one| one.excerpt.clone()).collect::<Vec<_>>()
    };
    let both = ["About Where is my Café order?: yes.", "Where is my Café order?"];
    assert_eq!(find("cafe ord").await, both);
    assert_eq!(find("about cafe").await, [both[0]]);
    assert!(find("rder").await.is_empty());
    assert!(viewer.search_messages(" ? ", None, 50).await.is_err());
    let (first, next) = viewer.search_messages("a", None, 1).await.unwrap();
    assert!(!first.is_empty() && next.is_some(), "the search goes on where it ended");
    let stranger = operations.as_actor(Actor::User(UserId::from_u128(0x99)), ORG);
    assert!(stranger.search_messages("cafe", None, 50).await.is_err());

    let waiting = Some(SessionHolder::Waiting);
    for (query, expected) in [
        (SessionQuery { holder: waiting, ..SessionQuery::default() }, vec!["otto"]),
        (SessionQuery { handed_off: true, ..SessionQuery::default() }, vec!["otto"]),
        (
            SessionQuery { holder: Some(SessionHolder::Agent), ..SessionQuery::default() },
            vec!["rosa"],
        ),
        (
            SessionQuery { channel: Some(Channel::Webchat), ..SessionQuery::default() },
            vec!["otto", "rosa"],
        ),
        (SessionQuery { channel: Some(Channel::Email), ..SessionQuery::default() }, vec![]),
    ] {
        assert_eq!(names(viewer, query.clone()).await, expected, "{query:?}");
    }
}

on_every_database!(u08_spend_is_reported_by_agent_model_and_day);
/// U08: what was spent is added up by agent, model and day.
async fn u08_spend_is_reported_by_agent_model_and_day(store: Store) {
    let scenario = bella(store).await;
    scenario.say("rosa", "hello").await;
    scenario.say("otto", "hello").await;
    let operations = scenario.operations();
    let viewer = operations.as_actor(Actor::User(VIEWER), ORG);
    let report = viewer.spend(7).await.unwrap();
    let spent = scenario.spent(ORG).await;
    assert!(spent > 0);
    assert_eq!(report.spend.total, Credits::new(spent));
    let only = |sums: Vec<Credits>| sums == [Credits::new(spent)];
    assert!(only(report.spend.by_agent.values().copied().collect()));
    assert_eq!(report.spend.by_agent.keys().collect::<Vec<_>>(), [&GIA]);
    assert!(only(report.spend.by_day.values().copied().collect()));
    assert!(only(report.spend.by_model.values().copied().collect()), "{report:?}");
    assert!(report.spend.by_tool.is_empty() && report.clients.is_empty());
}
