//! Contacts with data in every table.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::contact::{Contact, ContactDetails, CrmLink};
use ostler_domain::gate::AskReason;
use ostler_domain::gate::approval::{Approval, ApprovalStatus, ArgumentsHash};
use ostler_domain::id::{
    AgentId, ApprovalId, AuditId, BindingId, BlobId, CallId, ContactId, EventId, InboxId, NoteId,
    NoticeId, OrgId, RecordId, RunId, SessionId, UserId, WorkflowId,
};
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Risk, ToolName};
use ostler_store::{
    AcceptOutcome, CallOutcome, Checkpoint, ClaimedConversation, NewAuditEntry, NewBlob, NewEvent,
    NewInboxEntry, NewNotice, NewWorkflow, OrgBinding, RetrySafety, Store, StoredIntent,
    TurnCommit,
};

use crate::support::{agent, claim, next, turn, with_org};

/// An org with three channel bindings.
pub(crate) struct Org {
    pub(crate) id: OrgId,
    pub(crate) email: BindingId,
    pub(crate) sms: BindingId,
    pub(crate) telegram: BindingId,
}

pub(crate) async fn org(store: &Store, id: u128) -> Org {
    let id = with_org(store, id).await;
    let gia = agent(id, "gia");
    store.org(id).save_agent(gia.clone()).await.unwrap();
    let mut bound = Vec::new();
    for channel in [Channel::Email, Channel::Sms, Channel::Telegram] {
        let binding = Binding {
            id: BindingId::from_u128(next()),
            name: String::new(),
            channel,
            enabled: true,
            priority: 1,
        };
        bound.push(binding.id);
        let new = OrgBinding { binding, agent: gia.id, settings: "{}".into(), secret: None };
        store.org(id).save_binding(new).await.unwrap();
    }
    Org { id, email: bound[0], sms: bound[1], telegram: bound[2] }
}

/// A contact with a word in every field.
pub(crate) fn contact(word: &str, phone: &str) -> Contact {
    Contact {
        id: ContactId::from_u128(next()),
        name: format!("Rosa {word}"),
        details: ContactDetails {
            phone: Some(phone.into()),
            email: Some(format!("{word}@Example.com")),
        },
        locale: Some("it-IT".into()),
        tags: [format!("tag {word}")].into(),
        notes: vec![format!("likes {word}")],
        crm: Some(CrmLink { system: "hubspot".into(), id: word.into() }),
    }
}

pub(crate) fn message_from(
    org: OrgId,
    binding: BindingId,
    peer: Peer,
    payload: String,
) -> NewInboxEntry {
    NewInboxEntry {
        id: InboxId::from_u128(next()),
        key: ConversationKey { org, binding, peer, entry: ConversationEntry::Customer },
        new_conversation: ostler_domain::id::ConversationId::from_u128(next()),
        provider_id: format!("{payload:.40} {}", next()),
        payload,
    }
}

pub(crate) fn person(name: &str) -> Peer {
    Peer::Person(name.into())
}

pub(crate) async fn accept(store: &Store, message: NewInboxEntry) -> InboxId {
    let org = message.key.org;
    let accepted = store.org(org).accept_inbound(message, 100_000).await.unwrap();
    let (AcceptOutcome::New(id) | AcceptOutcome::Duplicate(id)) = accepted;
    id
}

/// A file with the word in its name and its bytes, as a part of a message.
pub(crate) async fn file(store: &Store, org: OrgId, word: &str) -> (BlobId, String) {
    let id = BlobId::from_u128(next());
    let new = NewBlob {
        id,
        media_type: "image/png".parse().unwrap(),
        name: Some(format!("{word}.png")),
        bytes: format!("bytes {word}").into_bytes(),
    };
    let part = MessagePart::from_attachment(store.org(org).put_blob(new).await.unwrap());
    (id, serde_json::to_string(&[part, MessagePart::text(word)]).unwrap())
}

/// The turn that answers the claimed messages, with a word in every field.
pub(crate) fn turn_with(claimed: &ClaimedConversation, word: &str) -> TurnCommit {
    let mut commit = turn(claimed);
    let data = format!("{{\"word\":\"{word}\"}}");
    commit.session.data.clone_from(&data);
    commit.run.data.clone_from(&data);
    commit.outbox[0].payload.clone_from(&data);
    commit.events = vec![NewEvent { kind: "turn_done".into(), data }];
    commit
}

/// A message from a person, an external call for it, and the answer.
pub(crate) async fn converse(store: &Store, message: NewInboxEntry, word: &str) -> SessionId {
    let inbound = accept(store, message).await;
    let claimed = claim(store).await.unwrap();
    assert_eq!(claimed.messages[0].id, inbound, "nobody else waits");
    let (lease, org) = (claimed.lease, claimed.lease.org());
    let commit = turn_with(&claimed, word);
    let call = CallId::from_u128(next());
    let arguments = format!("{{\"to\":\"{word}\"}}");
    let intent = StoredIntent {
        call,
        tool: "send_email".into(),
        key: call.to_string(),
        arguments: arguments.clone(),
        retry_safety: RetrySafety::Unsafe,
    };
    let state = Checkpoint { run: commit.run.id, version: 1, state: arguments.clone() };
    store.checkpoint_turn(lease, state, vec![intent], Duration::from_secs(5)).await.unwrap();
    store.record_outcome(lease, call, CallOutcome::Known(arguments)).await.unwrap();
    let session = commit.session.id;
    store.commit_turn(&commit).await.unwrap();
    approval(store, org, session, word).await;
    note(store, org, session, word).await;
    notice(store, org, &format!("{session}/send_email"), word).await;
    notice(store, org, &inbound.to_string(), word).await;
    for subject in [session.to_string(), inbound.to_string()] {
        audit(store, org, &subject, word).await;
    }
    session
}

