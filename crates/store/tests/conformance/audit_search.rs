//! Searching the audit log.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, UserId};
use ostler_domain::time::Timestamp;
use ostler_store::{AuditFilter, NewAuditEntry, Store};

use crate::on_every_backend;
use crate::support::{next, with_org};

on_every_backend!(o15_entries_are_found_by_actor_action_object_and_time);
async fn o15_entries_are_found_by_actor_action_object_and_time(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let ada = AuditActor::User(UserId::from_u128(7));
    let rows = [
        (AuditActor::Terminal, "add", "a"),
        (ada, "add", "b"),
        (ada, "remove", "a"),
        (AuditActor::Terminal, "remove", "b"),
    ];
    for (actor, action, subject) in rows {
        let (action, subject) = (action.to_owned(), subject.to_owned());
        let id = AuditId::from_u128(next());
        let entry = NewAuditEntry { id, actor, action, subject, data: "{}".into() };
        store.org(here).append_audit(entry).await.unwrap();
    }
    let search = async |filter: &AuditFilter, before, limit| -> Vec<(String, String)> {
        let found = store.org(here).search_audit(filter, before, limit).await.unwrap();
        found.into_iter().map(|one| (one.entry.action, one.entry.subject)).collect()
    };
    let check = async |filter: AuditFilter, expected: &[(&str, &str)]| {
        let expected: Vec<(String, String)> =
            expected.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        assert_eq!(search(&filter, None, 10).await, expected, "{filter:?}");
    };
    let all = AuditFilter::default();
    check(all.clone(), &[("remove", "b"), ("remove", "a"), ("add", "b"), ("add", "a")]).await;
    let by = |actor| AuditFilter { actor: Some(actor), ..AuditFilter::default() };
    check(by(ada), &[("remove", "a"), ("add", "b")]).await;
    check(by(AuditActor::System), &[]).await;
    let added = AuditFilter { action: Some("add".into()), ..all.clone() };
    check(added.clone(), &[("add", "b"), ("add", "a")]).await;
    check(
        AuditFilter { subject: Some("a".into()), ..all.clone() },
        &[("remove", "a"), ("add", "a")],
    )
    .await;
    check(AuditFilter { subject: Some("b".into()), ..added }, &[("add", "b")]).await;
    let far = Some(Timestamp::from_millis(i64::MAX / 2));
    check(AuditFilter { since: far, ..all.clone() }, &[]).await;
    check(AuditFilter { until: Some(Timestamp::from_millis(1)), ..all.clone() }, &[]).await;
    assert_eq!(search(&AuditFilter { until: far, ..all.clone() }, None, 10).await.len(), 4);
    // Pages continue before the last entry.
    let first = store.org(here).search_audit(&all, None, 3).await.unwrap();
    assert_eq!(search(&all, Some(first[2].entry.id), 3).await, [("add".into(), "a".into())]);
    assert!(store.org(there).search_audit(&all, None, 10).await.unwrap().is_empty());
}

on_every_backend!(u10_entries_about_the_parts_of_an_object_are_found_with_it);
async fn u10_entries_about_the_parts_of_an_object_are_found_with_it(store: &Store) {
    let org = with_org(store, 1).await;
    for subject in ["wfl_1", "wfl_1/pay", "wfl_12", "wfl_12/pay", "wfl_1-x", "wfl_1/ship"] {
        let entry = NewAuditEntry {
            id: AuditId::from_u128(next()),
            actor: AuditActor::Terminal,
            action: "change".into(),
            subject: subject.into(),
            data: "{}".into(),
        };
        store.org(org).append_audit(entry).await.unwrap();
    }
    for (with_parts, expected) in
        [(false, vec!["wfl_1"]), (true, vec!["wfl_1/ship", "wfl_1/pay", "wfl_1"])]
    {
        let filter =
            AuditFilter { subject: Some("wfl_1".into()), with_parts, ..AuditFilter::default() };
        let found = store.org(org).search_audit(&filter, None, 10).await.unwrap();
        let found: Vec<String> = found.into_iter().map(|one| one.entry.subject).collect();
        assert_eq!(found, expected);
    }
}
