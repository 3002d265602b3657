//! Notices: told once within the cooldown, and read.

use ostler_domain::id::{AgentId, NoticeId, OrgId};
use ostler_domain::notice::{LowCredits, NoticeKind, Recipient, exhaustion_recipients};
use ostler_store::{NewNotice, Notified, Store, StoreError};

use crate::on_every_backend;
use crate::world::{Backend, next, with_org};

fn notice(kind: NoticeKind, recipient: Recipient, subject: &str) -> NewNotice {
    let (id, data) = (NoticeId::from_u128(next()), r#"{"tool":"send_email"}"#.into());
    NewNotice { id, kind, recipient, subject: subject.into(), data }
}

async fn tell(store: &Store, org: OrgId, kind: NoticeKind, to: Recipient, about: &str) -> Notified {
    store.org(org).notify(notice(kind, to, about)).await.unwrap()
}

async fn unread(store: &Store, org: OrgId, who: Recipient) -> usize {
    store.org(org).unread_notices(who, None, 1000).await.unwrap().len()
}

on_every_backend!(
    /// C09: of a hundred equal notices at once the owner gets one; the same about
    /// something else is another notice.
    c09_of_many_equal_notices_one_is_stored
);
async fn c09_of_many_equal_notices_one_is_stored(store: &Store) {
    let org = with_org(store, 1).await;
    let tell_all = |_| {
        let store = store.clone();
        let kind = NoticeKind::ToolDisabled;
        tokio::spawn(async move { tell(&store, org, kind, Recipient::Owner, "send_email").await })
    };
    let mut told = 0;
    for done in (0..100).map(tell_all).collect::<Vec<_>>() {
        told += usize::from(done.await.unwrap() == Notified::Told);
    }
    assert_eq!((told, unread(store, org, Recipient::Owner).await), (1, 1));
    let other = tell(store, org, NoticeKind::ToolDisabled, Recipient::Owner, "send_sms").await;
    assert_eq!(other, Notified::Told);
    for level in [LowCredits::Percent20, LowCredits::Percent10, LowCredits::Empty] {
        let kind = NoticeKind::LowCredits(level);
        assert_eq!(tell(store, org, kind, Recipient::Owner, "").await, Notified::Told);
        assert_eq!(tell(store, org, kind, Recipient::Owner, "").await, Notified::Quiet);
    }
}

on_every_backend!(
    /// E07: both agents, the owner and the customer are told, once each.
    e07_everybody_is_told_once
);
async fn e07_everybody_is_told_once(store: &Store) {
    let org = with_org(store, 1).await;
    let agents = [AgentId::from_u128(1), AgentId::from_u128(2)];
    let all = exhaustion_recipients(agents);
    for _ in 0..3 {
        for who in &all {
            tell(store, org, NoticeKind::CreditsExhausted, *who, "session").await;
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
        let new = notice(NoticeKind::ModelsFailed, Recipient::Owner, &n.to_string());
        ids.push(new.id);
        assert_eq!(store.org(org).notify(new.clone()).await.unwrap(), Notified::Told);
        let stored = store.org(org).unread_notices(Recipient::Owner, None, 99).await.unwrap();
        let last = stored.last().unwrap();
        assert_eq!((&last.notice, last.read_at), (&new, None));
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.org(org).unread_notices(Recipient::Owner, after, 5).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.notice.id);
        seen.extend(page.iter().map(|stored| stored.notice.id));
    }
    assert_eq!(seen, ids);
    for id in &ids[..10] {
        store.org(org).mark_notice_read(*id).await.unwrap();
        store.org(org).mark_notice_read(*id).await.unwrap();
    }
    assert_eq!(unread(store, org, Recipient::Owner).await, 2);
    assert_eq!(unread(store, org, Recipient::Customer).await, 0);
}

on_every_backend!(
    /// A05: notices of another org are not seen, not marked, and do not make this
    /// one quiet.
    a05_notices_stay_in_their_org
);
async fn a05_notices_stay_in_their_org(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let kind = NoticeKind::CreditsExhausted;
    let new = notice(kind, Recipient::Owner, "x");
    let id = new.id;
    assert_eq!(store.org(here).notify(new).await.unwrap(), Notified::Told);
    assert_eq!(unread(store, there, Recipient::Owner).await, 0);
    let marked = store.org(there).mark_notice_read(id).await;
    assert!(matches!(marked, Err(StoreError::NotFound("notice"))));
    assert_eq!(unread(store, here, Recipient::Owner).await, 1);
    assert_eq!(tell(store, there, kind, Recipient::Owner, "x").await, Notified::Told);
}

/// C09: once the cooldown is over it is said again, and what is over is
/// forgotten in batches.
#[tokio::test(flavor = "multi_thread")]
async fn c09_after_the_cooldown_it_is_said_again() {
    for backend in [Backend::sqlite_file(), Backend::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        let say = async |about: &str| {
            tell(&store, org, NoticeKind::ChildCap, Recipient::Owner, about).await
        };
        for about in ["a", "b", "c"] {
            assert_eq!(say(about).await, Notified::Told);
        }
        assert_eq!(store.forget_cooldowns(9).await.unwrap(), 0);
        assert_eq!(say("a").await, Notified::Quiet);
        let hour = 3_600_000;
        let pass = async |millis: i64| {
            let sql = format!("UPDATE notice_cooldowns SET quiet_until = quiet_until - {millis}");
            backend.execute(&sql).await;
        };
        pass(hour - 60_000).await;
        assert_eq!(say("a").await, Notified::Quiet);
        pass(60_000).await;
        assert_eq!(say("a").await, Notified::Told);
        assert_eq!(say("a").await, Notified::Quiet);
        assert_eq!(store.forget_cooldowns(1).await.unwrap(), 1);
        assert_eq!(store.forget_cooldowns(9).await.unwrap(), 1);
        assert_eq!(say("a").await, Notified::Quiet, "what is not over is not forgotten");
        assert_eq!(say("b").await, Notified::Told);
    }
}
