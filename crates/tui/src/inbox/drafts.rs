//! What is being written, by conversation: a file for each text, so that several inboxes do not
//! overwrite each other's. Nothing of it is lost before the server has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ostler_domain::id::SessionId;

use crate::composer::history::{read_draft, write_draft};

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum DraftKind {
    Reply,
    Note,
    /// What the agent is told when it gets the conversation back.
    Resolution,
    /// Why a call is rejected.
    Reason,
}

impl DraftKind {
    const ALL: [Self; 4] = [Self::Reply, Self::Note, Self::Resolution, Self::Reason];

    /// Returns the name in the names of files.
    const fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Note => "note",
            Self::Resolution => "resolution",
            Self::Reason => "reason",
        }
    }
}

type DraftId = (SessionId, DraftKind);

/// The texts of all conversations.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    folder: Option<PathBuf>,
    texts: BTreeMap<DraftId, String>,
    changed: BTreeSet<DraftId>,
}

impl Drafts {
    /// Reads the files of a folder. One that is no text is left alone.
    pub(super) fn open(folder: Option<PathBuf>) -> Self {
        let files = folder.as_deref().and_then(|folder| std::fs::read_dir(folder).ok());
        let files = files.into_iter().flatten().flatten();
        let texts = files.filter_map(|file| {
            let id = id_of(file.file_name().to_str()?)?;
            Some((id, read_draft(&file.path())?))
        });
        Self { texts: texts.collect(), folder, changed: BTreeSet::new() }
    }

    #[cfg(test)]
    pub(super) fn get(&self, session: SessionId, kind: DraftKind) -> Option<&str> {
        self.texts.get(&(session, kind)).map(String::as_str)
    }

    /// Returns a text to go on with: what is stored, if another inbox has changed it.
    pub(super) fn read(&mut self, session: SessionId, kind: DraftKind) -> String {
        let id = (session, kind);
        if let Some(folder) = self.folder.as_deref()
            && !self.changed.contains(&id)
        {
            match read_draft(&folder.join(file_name(id))) {
                Some(text) => self.texts.insert(id, text),
                None => self.texts.remove(&id),
            };
        }
        self.texts.get(&id).cloned().unwrap_or_default()
    }

    /// Returns whether something is being written about a conversation.
    pub(super) fn has(&self, session: SessionId) -> bool {
        DraftKind::ALL.iter().any(|kind| self.texts.contains_key(&(session, *kind)))
    }

    /// Replaces a text; an empty one is removed.
    pub(super) fn set(&mut self, session: SessionId, kind: DraftKind, text: &str) {
        let id = (session, kind);
        if self.texts.get(&id).map_or("", String::as_str) == text {
            return;
        }
        self.changed.insert(id);
        match text.is_empty() {
            true => self.texts.remove(&id),
            false => self.texts.insert(id, text.to_owned()),
        };
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Stores what has changed.
    pub(super) fn store(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let Some(folder) = self.folder.as_deref().filter(|_| !changed.is_empty()) else { return };
        create_folder(folder);
        for id in changed {
            let text = self.texts.get(&id).map_or("", String::as_str);
            write_draft(&folder.join(file_name(id)), text);
        }
    }
}

/// Creates a folder for its owner; where that fails, nothing is stored.
fn create_folder(folder: &Path) {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let _ = builder.create(folder);
}

fn file_name((session, kind): DraftId) -> String {
    format!("{session}.{}", kind.name())
}

fn id_of(file: &str) -> Option<DraftId> {
    let (session, kind) = file.split_once('.')?;
    let kind = DraftKind::ALL.into_iter().find(|known| known.name() == kind)?;
    Some((session.parse().ok()?, kind))
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::SessionId;

    use super::{DraftKind, Drafts};

    /// M43: two inboxes keep each other's drafts, and a file that is no text.
    #[test]
    fn m43_inboxes_share_their_drafts() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("drafts");
        let open = || Drafts::open(Some(folder.clone()));
        let (first, second) = (SessionId::from_u128(1), SessionId::from_u128(2));
        let (mut one, mut other) = (open(), open());
        one.set(first, DraftKind::Reply, "of the first");
        one.store();
        other.set(second, DraftKind::Reply, "of the second");
        other.set(first, DraftKind::Note, "a note");
        other.store();
        assert_eq!(other.read(first, DraftKind::Reply), "of the first");
        let foreign = folder.join(format!("{second}.note"));
        std::fs::write(&foreign, b"\xff\xfe").expect("written");
        let mut third = open();
        assert_eq!(third.get(second, DraftKind::Reply), Some("of the second"));
        assert_eq!(third.get(first, DraftKind::Note), Some("a note"));
        third.set(first, DraftKind::Reply, "");
        third.store();
        assert_eq!(one.read(first, DraftKind::Reply), "");
        assert!(foreign.exists() && other.has(second));
    }
}
