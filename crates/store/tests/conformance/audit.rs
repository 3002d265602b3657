//! The audit log is append-only.

use ostler_domain::audit::{AuditActor, REFUSALS_PER_SOURCE, REFUSALS_UNLISTED, REFUSED};
use ostler_domain::id::{AgentId, AuditId, KeyId, OrgId, UserId};
use ostler_store::{NewAuditEntry, RefusedRequest, Store, StoreError};

use crate::on_every_backend;
use crate::support::{next, with_org};

fn line(actor: AuditActor, subject: &str) -> NewAuditEntry {
    NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor,
        action: "soul_edited".into(),
        subject: subject.into(),
        data: r#"{"why":"\u0000"}"#.into(),
    }
}

async fn all(store: &Store, org: OrgId, subject: Option<&str>, most: u32) -> Vec<NewAuditEntry> {
    let (mut before, mut seen) = (None, Vec::new());
    loop {
        let page = store.org(org).audit_entries(subject, before, most).await.unwrap();
        let Some(last) = page.last() else { return seen };
        assert!(page.len() <= most as usize);
        before = Some(last.entry.id);
        seen.extend(page.into_iter().map(|stored| stored.entry));
    }
}

on_every_backend!(audit_entries_are_listed_newest_first);
async fn audit_entries_are_listed_newest_first(store: &Store) {
    let org = with_org(store, 1).await;
    let actors = [
        AuditActor::User(UserId::from_u128(1)),
        AuditActor::Key(KeyId::from_u128(2)),
        AuditActor::Agent(AgentId::from_u128(3)),
        AuditActor::System,
    ];
    let lines: Vec<NewAuditEntry> =
        (0..13).map(|n| line(actors[n % 4], ["agt_1", "agt_2"][n % 2])).collect();
    for line in &lines {
        store.org(org).append_audit(line.clone()).await.unwrap();
    }
    let newest_first: Vec<NewAuditEntry> = lines.iter().rev().cloned().collect();
    assert_eq!(all(store, org, None, 4).await, newest_first);
    let about: Vec<NewAuditEntry> =
        newest_first.iter().filter(|line| line.subject == "agt_2").cloned().collect();
    assert_eq!(all(store, org, Some("agt_2"), 2).await, about);
    assert!(all(store, org, Some("agt_3"), 2).await.is_empty());
    let stored = &store.org(org).audit_entries(None, None, 1).await.unwrap()[0];
    assert!(stored.at.as_millis() > 1_700_000_000_000);
    let rewritten = NewAuditEntry { action: "nothing".into(), ..lines[0].clone() };
    let again = store.org(org).append_audit(rewritten).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))));
    assert_eq!(all(store, org, None, 20).await, newest_first);
}

on_every_backend!(
    /// A05: audit entries of another org are not listed.
    a05_audit_entries_of_another_org_are_not_found
);
async fn a05_audit_entries_of_another_org_are_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    store.org(here).append_audit(line(AuditActor::System, "x")).await.unwrap();
    assert!(all(store, there, None, 9).await.is_empty());
    assert!(all(store, there, Some("x"), 9).await.is_empty());
    let nobody = store.org(OrgId::from_u128(9)).append_audit(line(AuditActor::System, "x")).await;
    assert!(matches!(nobody, Err(StoreError::NotFound("organization"))));
}

on_every_backend!(s01_refusals_of_one_source_do_not_fill_the_log);
/// S01: a source has 200 refusals in an hour, then one entry says that more are not listed;
/// another source still has its own.
async fn s01_refusals_of_one_source_do_not_fill_the_log(store: &Store) {
    let org = with_org(store, 1).await;
    let refuse = async |source: &str| {
        let entry = NewAuditEntry { action: REFUSED.into(), ..line(AuditActor::System, "x") };
        let limit_entry = AuditId::from_u128(next());
        let refused = RefusedRequest { entry, source: source.into(), limit_entry };
        store.org(org).audit_refusal(refused).await.unwrap();
    };
    for _ in 0..REFUSALS_PER_SOURCE + 10 {
        refuse("a").await;
    }
    refuse("b").await;
    let log = all(store, org, None, 300).await;
    let count = |action: &str| log.iter().filter(|entry| entry.action == action).count() as u64;
    // The hour may end in between.
    let listed = count(REFUSED);
    assert!(listed > REFUSALS_PER_SOURCE && listed <= REFUSALS_PER_SOURCE + 11, "{listed}");
    assert!(listed != REFUSALS_PER_SOURCE + 1 || count(REFUSALS_UNLISTED) == 1);
}
