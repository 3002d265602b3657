//! Applying the changes of one file to its text.

use crate::patch::{FilePatch, Hunk, HunkLine, PatchProblem};

/// How many lines of a problem are quoted.
const QUOTED_LINES: usize = 4;

/// Returns the text after the changes of `patch`; `text` is empty for a new file.
///
/// # Errors
///
/// Returns every change that does not apply.
pub fn apply_to_text(patch: &FilePatch, text: &str) -> Result<String, Vec<PatchProblem>> {
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut ends_with_break = text.is_empty() || text.ends_with('\n');
    let mut lines: Vec<&str> = text.lines().collect();
    let (mut problems, mut shift, mut earliest) = (Vec::new(), 0_isize, 0);
    for (number, hunk) in patch.hunks.iter().enumerate() {
        match place(hunk, &lines, shift, earliest) {
            Ok(start) => {
                let (old, new) = sides(hunk);
                lines.splice(start..start + old.len(), new.iter().copied());
                earliest = start + new.len();
                if let Some(old_start) = old_index(hunk, &old) {
                    shift = earliest.cast_signed() - (old_start + old.len()).cast_signed();
                }
                ends_with_break = hunk.final_newline.unwrap_or(ends_with_break);
            }
            Err(why) => problems.push(PatchProblem {
                path: patch.path().to_owned(),
                hunk: Some(number + 1),
                why,
            }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut patched = lines.join(line_break);
    if ends_with_break && !lines.is_empty() {
        patched.push_str(line_break);
    }
    Ok(patched)
}

/// Returns the old and the new lines of a hunk.
fn sides(hunk: &Hunk) -> (Vec<&str>, Vec<&str>) {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for line in &hunk.lines {
        match line {
            HunkLine::Context(line) => {
                old.push(line.as_str());
                new.push(line.as_str());
            }
            HunkLine::Removed(line) => old.push(line),
            HunkLine::Added(line) => new.push(line),
        }
    }
    (old, new)
}

/// Returns the index of the first old line. `-5,0` inserts after line 5, `-5,1` changes it.
fn old_index(hunk: &Hunk, old: &[&str]) -> Option<usize> {
    hunk.old_start.map(|line| if old.is_empty() { line } else { line.saturating_sub(1) })
}

/// Returns the line at which a hunk applies: where the header says, else the nearest place
/// where its old lines are.
fn place(hunk: &Hunk, lines: &[&str], shift: isize, earliest: usize) -> Result<usize, String> {
    let (old, _) = sides(hunk);
    let hint = old_index(hunk, &old).map(|index| index.saturating_add_signed(shift));
    if old.is_empty() {
        return match hint {
            Some(index) if (earliest..=lines.len()).contains(&index) => Ok(index),
            _ if lines.is_empty() => Ok(0),
            _ => Err("it only adds lines and does not say where; add context lines".to_owned()),
        };
    }
    let matches_at = |start: usize| {
        lines.get(start..start + old.len()).is_some_and(|found| found == old.as_slice())
    };
    if let Some(index) = hint.filter(|index| *index >= earliest && matches_at(*index)) {
        return Ok(index);
    }
    let places: Vec<usize> = (earliest..(lines.len() + 1).saturating_sub(old.len()))
        .filter(|at| matches_at(*at))
        .collect();
    match (places.as_slice(), hint) {
        ([], _) => Err(not_found(&old, lines)),
        ([only], _) => Ok(*only),
        (several, Some(hint)) => {
            Ok(several.iter().copied().min_by_key(|at| at.abs_diff(hint)).unwrap_or_default())
        }
        (several, None) => {
            Err(format!("its lines are at {} places; add more context lines", several.len()))
        }
    }
}

/// Says where the lines of a hunk and those of the file part.
fn not_found(old: &[&str], lines: &[&str]) -> String {
    let common = |start: usize| {
        old.iter().zip(&lines[start..]).take_while(|(wanted, found)| wanted == found).count()
    };
    let best = (0..lines.len()).map(|start| (common(start), start)).max_by_key(|(n, _)| *n);
    if let Some((count @ 1.., start)) = best
        && let Some(wanted) = old.get(count)
    {
        let found = lines
            .get(start + count)
            .map_or("the end of the file".to_owned(), |line| format!("{line:?}"));
        return format!("line {} should be {wanted:?} and is {found}", start + count + 1);
    }
    let quoted: Vec<&str> = old.iter().copied().take(QUOTED_LINES).collect();
    format!("these lines are not in the file: {:?}", quoted.join("\n"))
}
