//! Export and deletion of a contact's personal data.

pub(crate) mod people;

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::id::{AuditId, ContactId, OrgId, RecordId, RunId};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::session::key::Peer;
use ostler_store::{
    ClaimPolicy, ContactResolution, ExportedItem, NewGrant, PersonalDataCounts, PersonalDataKind,
    PruneMode, PruneOptions, ReleaseReason, Store, StoreError,
};

use crate::on_every_backend;
use crate::support::{POLICY, TestDatabase, claim, next, turn, with_org};
use people::{accept, contact, contact_with_data, converse, file, message_from, person};

const PHONE: &str = "+39 06 771234";

async fn export(store: &Store, org: OrgId, contact: ContactId) -> Vec<ExportedItem> {
    let mut export = store.org(org).export_contact(contact);
    let mut all = Vec::new();
    while let Some(page) = export.next_page().await.unwrap() {
        all.extend(page);
    }
    all
}

async fn delete(
    store: &Store,
    org: OrgId,
    contact: ContactId,
) -> Result<PersonalDataCounts, StoreError> {
    store.org(org).erase_contact(contact, AuditActor::System, AuditId::from_u128(next())).await
}

/// Returns a text with `[deleted]` for every `[deleted …]`.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split("[deleted ");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_number, rest) = part.split_once(']').expect("it ends");
        result.push_str("[deleted]");
        result.push_str(rest);
    }
    result
}

on_every_backend!(
    /// S09: what stands instead differs, because references of grants have to.
    s09_two_deleted_contacts_may_be_named_in_unique_columns
);
async fn s09_two_deleted_contacts_may_be_named_in_unique_columns(store: &Store) {
    let org = people::org(store, 1).await;
    let account = store.org(org.id);
    for (name, phone) in [("xyzzy", PHONE), ("plugh", "+39 06 885544")] {
        let one = contact(name, phone);
        account.create_contact(one.clone()).await.unwrap();
        let (reference, amount) = (format!("gift for {phone}"), Credits::new(1));
        let grant = NewGrant { reference, pool: PoolKind::Purchased, amount };
        account.grant_credits(grant).await.unwrap();
        delete(store, org.id, one.id).await.unwrap();
    }
    let lines = account.ledger_lines(None, 10).await.unwrap();
    let references = lines.iter().filter_map(|line| line.reference.as_deref());
    let replaced = references.filter(|text| without_numbers(text) == "gift for [deleted]");
    assert_eq!(replaced.count(), 2);
}

/// What is stored for [`contact_with_data`].
fn everything() -> PersonalDataCounts {
    [
        (PersonalDataKind::Contact, 1),
        (PersonalDataKind::Conversation, 3),
        (PersonalDataKind::Inbound, 3),
        (PersonalDataKind::Outbound, 2),
        (PersonalDataKind::Checkpoint, 1),
        (PersonalDataKind::Call, 3),
        (PersonalDataKind::Session, 2),
        (PersonalDataKind::Message, 4),
        (PersonalDataKind::Note, 2),
        (PersonalDataKind::Run, 2),
        (PersonalDataKind::Approval, 2),
        (PersonalDataKind::Event, 2),
        (PersonalDataKind::Notice, 5),
        (PersonalDataKind::File, 1),
        (PersonalDataKind::Record, 1),
        (PersonalDataKind::Workflow, 1),
    ]
    .into()
}