/// An interrupted turn with a waiting message.
pub(crate) async fn interrupt_turn(store: &Store, message: NewInboxEntry, word: &str) {
    accept(store, message).await;
    let claimed = claim(store).await.unwrap();
    let run = RunId::from_u128(next());
    let state = Checkpoint { run, version: 1, state: format!("{{\"word\":\"{word}\"}}") };
    let call = CallId::from_u128(next());
    let intent = StoredIntent {
        call,
        tool: "send_email".into(),
        key: format!("{word} {call}"),
        arguments: format!("{{\"to\":\"{word}\"}}"),
        retry_safety: RetrySafety::Unsafe,
    };
    store
        .checkpoint_turn(claimed.lease, state, vec![intent], Duration::from_secs(5))
        .await
        .unwrap();
    let again = ostler_store::ReleaseReason::Failed { retry_after: Duration::from_secs(3600) };
    store.release_lease(claimed.lease, again).await.unwrap();
}

/// A note about a session, and who looks after it and has read it.
async fn note(store: &Store, org: OrgId, session: SessionId, word: &str) {
    let user = UserId::from_u128(7);
    let entry = |action: &str| NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::System,
        action: action.into(),
        subject: session.to_string(),
        data: "{}".into(),
    };
    let event = || NewEvent { kind: "note_added".into(), data: "{}".into() };
    let (of, id, text) = (store.org(org), NoteId::from_u128(next()), format!("about {word}"));
    of.audited(entry("add_note")).add_session_note(session, id, user, text, event()).await.unwrap();
    let to = Some((user, None));
    of.audited(entry("assign_session")).assign_session(session, to, user, event()).await.unwrap();
    of.mark_session_read(session, user, None).await.unwrap();
}

async fn approval(store: &Store, org: OrgId, session: SessionId, word: &str) {
    let at = Timestamp::from_millis(5);
    let approval = Approval {
        id: ApprovalId::from_u128(next()),
        session,
        agent: AgentId::from_u128(4),
        tool: ToolName::from_static("refund_payment"),
        risk: Risk::Destructive,
        ask_reason: AskReason::Untrusted,
        arguments: ArgumentsHash([1; 32]),
        requested_at: at,
        expires_at: at + Duration::from_secs(3600),
        status: ApprovalStatus::Pending,
    };
    let payload = format!("{{\"for\":\"{word}\"}}");
    let stored = ostler_store::StoredApproval { approval, payload };
    store.org(org).create_approval(stored).await.unwrap();
}

pub(crate) async fn notice(store: &Store, org: OrgId, subject: &str, word: &str) {
    let new = NewNotice {
        id: NoticeId::from_u128(next()),
        kind: NoticeKind::ToolDisabled,
        recipient: NoticeRecipient::Owner,
        subject: subject.into(),
        data: format!("{{\"customer\":\"{word}\"}}"),
    };
    store.org(org).notify(new).await.unwrap();
}

pub(crate) async fn audit(store: &Store, org: OrgId, subject: &str, word: &str) {
    let line = NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::System,
        action: "looked_at".into(),
        subject: subject.into(),
        data: format!("{{\"who\":\"{word}\"}}"),
    };
    store.org(org).append_audit(line).await.unwrap();
}

/// A contact with data in every table: two answered conversations, a third with
/// an interrupted turn, a file, notices, audit entries, an order, a workflow and an event.
pub(crate) async fn contact_with_data(
    store: &Store,
    org: &Org,
    word: &str,
    phone: &str,
) -> ContactId {
    let id = org.id;
    let contact = contact(word, phone);
    store.org(id).create_contact(contact.clone()).await.unwrap();
    let telegram = format!("{word}_1");
    store.org(id).link_identifier(contact.id, &Channel::Telegram, &telegram).await.unwrap();
    let (_, payload) = file(store, id, word).await;
    converse(store, message_from(id, org.telegram, person(&telegram), payload), word).await;
    // As the channel spells it, not linked as an identifier.
    let address = format!("{}@EXAMPLE.com", word.to_uppercase());
    let words = format!("{{\"text\":\"{word}\"}}");
    converse(store, message_from(id, org.email, person(&address), words.clone()), word).await;
    let number = phone.replace(' ', "");
    interrupt_turn(store, message_from(id, org.sms, person(&number), words), word).await;
    notice(store, id, &contact.id.to_string(), word).await;
    audit(store, id, &contact.id.to_string(), word).await;
    let about = format!("{{\"contact\":\"{}\",\"notes\":\"{word}\"}}", contact.id);
    let order = RecordId::from_u128(next());
    store.org(id).create_record("order", order, about.clone()).await.unwrap();
    workflow(store, id, about).await;
    contact.id
}

/// A workflow with this input, and an event with it that nobody waits for.
async fn workflow(store: &Store, org: OrgId, input: String) {
    let new = NewWorkflow {
        id: WorkflowId::from_u128(next()),
        name: "follow-up".into(),
        definition: "{}".into(),
        input: input.clone(),
        state: "{}".into(),
        parent: None,
    };
    store.org(org).start_workflow(new).await.unwrap();
    let (event, name) = (EventId::from_u128(next()), "paid".parse().unwrap());
    store.org(org).publish_event(event, name, input).await.unwrap();
}
