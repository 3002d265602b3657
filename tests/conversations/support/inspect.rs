//! What a scenario has stored.

use ostler_domain::id::OrgId;
use ostler_domain::message::MessagePart;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::session::key::Peer;
use ostler_engine::history::{CallResult, Content, Item};
use ostler_runtime::records::message::ThreadMessage;
use ostler_runtime::records::outgoing::OutgoingMessage;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::session::Session;
use ostler_runtime::records::snapshot::Snapshot;
use ostler_store::{EventCursor, LedgerLineKind, SessionFilter, StoredNotice};

use super::Scenario;

impl Scenario {
    /// Returns the newest session of a person.
    pub(crate) async fn session(&self, person: &str) -> Session {
        let peer = Peer::Person(person.to_owned());
        let sessions = self.sessions().await;
        sessions.into_iter().find(|session| session.peer == peer).expect("a session")
    }

    /// Returns all sessions, newest first.
    pub(crate) async fn sessions(&self) -> Vec<Session> {
        let stored = self.org().sessions(SessionFilter::All, None, 100).await.unwrap();
        stored.iter().map(|session| serde_json::from_str(&session.data).unwrap()).collect()
    }

    /// Returns the runs of a person's newest session, oldest first.
    pub(crate) async fn runs(&self, person: &str) -> Vec<RunRecord> {
        let session = self.session(person).await;
        let stored = self.org().runs(session.id, None, 100).await.unwrap();
        stored.iter().rev().map(|run| RunRecord::from_stored(run).unwrap()).collect()
    }

    /// Returns the messages of a person's newest session, oldest first.
    pub(crate) async fn thread(&self, person: &str) -> Vec<ThreadMessage> {
        let session = self.session(person).await;
        let stored = self.org().last_messages(session.thread, 100).await.unwrap();
        stored.iter().map(|message| serde_json::from_str(&message.data).unwrap()).collect()
    }

    /// Returns the results of the last tool calls in a person's newest session.
    pub(crate) async fn last_results(&self, person: &str) -> Vec<CallResult> {
        let thread = self.thread(person).await;
        let work = thread.into_iter().rev().flat_map(|message| message.work.into_iter().rev());
        let mut results = work.filter_map(|item| match item {
            Item::Results { results } => Some(results),
            _ => None,
        });
        results.next().expect("a tool call")
    }

    /// Returns the harness of the last turn of a person's newest session.
    pub(crate) async fn harness(&self, person: &str) -> Snapshot {
        let run = self.runs(person).await.pop().expect("a run");
        run.turns.into_iter().next_back().expect("a turn").harness
    }

    /// Returns the names of the active tools of the last turn.
    pub(crate) async fn tools(&self, person: &str) -> Vec<String> {
        let tools = self.harness(person).await.tool_scope.active_tools;
        tools.iter().map(ToString::to_string).collect()
    }

    /// Returns the owner's unread notices.
    pub(crate) async fn notices(&self) -> Vec<StoredNotice> {
        self.org().unread_notices(NoticeRecipient::Owner, None, 100).await.unwrap()
    }

    /// Returns the kinds of a recipient's unread notices.
    pub(crate) async fn notice_kinds(&self, recipient: NoticeRecipient) -> Vec<NoticeKind> {
        let unread = self.org().unread_notices(recipient, None, 100).await.unwrap();
        unread.iter().map(|stored| stored.notice.kind).collect()
    }

    /// Returns the kinds of all events, oldest first.
    pub(crate) async fn events(&self) -> Vec<String> {
        let events = self.org().events_after(EventCursor::default(), 1000).await.unwrap();
        events.into_iter().map(|event| event.kind).collect()
    }

    /// Returns the credits that an org has spent, by its ledger.
    pub(crate) async fn spent(&self, org: OrgId) -> u64 {
        self.store.org(org).apply_settlements().await.unwrap();
        let lines = self.store.org(org).ledger_lines(None, 1000).await.unwrap();
        let spent = lines.iter().filter(|line| matches!(line.kind, LedgerLineKind::Expense(_)));
        spent.map(|line| line.amount.get()).sum()
    }
}

/// Returns the text of a sent message.
pub(crate) fn text_of(outgoing: &OutgoingMessage) -> String {
    let texts = outgoing.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the text of an item of a model's history.
pub(crate) fn item_text(item: &Item) -> String {
    match item {
        Item::User { content } => {
            let texts = content.iter().map(|part| match part {
                Content::Text { text } => text.as_str(),
                Content::Image(_) => "<picture>",
                Content::Audio(_) => "<recording>",
                Content::File(_) => "<file>",
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Item::Assistant { text, .. } => text.clone(),
        Item::Results { results } => {
            let texts = results.iter().map(|result| result.outcome.content.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