on_every_backend!(the_export_contains_all_data_of_a_contact_and_nothing_else);
async fn the_export_contains_all_data_of_a_contact_and_nothing_else(store: &Store) {
    let org = people::org(store, 1).await;
    let rosa = contact_with_data(store, &org, "xyzzy", PHONE).await;
    let otto = contact_with_data(store, &org, "plugh", "+39 06 1").await;
    // Peers that resemble her identifiers but belong to other people.
    let words = || "{\"text\":\"plugh\"}".to_owned();
    converse(store, message_from(org.id, org.telegram, person("XYZZY_1"), words()), "plugh").await;
    converse(store, message_from(org.id, org.telegram, person("+3906771234"), words()), "plugh")
        .await;
    let group = Peer::Group("xyzzy_1".into());
    converse(store, message_from(org.id, org.telegram, group, words()), "xyzzy").await;

    let of_rosa = export(store, org.id, rosa).await;
    let count = store.org(org.id).export_contact(rosa).count().await.unwrap();
    assert_eq!(count, everything());
    assert_eq!(of_rosa.len() as u64, count.values().sum::<u64>());
    let text = serde_json::to_string(&of_rosa).unwrap();
    assert!(!text.contains("plugh"), "{text}");
    for exported in &of_rosa {
        let word = exported.value.to_string().to_lowercase();
        let known = word.contains("xyzzy") || word.contains("771234") || word.contains("reply");
        assert!(known, "{exported:?}");
    }
    let first = &of_rosa[0];
    assert_eq!(first.kind, PersonalDataKind::Contact);
    assert_eq!(first.value["group_conversations_left_out"], 1);
    assert_eq!(first.value["contact"]["details"]["phone"], PHONE);
    assert_eq!(first.value["identifiers"][0]["identifier"], "xyzzy_1");
    let blob = of_rosa.iter().find(|exported| exported.kind == PersonalDataKind::File).unwrap();
    let id = blob.value["blob"].as_str().unwrap().parse().unwrap();
    assert_eq!(store.org(org.id).blob(id).await.unwrap().bytes, b"bytes xyzzy");
    assert_eq!(store.org(org.id).export_contact(otto).count().await.unwrap(), everything());
}

/// Answered messages whose run is not recorded.
#[tokio::test(flavor = "multi_thread")]
async fn answered_messages_without_a_run_are_exported_and_deleted() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = people::org(&store, 1).await;
        let rosa = contact_with_data(&store, &org, "xyzzy", PHONE).await;
        backend.execute("UPDATE inbox SET run = NULL").await;
        let count = store.org(org.id).export_contact(rosa).count().await.unwrap();
        assert_eq!(count, everything());
        assert_eq!(delete(&store, org.id, rosa).await.unwrap(), everything());
        assert_eq!(backend.count("inbox").await, 0);
    }
}

on_every_backend!(
    /// A05: a contact of another org is neither exported nor deleted.
    a05_a_contact_of_another_org_is_not_found
);
async fn a05_a_contact_of_another_org_is_not_found(store: &Store) {
    let here = people::org(store, 1).await;
    let there = with_org(store, 2).await;
    let rosa = contact_with_data(store, &here, "xyzzy", PHONE).await;
    let before = export(store, here.id, rosa).await;
    let read = store.org(there).export_contact(rosa).next_page().await;
    assert!(matches!(read, Err(StoreError::NotFound("contact"))), "{read:?}");
    let deleted = delete(store, there, rosa).await;
    assert!(matches!(deleted, Err(StoreError::NotFound("contact"))), "{deleted:?}");
    assert_eq!(export(store, here.id, rosa).await, before);
}

on_every_backend!(deleting_a_contact_leaves_other_contacts_unchanged);
async fn deleting_a_contact_leaves_other_contacts_unchanged(store: &Store) {
    let org = people::org(store, 1).await;
    let rosa = contact_with_data(store, &org, "xyzzy", PHONE).await;
    let otto = contact_with_data(store, &org, "plugh", "+39 06 1").await;
    let (of_otto, account) = (export(store, org.id, otto).await, store.org(org.id));
    let five = NewGrant {
        reference: "a grant".into(),
        pool: PoolKind::Purchased,
        amount: Credits::new(5),
    };
    account.grant_credits(five).await.unwrap();
    let lines = account.ledger_lines(None, 10).await.unwrap();
    assert_eq!(delete(store, org.id, rosa).await.unwrap(), everything());
    assert_eq!(delete(store, org.id, rosa).await.unwrap(), [].into(), "a repeat");
    assert!(matches!(store.org(org.id).contact(rosa).await, Err(StoreError::NotFound(_))));
    assert_eq!(export(store, org.id, otto).await, of_otto);
    assert_eq!(account.ledger_lines(None, 10).await.unwrap(), lines);
    assert!(claim(store).await.is_none(), "what waited was hers");
    let log = store.org(org.id).audit_entries(Some(&rosa.to_string()), None, 10).await.unwrap();
    let log: Vec<_> =
        log.iter().map(|l| (l.entry.action.as_str(), l.entry.data.as_str())).collect();
    assert_eq!(log, [("contact_deleted", "{}"), ("looked_at", "{}")]);
    // The next message from this person creates a new contact.
    let found = store.org(org.id).recognize(&Channel::Telegram, "xyzzy_1").await.unwrap();
    assert_eq!(found, None);
    let new = contact("xyzzy", PHONE);
    let again = store.org(org.id).recognize_or_create(&Channel::Telegram, "xyzzy_1", new).await;
    let Ok(ContactResolution::Created(new)) = again else { panic!("{again:?}") };
    converse(store, message_from(org.id, org.telegram, person("xyzzy_1"), "{}".into()), "new")
        .await;
    let count = store.org(org.id).export_contact(new.contact.id).count().await.unwrap();
    assert_eq!(count[&PersonalDataKind::Inbound], 1, "and has no past");
}

