//! Differences between two versions of a file.

use std::time::Duration;

use similar::TextDiff;

/// After this time a difference may be longer than necessary.
const TIME_LIMIT: Duration = Duration::from_millis(500);

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    pub path: String,
    /// A unified diff; empty if nothing changed.
    pub unified: String,
    pub added: usize,
    pub removed: usize,
}

/// Returns the difference between two versions; `None` stands for a file that does not exist.
pub fn unified_diff(path: &str, before: Option<&str>, after: Option<&str>) -> FileDiff {
    let name = |prefix: &str, text: Option<&str>| match text {
        Some(_) => format!("{prefix}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (from, to) = (name("a", before), name("b", after));
    let diff = TextDiff::configure()
        .timeout(TIME_LIMIT)
        .diff_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    FileDiff {
        path: path.to_owned(),
        unified: diff.unified_diff().context_radius(3).header(&from, &to).to_string(),
        added: count(similar::ChangeTag::Insert),
        removed: count(similar::ChangeTag::Delete),
    }
}
