//! Completions of `/commands` and `@files`.

/// How many completions are shown.
pub(crate) const SHOWN: usize = 6;

/// A text that may replace the end of what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) text: String,
    pub(crate) detail: String,
}

/// Completions, and where the text that they replace begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completions {
    pub(crate) from: usize,
    pub(crate) all: Vec<Completion>,
}

/// Returns the completions of a text before the cursor.
pub(crate) fn completions<'a>(
    before: &str,
    commands: impl Iterator<Item = (&'a str, &'a str)>,
    files: &[String],
) -> Option<Completions> {
    if let Some(name) = before.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace))
    {
        let fitting = commands.filter(|(command, _)| command.starts_with(name));
        let all = fitting.map(|(command, detail)| Completion {
            text: format!("/{command} "),
            detail: detail.to_owned(),
        });
        return shown(0, all.collect());
    }
    let from = before
        .rfind('@')
        .filter(|at| before[..*at].chars().next_back().is_none_or(char::is_whitespace))?;
    let query = &before[from + 1..];
    if query.contains(char::is_whitespace) {
        return None;
    }
    let lower = query.to_lowercase();
    let mut fitting: Vec<(usize, &String)> = files
        .iter()
        .filter_map(|file| rank(&file.to_lowercase(), &lower).map(|rank| (rank, file)))
        .collect();
    fitting.sort_by_key(|(rank, file)| (*rank, file.len()));
    let all = fitting.into_iter().take(SHOWN);
    let all = all.map(|(_, file)| Completion { text: format!("@{file} "), detail: String::new() });
    shown(from, all.collect())
}

fn shown(from: usize, all: Vec<Completion>) -> Option<Completions> {
    (!all.is_empty()).then_some(Completions { from, all })
}

/// Ranks a file for a query: its name begins with it, has it, the path has it.
fn rank(file: &str, query: &str) -> Option<usize> {
    let name = file.rsplit('/').next().unwrap_or(file);
    if name.starts_with(query) {
        Some(0)
    } else if name.contains(query) {
        Some(1)
    } else if file.contains(query) {
        Some(2)
    } else {
        let mut letters = query.chars();
        let mut next = letters.next();
        for c in file.chars() {
            if Some(c) == next {
                next = letters.next();
            }
        }
        next.is_none().then_some(3)
    }
}

#[cfg(test)]
mod tests {
    use super::completions;

    #[test]
    fn m43_commands_and_files_are_completed() {
        let files = ["src/main.rs", "README.md", "src/domain.rs"].map(str::to_owned);
        let commands = [("help", ""), ("model", "")];
        let check = |before: &str, expected: Option<(usize, &[&str])>| {
            let found = completions(before, commands.into_iter(), &files);
            let found = found.as_ref().map(|found| {
                (found.from, found.all.iter().map(|one| one.text.as_str()).collect::<Vec<_>>())
            });
            assert_eq!(found, expected.map(|(from, all)| (from, all.to_vec())), "{before}");
        };
        check("/m", Some((0, &["/model "])));
        check("/model x", None);
        check("see @main", Some((4, &["@src/main.rs ", "@src/domain.rs "])));
        check("see @rdme", Some((4, &["@README.md "])));
        check("a@b", None);
        check("text", None);
    }
}