/// S09: no column of any table contains data of a deleted contact.
#[tokio::test(flavor = "multi_thread")]
async fn no_table_contains_data_of_a_deleted_contact() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = people::org(&store, 1).await;
        let rosa = contact_with_data(&store, &org, "xyzzy", PHONE).await;
        contact_with_data(&store, &org, "plugh", "+39 06 1").await;
        let others = backend.columns_with("plugh").await;
        let before = backend.columns_with("xyzzy").await;
        assert_eq!(before, others);
        let tables: BTreeSet<&str> =
            before.iter().filter_map(|column| column.split('.').next()).collect();
        let expected = [
            "audit",
            "blobs",
            "checkpoints",
            "contact_identifiers",
            "contacts",
            "conversation_peers",
            "conversations",
            "decisions",
            "events",
            "inbox",
            "journal",
            "messages",
            "notices",
            "outbox",
            "records",
            "runs",
            "session_notes",
            "sessions",
            "workflow_events",
            "workflows",
        ];
        assert_eq!(tables, expected.into(), "the search finds what there is");
        delete(&store, org.id, rosa).await.unwrap();
        assert_eq!(backend.columns_with("xyzzy").await, [].into());
        assert_eq!(backend.columns_with("771234").await, [].into());
        assert_eq!(backend.columns_with("plugh").await, others);
    }
}

on_every_backend!(a_contact_with_a_running_turn_is_not_deleted);
async fn a_contact_with_a_running_turn_is_not_deleted(store: &Store) {
    let org = people::org(store, 1).await;
    let rosa = contact_with_data(store, &org, "xyzzy", PHONE).await;
    let message = || message_from(org.id, org.telegram, person("xyzzy_1"), "{}".into());
    accept(store, message()).await;
    let claimed = claim(store).await.unwrap();
    let refused = delete(store, org.id, rosa).await;
    assert!(matches!(refused, Err(StoreError::ConversationBusy)), "{refused:?}");
    store.org(org.id).contact(rosa).await.expect("she is still there");
    store.commit_turn(&turn(&claimed)).await.expect("the turn is not disturbed");

    // A worker with an expired lease is refused.
    accept(store, message()).await;
    let short = ClaimPolicy { lease: Duration::from_millis(1), ..POLICY };
    let late = store.claim_conversation(short).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    delete(store, org.id, rosa).await.unwrap();
    for commit in [turn(&late), turn(&claimed)] {
        let run = RunId::from_u128(next());
        let commit = ostler_store::TurnCommit {
            run: ostler_store::NewRun { id: run, ..commit.run },
            ..commit
        };
        let refused = store.commit_turn(&commit).await;
        assert!(matches!(refused, Err(StoreError::StaleLease)), "{refused:?}");
    }
    let released = store.release_lease(late.lease, ReleaseReason::Untried).await;
    assert!(matches!(released, Err(StoreError::StaleLease)), "{released:?}");
}

/// However often it is interrupted, the deletion finishes, and no message that
/// arrives meanwhile is lost.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_deletion_is_finished_by_a_repeat() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = people::org(&store, 1).await;
        let rosa = contact_with_data(&store, &org, "xyzzy", PHONE).await;
        store.org(org.id).link_identifier(rosa, &Channel::Telegram, "nine").await.unwrap();
        let words = |text: String| {
            message_from(org.id, org.telegram, person("nine"), format!("{{\"text\":\"{text}\"}}"))
        };
        for number in 0..600 {
            accept(&store, words(format!("xyzzy {number}"))).await;
            if number % 40 == 0 {
                let claimed = claim(&store).await.unwrap();
                store.commit_turn(&people::turn_with(&claimed, "xyzzy")).await.unwrap();
            }
        }
        let (mut stopped, mut sent) = (0, 0);
        let time = |stopped: u64| Duration::from_millis(4 + 3 * stopped);
        while tokio::time::timeout(time(stopped), delete(&store, org.id, rosa)).await.is_err() {
            stopped += 1;
            if store.org(org.id).contact(rosa).await.is_err() {
                accept(&store, words(format!("plugh {sent}"))).await;
                sent += 1;
            }
        }
        assert!(sent > 0, "it takes longer, {stopped}");
        assert_eq!(backend.columns_with("xyzzy").await, [].into());
        let told = backend.count("audit WHERE action = 'contact_deleted'").await;
        assert_eq!(told, 1, "it is told once");
        assert_eq!(claim(&store).await.unwrap().messages.len(), sent.min(50));
    }
}

