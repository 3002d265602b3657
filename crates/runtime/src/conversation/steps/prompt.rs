//! Step 5: builds the system prompt.

use std::sync::Arc;

use ostler_domain::notice::NoticeKind;
use ostler_store::StoredNotice;

use crate::assembly::documents::LoadedDocument;
use crate::assembly::{AgentHarness, SessionFacts};
use crate::conversation::run::Run;
use crate::conversation::trace::Trace;

/// Builds the system prompt with the documents and the agent's unread notices.
pub(crate) fn run(
    run: &mut Run,
    harness: &AgentHarness<'_>,
    documents: &[LoadedDocument],
    notices: &[StoredNotice],
) -> Arc<str> {
    let timer = Trace::start("5", "prompt");
    let notices: Vec<NoticeKind> = notices.iter().map(|one| one.notice.kind).collect();
    let session = SessionFacts::from(&*run.session);
    let system = harness.system_prompt(&session, documents, &notices).into();
    run.trace.finish(timer);
    system
}
