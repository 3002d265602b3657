//! Notices: stored once within the cooldown, listed and marked as read.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, NoticeId, OrgId};
use ostler_domain::notice::{LowCredits, NoticeKind, NoticeRecipient, exhaustion_recipients};
use ostler_store::{NewNotice, NotifyOutcome, Store, StoreError};

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org};

fn notice(kind: NoticeKind, recipient: NoticeRecipient, subject: &str) -> NewNotice {
    let (id, data) = (NoticeId::from_u128(next()), r#"{"tool":"send_email"}"#.into());
    NewNotice { id, kind, recipient, subject: subject.into(), data }
}

async fn notify(
    store: &Store,
    org: OrgId,
    kind: NoticeKind,
    to: NoticeRecipient,
    about: &str,
) -> NotifyOutcome {
    store.org(org).notify(notice(kind, to, about)).await.unwrap()
}

async fn unread(store: &Store, org: OrgId, who: NoticeRecipient) -> usize {
    store.org(org).unread_notices(who, None, 1000).await.unwrap().len()
}

on_every_backend!(
    /// C09: of a hundred equal notices one is stored; a notice on another subject is
    /// another notice.
    c09_of_many_equal_notices_one_is_stored
);
async fn c09_of_many_equal_notices_one_is_stored(store: &Store) {
    let org = with_org(store, 1).await;
    let tell_all = |_| {
        let store = store.clone();
        let kind = NoticeKind::ToolDisabled;
        tokio::spawn(async move {
            notify(&store, org, kind, NoticeRecipient::Owner, "send_email").await
        })
    };
    let mut stored = 0;
    for done in (0..100).map(tell_all).collect::<Vec<_>>() {
        stored += usize::from(done.await.unwrap() == NotifyOutcome::Stored);
    }
    assert_eq!((stored, unread(store, org, NoticeRecipient::Owner).await), (1, 1));
    let other =
        notify(store, org, NoticeKind::ToolDisabled, NoticeRecipient::Owner, "send_sms").await;
    assert_eq!(other, NotifyOutcome::Stored);
    for level in [LowCredits::Percent20, LowCredits::Percent10, LowCredits::Empty] {
        let kind = NoticeKind::LowCredits(level);
        assert_eq!(
            notify(store, org, kind, NoticeRecipient::Owner, "").await,
            NotifyOutcome::Stored
        );
        assert_eq!(
            notify(store, org, kind, NoticeRecipient::Owner, "").await,
            NotifyOutcome::Suppressed
        );
    }
}

on_every_backend!(
    /// E07: both agents, the owner and the customer get one notice each.
    e07_each_recipient_gets_a_notice_once
);
async fn e07_each_recipient_gets_a_notice_once(store: &Store) {
    let org = with_org(store, 1).await;
    let agents = [AgentId::from_u128(1), AgentId::from_u128(2)];
    let all = exhaustion_recipients(agents);
    for _ in 0..3 {
        for who in &all {
            notify(store, org, NoticeKind::CreditsExhausted, *who, "session").await;
        }
    }
    for who in all {
        assert_eq!(unread(store, org, who).await, 1, "{who:?}");
    }
}

on_every_backend!(notices_are_read_page_by_page);
async fn notices_are_read_page_by_page(store: &Store) {
    let org = with_org(store, 1).await;
    let mut ids = Vec::new();
    for n in 0..12 {
        let new = notice(NoticeKind::ModelsFailed, NoticeRecipient::Owner, &n.to_string());
        ids.push(new.id);
        assert_eq!(store.org(org).notify(new.clone()).await.unwrap(), NotifyOutcome::Stored);
        let stored = store.org(org).unread_notices(NoticeRecipient::Owner, None, 99).await.unwrap();
        let last = stored.last().unwrap();
        assert_eq!((&last.notice, last.read_at), (&new, None));
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.org(org).unread_notices(NoticeRecipient::Owner, after, 5).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.notice.id);
        seen.extend(page.iter().map(|stored| stored.notice.id));
    }
    assert_eq!(seen, ids);
    for id in &ids[..10] {
        store.org(org).acknowledge_notice(*id, &AuditActor::System).await.unwrap();
        store.org(org).acknowledge_notice(*id, &AuditActor::System).await.unwrap();
    }
    assert_eq!(unread(store, org, NoticeRecipient::Owner).await, 2);
    assert_eq!(unread(store, org, NoticeRecipient::Customer).await, 0);
}

on_every_backend!(
    /// A05: notices of another org are not listed or marked as read, and do not start a
    /// cooldown here.
    a05_notices_stay_in_their_org
);
async fn a05_notices_stay_in_their_org(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let kind = NoticeKind::CreditsExhausted;
    let new = notice(kind, NoticeRecipient::Owner, "x");
    let id = new.id;
    assert_eq!(store.org(here).notify(new).await.unwrap(), NotifyOutcome::Stored);
    assert_eq!(unread(store, there, NoticeRecipient::Owner).await, 0);
    let marked = store.org(there).acknowledge_notice(id, &AuditActor::System).await;
    assert!(matches!(marked, Err(StoreError::NotFound("notice"))));
    assert_eq!(unread(store, here, NoticeRecipient::Owner).await, 1);
    assert_eq!(
        notify(store, there, kind, NoticeRecipient::Owner, "x").await,
        NotifyOutcome::Stored
    );
}

/// C09: after the cooldown the same notice is stored again, and expired cooldowns are
/// deleted in batches.
#[tokio::test(flavor = "multi_thread")]
async fn c09_the_same_notice_is_stored_again_after_the_cooldown() {
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        let say = async |about: &str| {
            notify(&store, org, NoticeKind::ChildCap, NoticeRecipient::Owner, about).await
        };
        for about in ["a", "b", "c"] {
            assert_eq!(say(about).await, NotifyOutcome::Stored);
        }
        assert_eq!(store.prune_notice_cooldowns(9).await.unwrap(), 0);
        assert_eq!(say("a").await, NotifyOutcome::Suppressed);
        let hour = 3_600_000;
        let pass = async |millis: i64| {
            let sql = format!("UPDATE notice_cooldowns SET quiet_until = quiet_until - {millis}");
            backend.execute(&sql).await;
        };
        pass(hour - 60_000).await;
        assert_eq!(say("a").await, NotifyOutcome::Suppressed);
        pass(60_000).await;
        assert_eq!(say("a").await, NotifyOutcome::Stored);
        assert_eq!(say("a").await, NotifyOutcome::Suppressed);
        assert_eq!(store.prune_notice_cooldowns(1).await.unwrap(), 1);
        assert_eq!(store.prune_notice_cooldowns(9).await.unwrap(), 1);
        assert_eq!(say("a").await, NotifyOutcome::Suppressed, "what is not over is not forgotten");
        assert_eq!(say("b").await, NotifyOutcome::Stored);
    }
}