on_every_backend!(a_message_during_a_deletion_starts_a_new_conversation);
async fn a_message_during_a_deletion_starts_a_new_conversation(store: &Store) {
    let org = people::org(store, 1).await;
    let rosa = contact_with_data(store, &org, "xyzzy", PHONE).await;
    let (began, begun) = tokio::sync::oneshot::channel();
    let writing = {
        let (store, id, telegram) = (store.clone(), org.id, org.telegram);
        tokio::spawn(async move {
            let mut began = Some(began);
            for number in 0..200 {
                let words = format!("{{\"number\":{number}}}");
                accept(&store, message_from(id, telegram, person("xyzzy_1"), words)).await;
                began.take().map(|began| began.send(()));
            }
        })
    };
    begun.await.unwrap();
    delete(store, org.id, rosa).await.unwrap();
    writing.await.unwrap();
    // Messages from before the deletion are gone; later ones wait without a gap.
    let mut waiting = Vec::new();
    while let Some(claimed) = claim(store).await {
        waiting.extend(claimed.messages.iter().map(|message| message.payload.clone()));
        store.commit_turn(&turn(&claimed)).await.unwrap();
    }
    assert!(waiting.len() < 200, "the first came before");
    let expected: Vec<String> =
        (200 - waiting.len()..200).map(|number| format!("{{\"number\":{number}}}")).collect();
    assert_eq!(waiting, expected);
}

on_every_backend!(a_file_is_deleted_with_the_last_contact_that_refers_to_it);
async fn a_file_is_deleted_with_the_last_contact_that_refers_to_it(store: &Store) {
    let org = people::org(store, 1).await;
    let (menu, part) = file(store, org.id, "menu").await;
    let mut all = Vec::new();
    for name in ["rosa", "otto"] {
        let known = contact(name, name);
        store.org(org.id).create_contact(known.clone()).await.unwrap();
        accept(store, message_from(org.id, org.sms, person(name), "{}".into())).await;
        let claimed = claim(store).await.unwrap();
        let mut commit = turn(&claimed);
        commit.messages[1].data.clone_from(&part);
        commit.outbox[0].payload.clone_from(&part);
        store.commit_turn(&commit).await.unwrap();
        all.push(known.id);
    }
    for contact in &all {
        let count = store.org(org.id).export_contact(*contact).count().await.unwrap();
        assert_eq!(count[&PersonalDataKind::File], 1, "each has it, once");
    }
    assert_eq!(delete(store, org.id, all[0]).await.unwrap().get(&PersonalDataKind::File), None);
    store.org(org.id).blob(menu).await.expect("the other still has it");
    assert_eq!(delete(store, org.id, all[1]).await.unwrap()[&PersonalDataKind::File], 1);
    assert!(matches!(store.org(org.id).blob(menu).await, Err(StoreError::NotFound("blob"))));
}

/// A file is found even if the message that it came with was pruned.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_pruned_message_is_deleted_with_its_contact() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = people::org(&store, 1).await;
        let rosa = contact_with_data(&store, &org, "xyzzy", PHONE).await;
        let kept = ostler_domain::org::Org {
            retention_days: std::num::NonZeroU32::new(1),
            ..store.org(org.id).org().await.unwrap()
        };
        store.org(org.id).update_org(kept).await.unwrap();
        backend
            .execute("UPDATE sessions SET status = 'closed'; UPDATE sessions SET closed_at = 1")
            .await;
        backend.execute("UPDATE inbox SET received_at = 1 WHERE state = 'done'").await;
        backend.execute("DELETE FROM journal").await;
        let limits = PruneOptions { batch_size: 100, mode: PruneMode::Delete };
        assert!(store.prune(limits, |_| {}).await.unwrap()[0].messages > 0);
        let count = store.org(org.id).export_contact(rosa).count().await.unwrap();
        assert_eq!(
            (count.get(&PersonalDataKind::Message), count[&PersonalDataKind::File]),
            (None, 1)
        );
        assert_eq!(delete(&store, org.id, rosa).await.unwrap()[&PersonalDataKind::File], 1);
        assert_eq!(backend.count("blobs").await, 0);
        assert_eq!(backend.count("blob_uses").await, 0);
    }
}

