//! Searching the content of files with ripgrep's libraries.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::error::WorkspaceError;
use crate::files::list::compile_glob;
use crate::files::walk::EntryKind;
use crate::files::{Files, MAX_FILE_BYTES};

/// The longest line that is shown, in characters.
const MAX_LINE_CHARS: usize = 300;
/// How long a search may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// Memory for the compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 4 << 20;

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// A regular expression.
    pub pattern: String,
    /// The directory or file to search.
    pub path: String,
    /// A glob; files that do not match are left out.
    pub files: Option<String>,
    pub ignore_case: bool,
    pub max_matches: usize,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMatch {
    /// The path relative to the root.
    pub path: String,
    /// The number of the line, from 1.
    pub line: u64,
    pub text: String,
}

/// The lines that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchResult {
    pub matches: Vec<SearchMatch>,
    /// Whether the search stopped at the limit of matches or time.
    pub is_partial: bool,
    /// Files that were too large to be searched.
    pub skipped: usize,
}

impl Files {
    /// Searches text files that no ignore file excludes. Binary files are left out.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResult, WorkspaceError> {
        let start = self.relative(&query.path)?;
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(query.ignore_case)
            .size_limit(PATTERN_LIMIT)
            .line_terminator(Some(b'\n'))
            .build(&query.pattern)
            .map_err(|error| WorkspaceError::Pattern(error.to_string()))?;
        let glob = query.files.as_deref().map(compile_glob).transpose()?;
        let binary = BinaryDetection::quit(0);
        let searcher = SearcherBuilder::new().binary_detection(binary).line_number(true).build();
        let mut search = Search {
            files: self,
            matcher,
            searcher,
            max_matches: query.max_matches,
            deadline: Instant::now() + TIME_LIMIT,
            result: SearchResult::default(),
        };
        let metadata = self.dir().metadata(&start);
        if metadata.map_err(|error| WorkspaceError::from_io(&start, error))?.is_file() {
            let _ = search.search_file(&start);
            return Ok(search.result);
        }
        self.walk(&start, &mut |entry| {
            let matches = entry.kind == EntryKind::File
                && glob.as_ref().is_none_or(|glob| glob.matched(&entry.path, false).is_whitelist());
            if matches { search.search_file(&entry.path) } else { ControlFlow::Continue(()) }
        })?;
        Ok(search.result)
    }
}

/// A search in progress.
struct Search<'f> {
    files: &'f Files,
    matcher: RegexMatcher,
    searcher: Searcher,
    max_matches: usize,
    deadline: Instant,
    result: SearchResult,
}

impl Search<'_> {
    fn search_file(&mut self, path: &Path) -> ControlFlow<()> {
        // Files that vanish or cannot be read are skipped.
        let Ok((file, size)) = self.files.open_file(path) else { return ControlFlow::Continue(()) };
        if size > MAX_FILE_BYTES {
            self.result.skipped += 1;
            return ControlFlow::Continue(());
        }
        let (result, max, deadline) = (&mut self.result, self.max_matches, self.deadline);
        let name = path.display().to_string();
        let sink = Lossy(|line, text| {
            if result.matches.len() >= max || Instant::now() > deadline {
                result.is_partial = true;
                return Ok(false);
            }
            let text = text.trim_end().chars().take(MAX_LINE_CHARS).collect();
            result.matches.push(SearchMatch { path: name.clone(), line, text });
            Ok(true)
        });
        let _ = self.searcher.search_file(&self.matcher, &file.into_std(), sink);
        if Instant::now() > deadline {
            self.result.is_partial = true;
        }
        if self.result.is_partial { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
