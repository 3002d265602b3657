//! Deliveries of notices: planned once, sent once, with receipts.

use ostler_domain::id::{BindingId, ConversationId, NoticeId, OrgId, OutboxId};
use ostler_domain::notice::preferences::NoticeDestination;
use ostler_domain::notice::schedule::{NoticeStage, PlannedDelivery};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::time::Timestamp;
use ostler_store::{
    Author, NewNotice, NewOutboxEntry, NoticeConversation, NoticeDeliveryKey, NoticeDeliveryState,
    NoticeMessage, OutboxDelivery, Store,
};
use ostler_testkit::claim_send;
use std::time::Duration;

use crate::on_every_backend;
use crate::support::{next, with_org};

const BINDING: BindingId = BindingId::from_u128(0xb1);

async fn notify(store: &Store, org: OrgId, recipient: NoticeRecipient) -> NoticeId {
    let id = NoticeId::from_u128(next());
    let subject = id.to_string();
    let kind = NoticeKind::ToolDisabled;
    let notice = NewNotice { id, kind, recipient, subject, data: "{}".into() };
    store.org(org).notify(notice).await.unwrap();
    id
}

fn planned(
    stage: NoticeStage,
    destination: NoticeDestination,
    due: i64,
) -> (String, PlannedDelivery) {
    let due_at = Timestamp::from_millis(due);
    ("owner".to_owned(), PlannedDelivery { stage, destination, due_at })
}

fn message(org: OrgId, deliveries: Vec<NoticeDeliveryKey>) -> NoticeMessage {
    let key = ConversationKey {
        org,
        binding: BINDING,
        peer: Peer::Person("77".into()),
        entry: ConversationEntry::Owner,
    };
    let new_id = ConversationId::from_u128(next());
    let entry = NewOutboxEntry {
        id: OutboxId::from_u128(next()),
        binding: Some(BINDING),
        author: Author::Notice,
        payload: "{}".into(),
    };
    let conversation = NoticeConversation::OfPerson { key, new_id };
    NoticeMessage { deliveries, conversation, entry }
}

async fn due(store: &Store, now: i64) -> Vec<NoticeDeliveryKey> {
    let due = store.due_notice_deliveries(Timestamp::from_millis(now), 100).await.unwrap();
    due.into_iter().map(|delivery| delivery.key).collect()
}

async fn states(store: &Store, org: OrgId, id: NoticeId) -> Vec<NoticeDeliveryState> {
    let all = store.org(org).notice_deliveries(id).await.unwrap();
    all.into_iter().map(|delivery| delivery.state).collect()
}

on_every_backend!(
    /// O31: a notice to a person is planned once; one to an agent or a customer never.
    o31_a_notice_is_planned_once
);
async fn o31_a_notice_is_planned_once(store: &Store) {
    let org = with_org(store, 1).await;
    let id = notify(store, org, NoticeRecipient::Owner).await;
    notify(store, org, NoticeRecipient::Customer).await;
    let unplanned = store.unplanned_notices(10).await.unwrap();
    let found: Vec<_> = unplanned.iter().map(|(org, stored)| (*org, stored.notice.id)).collect();
    assert_eq!(found, [(org, id)]);
    let chat = planned(NoticeStage::First, NoticeDestination::Chat, 5);
    assert!(store.org(org).plan_notice(id, vec![chat.clone()]).await.unwrap());
    assert!(!store.org(org).plan_notice(id, vec![chat]).await.unwrap());
    assert!(store.unplanned_notices(10).await.unwrap().is_empty());
    assert_eq!(due(store, 4).await, []);
    assert_eq!(due(store, 5).await.len(), 1);
    assert_eq!(states(store, org, id).await, [NoticeDeliveryState::Planned]);
}

on_every_backend!(
    /// O31: a message with several notices is stored once, or not at all; its receipt is the
    /// receipt of each.
    o31_notices_are_sent_once_with_a_receipt
);
async fn o31_notices_are_sent_once_with_a_receipt(store: &Store) {
    let org = with_org(store, 1).await;
    let (first, second) = (
        notify(store, org, NoticeRecipient::Owner).await,
        notify(store, org, NoticeRecipient::Owner).await,
    );
    for id in [first, second] {
        let digest = planned(NoticeStage::First, NoticeDestination::Digest, 5);
        store.org(org).plan_notice(id, vec![digest]).await.unwrap();
    }
    let keys = due(store, 9).await;
    assert_eq!(keys.len(), 2);
    let one = message(org, vec![keys[0].clone()]);
    assert!(store.org(org).send_notices(one).await.unwrap());
    assert!(!store.org(org).send_notices(message(org, keys.clone())).await.unwrap());
    assert!(store.org(org).send_notices(message(org, vec![keys[1].clone()])).await.unwrap());
    assert_eq!(due(store, 9).await, []);
    assert_eq!(states(store, org, first).await, [NoticeDeliveryState::Sending]);
    let mut sent = 0;
    while let Some(entry) = claim_send(store, Duration::from_secs(10)).await {
        let report = match sent {
            0 => OutboxDelivery::Sent,
            _ => OutboxDelivery::Abandoned("blocked".into()),
        };
        store.org(org).record_delivery(&entry, report).await.unwrap();
        sent += 1;
    }
    assert_eq!(sent, 2);
    let mut all = [states(store, org, first).await, states(store, org, second).await].concat();
    all.sort_by_key(|state| *state != NoticeDeliveryState::Delivered);
    let failed = NoticeDeliveryState::Failed("blocked".into());
    assert_eq!(all, [NoticeDeliveryState::Delivered, failed]);
}

on_every_backend!(
    /// O31: if the first stage fails, the next one is due at once.
    o31_a_failure_makes_the_next_stage_due
);
async fn o31_a_failure_makes_the_next_stage_due(store: &Store) {
    let org = with_org(store, 1).await;
    let id = notify(store, org, NoticeRecipient::Owner).await;
    let stages = vec![
        planned(NoticeStage::First, NoticeDestination::Chat, 5),
        planned(NoticeStage::Next, NoticeDestination::Email, i64::MAX),
    ];
    store.org(org).plan_notice(id, stages).await.unwrap();
    let keys = due(store, 9).await;
    store.org(org).send_notices(message(org, keys)).await.unwrap();
    assert_eq!(due(store, 9).await, []);
    let entry = claim_send(store, Duration::from_secs(10)).await.expect("a message");
    let dead = OutboxDelivery::Dead("blocked".into());
    store.org(org).record_delivery(&entry, dead).await.unwrap();
    let next = due(store, 9).await;
    assert_eq!(next.len(), 1);
    assert_eq!((next[0].stage, next[0].destination), (NoticeStage::Next, NoticeDestination::Email));
    store.org(org).skip_notice_delivery(&next[0], "it was acknowledged").await.unwrap();
    let skipped = NoticeDeliveryState::Skipped("it was acknowledged".into());
    let failed = NoticeDeliveryState::Failed("blocked".into());
    assert_eq!(states(store, org, id).await, [failed, skipped]);
}