on_every_backend!(a_long_conversation_is_exported_in_pages);
async fn a_long_conversation_is_exported_in_pages(store: &Store) {
    let org = people::org(store, 1).await;
    let rosa = contact("xyzzy", PHONE);
    store.org(org.id).create_contact(rosa.clone()).await.unwrap();
    for number in 0..450 {
        let words = format!("{{\"number\":{number}}}");
        accept(store, message_from(org.id, org.sms, person(PHONE), words)).await;
    }
    while let Some(claimed) = claim(store).await {
        store.commit_turn(&turn(&claimed)).await.unwrap();
    }
    let mut export = store.org(org.id).export_contact(rosa.id);
    let (mut pages, mut said) = (0, Vec::new());
    while let Some(page) = export.next_page().await.unwrap() {
        assert!(page.len() <= 200, "{}", page.len());
        pages += 1;
        let messages = page.iter().filter(|exported| exported.kind == PersonalDataKind::Message);
        said.extend(messages.filter_map(|message| message.value["data"]["number"].as_u64()));
    }
    assert!(pages > 5, "{pages}");
    assert_eq!(said, (0..450).collect::<Vec<u64>>());
}

on_every_backend!(
    /// O16, S09: orders and bookings of a deleted contact stay without the person; answers to
    /// forms are deleted, and those of others are left as they are.
    o16_records_of_a_deleted_contact_lose_the_person
);
async fn o16_records_of_a_deleted_contact_lose_the_person(store: &Store) {
    let id = with_org(store, 1).await;
    let org = store.org(id);
    let new = |number: u128, name: &str| -> Contact {
        let (id, none) = (ContactId::from_u128(number), serde_json::json!([]));
        let contact =
            serde_json::json!({"id": id, "name": name, "tags": none, "notes": none, "details": {}});
        serde_json::from_value(contact).unwrap()
    };
    let (rosa, otto) = (new(0x51, "Rosa"), new(0x52, "Otto"));
    for person in [&rosa, &otto] {
        org.create_contact(person.clone()).await.unwrap();
    }
    let of = |person: &Contact, notes: &str| {
        serde_json::json!({"number": "1", "contact": person.id, "notes": notes}).to_string()
    };
    let form = format!("form_response/{}", RecordId::from_u128(9));
    for (kind, number, data) in [
        ("order", 1, of(&rosa, "ring twice")),
        ("booking", 2, of(&rosa, "by the window")),
        (form.as_str(), 3, of(&rosa, "")),
        ("order", 4, of(&otto, "stays")),
    ] {
        org.create_record(kind, RecordId::from_u128(number), data).await.unwrap();
    }
    let exported = export(store, id, rosa.id).await;
    let records = exported.iter().filter(|item| item.kind == PersonalDataKind::Record);
    assert_eq!(records.count(), 3);
    assert_eq!(delete(store, id, rosa.id).await.unwrap()[&PersonalDataKind::Record], 3);
    let data = async |kind: &str, number| {
        let record = org.record(kind, RecordId::from_u128(number)).await;
        record.map(|record| (record.data, record.version)).ok()
    };
    let anonymous = Some(("{\"number\":\"1\"}".to_owned(), 2));
    assert_eq!(data("order", 1).await, anonymous);
    assert_eq!(data("booking", 2).await, anonymous);
    assert_eq!(data(&form, 3).await, None);
    assert_eq!(data("order", 4).await, Some((of(&otto, "stays"), 1)));
}

