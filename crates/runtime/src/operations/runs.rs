//! Runs: the records of answering, with what each agent's harness was.

use ostler_domain::id::{RunId, SessionId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::soul::Soul;
use ostler_store::SessionFilter;

use super::sessions::decode_each;
use super::{OrgOperations, Result};
use crate::records::decode;
use crate::records::message::ThreadMessage;
use crate::records::run::RunRecord;
use crate::records::session::Session;

/// The most sessions, and runs of a session, among which a run is found by the end of its id.
const RECENT: u32 = 50;
/// How many messages of a session are searched for the calls of a run.
pub(super) const MAX_MESSAGES: u32 = 1000;

impl OrgOperations<'_> {
    /// Returns a run, and the messages of its session, which hold its calls.
    pub async fn run(&self, id: RunId) -> Result<(RunRecord, Vec<ThreadMessage>)> {
        let store = self.authorize(OrgPermission::View).await?;
        let run = RunRecord::from_stored(&store.run(id).await?)?;
        let session: Session = decode("session", &store.session(run.session).await?.data)?;
        let messages = store.last_messages(session.thread, MAX_MESSAGES).await?;
        let messages = decode_each("message", messages.iter().map(|one| one.data.as_str()))?;
        Ok((run, messages))
    }

    /// Returns a run with the souls that its turns used, in their order. A version that is gone
    /// is an empty soul.
    pub async fn run_with_souls(&self, id: RunId) -> Result<(RunRecord, Vec<Soul>)> {
        let store = self.authorize(OrgPermission::View).await?;
        let run = RunRecord::from_stored(&store.run(id).await?)?;
        let mut souls = Vec::with_capacity(run.turns.len());
        for turn in &run.turns {
            let used = turn.harness.soul;
            let versions = store.soul_versions(used.owner).await?;
            let found = versions.into_iter().find(|version| version.version == used.version);
            souls.push(found.map(|version| version.soul).unwrap_or_default());
        }
        Ok((run, souls))
    }

    /// Returns the newest runs of the newest sessions.
    pub async fn recent_runs(&self) -> Result<Vec<RunId>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut runs = Vec::new();
        for session in store.sessions(SessionFilter::All, None, RECENT).await? {
            runs.extend(store.runs(session.id, None, RECENT).await?.iter().map(|run| run.id));
        }
        Ok(runs)
    }

    /// Returns a page of a session's messages with their positions, newest first. `before` is
    /// the last one of the page before.
    pub async fn session_messages(
        &self,
        id: SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, ThreadMessage)>> {
        let store = self.authorize(OrgPermission::View).await?;
        let session: Session = decode("session", &store.session(id).await?.data)?;
        let page = store.messages_before(session.thread, before, limit).await?;
        let mut messages = Vec::with_capacity(page.len());
        for one in &page {
            messages.push((one.seq, decode("message", &one.data)?));
        }
        Ok(messages)
    }
}
