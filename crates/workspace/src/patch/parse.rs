//! Reading unified diffs.

use crate::patch::{FilePatch, Hunk, HunkLine, PatchProblem};

/// Parses a unified diff of any number of files, as `diff -u` and `git diff` write it. Text
/// before and between the files is skipped, and the counts of lines in hunk headers are not
/// needed.
pub fn parse_patch(text: &str) -> Result<Vec<FilePatch>, PatchProblem> {
    let mut parser = Parser { lines: text.lines().collect(), at: 0 };
    let mut files = Vec::new();
    while let Some(line) = parser.line() {
        if line.starts_with("diff --git ") {
            files.extend(parser.git_file()?);
        } else if parser.at_file_header() {
            files.push(parser.file(None)?);
        } else if line.starts_with("@@") {
            return Err(parser.problem("a change comes before the `---` and `+++` lines"));
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(parser.problem("binary files cannot be patched"));
        } else {
            parser.at += 1;
        }
    }
    if files.is_empty() {
        let why = "the patch has no `---` and `+++` lines".to_owned();
        return Err(PatchProblem { path: String::new(), hunk: None, why });
    }
    Ok(files)
}

struct Parser<'t> {
    lines: Vec<&'t str>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn line(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    fn problem(&self, why: &str) -> PatchProblem {
        let why = format!("line {} of the patch: {why}", self.at + 1);
        PatchProblem { path: String::new(), hunk: None, why }
    }

    fn at_file_header(&self) -> bool {
        let next = self.lines.get(self.at + 1);
        self.line().is_some_and(|line| line.starts_with("--- "))
            && next.is_some_and(|line| line.starts_with("+++ "))
    }

    /// Parses the extended header of git: renames have no `---` line if nothing else changed.
    fn git_file(&mut self) -> Result<Option<FilePatch>, PatchProblem> {
        self.at += 1;
        let (mut from, mut to) = (None, None);
        while let Some(line) = self.line() {
            if self.at_file_header() || line.starts_with("diff --git ") {
                break;
            }
            if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(self.problem("binary files cannot be patched"));
            }
            from = line.strip_prefix("rename from ").map(str::to_owned).or(from);
            to = line.strip_prefix("rename to ").map(str::to_owned).or(to);
            self.at += 1;
        }
        let rename = from.zip(to);
        if self.at_file_header() {
            return self.file(rename).map(Some);
        }
        Ok(rename.map(|(from, to)| FilePatch {
            old_path: Some(from),
            new_path: Some(to),
            hunks: Vec::new(),
        }))
    }

    fn file(&mut self, rename: Option<(String, String)>) -> Result<FilePatch, PatchProblem> {
        let (old, new) = (self.lines[self.at], self.lines[self.at + 1]);
        let (mut old_path, mut new_path) = (path(old, "a/"), path(new, "b/"));
        if old_path.is_none() && new_path.is_none() {
            return Err(self.problem("both files are /dev/null"));
        }
        if let Some((from, to)) = rename {
            (old_path, new_path) = (Some(from), Some(to));
        }
        self.at += 2;
        let mut hunks = Vec::new();
        while let Some(line) = self.line().filter(|line| line.starts_with("@@")) {
            let old_start = old_start(line);
            self.at += 1;
            let hunk = self.hunk(old_start);
            if hunk.lines.is_empty() {
                return Err(self.problem("the change is empty"));
            }
            hunks.push(hunk);
        }
        Ok(FilePatch { old_path, new_path, hunks })
    }

    fn hunk(&mut self, old_start: Option<usize>) -> Hunk {
        let mut hunk = Hunk { old_start, lines: Vec::new(), final_newline: None };
        let mut blanks = 0;
        while let Some(line) = self.line() {
            if line.starts_with("@@") || line.starts_with("diff --git ") || self.at_file_header() {
                break;
            }
            match (line.chars().next(), line.get(1..)) {
                (Some(' '), Some(rest)) => hunk.lines.push(HunkLine::Context(rest.to_owned())),
                (Some('-'), Some(rest)) => hunk.lines.push(HunkLine::Removed(rest.to_owned())),
                (Some('+'), Some(rest)) => hunk.lines.push(HunkLine::Added(rest.to_owned())),
                // "\ No newline at end of file", about the line before.
                (Some('\\'), _) => {
                    let of_old = matches!(hunk.lines.last(), Some(HunkLine::Removed(_)));
                    hunk.final_newline = Some(of_old);
                }
                // An editor may have removed the space of an empty context line.
                (None, _) => hunk.lines.push(HunkLine::Context(String::new())),
                _ => break,
            }
            blanks = if line.is_empty() { blanks + 1 } else { 0 };
            self.at += 1;
        }
        // Empty lines at the end belong to the text after the patch.
        hunk.lines.truncate(hunk.lines.len() - blanks);
        hunk
    }
}

/// Returns the path of a `---` or `+++` line without its prefix and time stamp.
fn path(line: &str, prefix: &str) -> Option<String> {
    let name = line[4..].split('\t').next().unwrap_or_default().trim();
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    (name != "/dev/null").then(|| name.strip_prefix(prefix).unwrap_or(name).to_owned())
}

/// Returns the first old line of `@@ -12,3 +12,4 @@`.
fn old_start(header: &str) -> Option<usize> {
    let digits = header.split_once('-')?.1;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