/// S09: what names a deleted contact anywhere is replaced, also in other people's
/// conversations, in threads, and in what the org has sent to its agency; the texts stay
/// readable, and what another contact shares is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn s09_nothing_names_a_deleted_contact_in_any_org() {
    for backend in TestDatabase::both().await {
        let store = backend.migrated().await;
        let org = people::org(&store, 1).await;
        let agency = with_org(&store, 2).await;
        let own = store.org(org.id).org().await.unwrap();
        let own = Org { place: OrgPlace::SubOrg { parent: agency }, ..own };
        store.org(org.id).update_org(own).await.unwrap();
        let rosa = contact_with_data(&store, &org, "xyzzy", PHONE).await;
        let mail = "XYZZY@example.com".to_lowercase();
        let named = format!("{{\"text\":\"{mail}, +3906771234 or {rosa}\"}}");
        // Another person's conversation, and what people and agents wrote about her.
        converse(&store, message_from(org.id, org.telegram, person("otto"), named.clone()), &mail)
            .await;
        people::notice(&store, org.id, "something else", &mail).await;
        people::audit(&store, org.id, "another subject", PHONE).await;
        let record = || RecordId::from_u128(crate::support::next());
        for kind in ["idempotency", "refund", "insight", "task"] {
            store.org(org.id).create_record(kind, record(), named.clone()).await.unwrap();
        }
        store.org(agency).create_record("insight", record(), named.clone()).await.unwrap();
        people::notice(&store, agency, "insight", &mail).await;
        let (one, agency_id) = (backend.id_literal(1), backend.id_literal(2));
        for (table, columns, values) in [
            (
                "harness_messages",
                "thread, seq, turn, message",
                format!("{one}, 1, {one}, '{named}'"),
            ),
            (
                "harness_journal",
                "thread, seq, turn, kind, data",
                format!("{one}, 1, {one}, 'k', '{named}'"),
            ),
            ("harness_events", "thread, last_id, events", format!("{one}, 1, '[{named}]'")),
            (
                "memory_messages",
                "thread, seq, speaker, origin, trust, continues, tokens, text",
                format!("{one}, 1, 'user', 'o', 't', 0, 1, '{named}'"),
            ),
            (
                "harness_subagent_runs",
                "run, thread, turn, path, agent_type, messages, ended_at",
                format!("{one}, {one}, {one}, '[]', 'a', '[{named}]', 1"),
            ),
            (
                "queue_delegations",
                "id, assignee, status, data, updated_at",
                format!("{one}, 'a', 'open', '{named}', 1"),
            ),
            (
                "queue_pending_messages",
                "kind, agent, message, version, data, updated_at",
                format!("'work_list', 'a', {one}, 1, '{named}', 1"),
            ),
            (
                "rate_counters",
                "name, window_ms, ends_at, used",
                format!("'mail {mail}', 1, 9000000000000, 1"),
            ),
        ] {
            for org in [&one, &agency_id] {
                let insert =
                    format!("INSERT INTO {table} (org, {columns}) VALUES ({org}, {values})");
                backend.execute(&insert).await;
            }
        }
        let found = backend.columns_with(&mail).await;
        assert!(found.len() >= 20, "{found:?}");

        delete(&store, org.id, rosa).await.unwrap();
        for marker in [mail.as_str(), "xyzzy", "3906771234", "771234", &rosa.to_string()] {
            let left = backend.columns_with(marker).await;
            let of_deletion = ["audit.subject".to_owned()];
            let allowed = left
                .iter()
                .all(|column| marker == rosa.to_string() && of_deletion.contains(column));
            assert!(allowed, "{marker}: {left:?}");
        }
        let texts = backend.texts("SELECT message FROM harness_messages").await;
        let texts: Vec<String> = texts.iter().map(|text| without_numbers(text)).collect();
        assert_eq!(texts, [r#"{"text":"[deleted], [deleted] or [deleted]"}"#; 2]);
        let open = backend.count("erasures WHERE markers IS NOT NULL").await;
        assert_eq!(open, 0, "the markers themselves are gone");
    }
}

on_every_backend!(
    /// S09: an address that another contact has too is that contact's.
    s09_what_another_contact_shares_is_not_replaced
);
async fn s09_what_another_contact_shares_is_not_replaced(store: &Store) {
    let org = people::org(store, 1).await;
    let rosa = contact("xyzzy", PHONE);
    let otto = Contact { details: rosa.details.clone(), ..contact("plugh", PHONE) };
    for one in [&rosa, &otto] {
        store.org(org.id).create_contact(one.clone()).await.unwrap();
    }
    let text = format!("{{\"text\":\"{PHONE}, {}\"}}", rosa.id);
    let record = RecordId::from_u128(next());
    store.org(org.id).create_record("task", record, text).await.unwrap();
    delete(store, org.id, rosa.id).await.unwrap();
    let left = store.org(org.id).record("task", record).await.unwrap().data;
    assert_eq!(without_numbers(&left), format!("{{\"text\":\"{PHONE}, [deleted]\"}}"));
}
