//! Applying a patch to the files of a workspace.

use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::files::{FileDiff, unified_diff};
use crate::patch::{FilePatch, PatchProblem, apply_to_text, parse_patch};
use crate::workspace::Workspace;

/// A file before and after a patch; `None` where it does not exist.
struct PlannedChange {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

/// Applies a patch. Every part is checked before the first file is changed; if a change fails
/// nevertheless, the earlier ones are taken back.
pub(crate) fn apply_to_workspace(
    workspace: &Workspace,
    patch: &str,
) -> Result<Vec<FileDiff>, WorkspaceError> {
    let refused = |problems| WorkspaceError::Patch { problems };
    let files = parse_patch(patch).map_err(|problem| refused(vec![problem]))?;
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for file in &files {
        match plan(workspace, file, &changes) {
            Ok(planned) => changes.extend(planned),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    for (done, change) in changes.iter().enumerate() {
        if let Err(error) = set(workspace, &change.path, change.after.as_deref()) {
            for undone in changes[..done].iter().rev() {
                let _ = set(workspace, &undone.path, undone.before.as_deref());
            }
            return Err(error);
        }
    }
    let diff = |change: &PlannedChange| {
        let path = change.path.display().to_string();
        unified_diff(&path, change.before.as_deref(), change.after.as_deref())
    };
    Ok(changes.iter().map(diff).collect())
}

/// Returns the changes of one file of the patch: two if it is renamed.
fn plan(
    workspace: &Workspace,
    patch: &FilePatch,
    earlier: &[PlannedChange],
) -> Result<Vec<PlannedChange>, Vec<PatchProblem>> {
    let problem =
        |why: String| vec![PatchProblem { path: patch.path().to_owned(), hunk: None, why }];
    let resolve = |path: &Option<String>| {
        let path = path.as_deref().map(|path| workspace.writable(path)).transpose();
        path.map_err(|error| problem(error.to_string()))
    };
    let (old, new) = (resolve(&patch.old_path)?, resolve(&patch.new_path)?);
    let is_repeated = |path: &Option<PathBuf>| {
        path.as_ref().is_some_and(|path| earlier.iter().any(|change| change.path == *path))
    };
    if is_repeated(&old) || is_repeated(&new) {
        return Err(problem(
            "the patch changes this file twice; put the changes together".to_owned(),
        ));
    }
    let before = match &old {
        Some(path) => {
            let text = workspace.files().read_text(&path.display().to_string());
            Some(text.map_err(|error| problem(error.to_string()))?)
        }
        None => None,
    };
    let is_new_place = new.is_some() && new != old;
    let exists = |path: &PathBuf| workspace.files().dir().symlink_metadata(path).is_ok();
    if is_new_place && new.as_ref().is_some_and(exists) {
        return Err(problem("the file exists already".to_owned()));
    }
    let text = apply_to_text(patch, before.as_deref().unwrap_or_default())?;
    let mut changes = Vec::new();
    match (old, new) {
        (Some(old), None) if text.is_empty() => {
            changes.push(PlannedChange { path: old, before, after: None });
        }
        (Some(_), None) => {
            return Err(problem("the file is deleted, but it has other lines".to_owned()));
        }
        (Some(old), Some(new)) if old != new => {
            changes.push(PlannedChange { path: old, before, after: None });
            changes.push(PlannedChange { path: new, before: None, after: Some(text) });
        }
        (_, Some(new)) => changes.push(PlannedChange { path: new, before, after: Some(text) }),
        (None, None) => {}
    }
    Ok(changes)
}

fn set(workspace: &Workspace, path: &Path, content: Option<&str>) -> Result<(), WorkspaceError> {
    match content {
        Some(content) => workspace.replace(path, content),
        None => workspace.remove(path),
    }
}
