//! What is being written, by conversation. Nothing of it is lost before the server has it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ostler_domain::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::composer::history::{read_draft, write_draft};

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DraftKind {
    Reply,
    Note,
    /// What the agent is told when it gets the conversation back.
    Resolution,
    /// Why a call is rejected.
    Reason,
}

/// The texts of all conversations.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    file: Option<PathBuf>,
    texts: BTreeMap<SessionId, BTreeMap<DraftKind, String>>,
    is_changed: bool,
}

impl Drafts {
    /// Reads the file; one that cannot be read has no drafts.
    pub(super) fn open(file: Option<PathBuf>) -> Self {
        let text = file.as_deref().and_then(read_draft).unwrap_or_default();
        let texts = serde_json::from_str(&text).unwrap_or_default();
        Self { file, texts, is_changed: false }
    }

    pub(super) fn get(&self, session: SessionId, kind: DraftKind) -> Option<&str> {
        self.texts.get(&session)?.get(&kind).map(String::as_str)
    }

    /// Returns whether something is being written about a conversation.
    pub(super) fn has(&self, session: SessionId) -> bool {
        self.texts.contains_key(&session)
    }

    /// Replaces a text; an empty one is removed.
    pub(super) fn set(&mut self, session: SessionId, kind: DraftKind, text: &str) {
        if self.get(session, kind).unwrap_or_default() == text {
            return;
        }
        self.is_changed = true;
        if !text.is_empty() {
            self.texts.entry(session).or_default().insert(kind, text.to_owned());
        } else if let Some(texts) = self.texts.get_mut(&session) {
            texts.remove(&kind);
            if texts.is_empty() {
                self.texts.remove(&session);
            }
        }
    }

    pub(super) const fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Stores what has changed.
    pub(super) fn store(&mut self) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        if let Some(file) = &self.file {
            let text = match self.texts.is_empty() {
                true => String::new(),
                false => serde_json::to_string(&self.texts).unwrap_or_default(),
            };
            write_draft(file, &text);
        }
    }
}
