//! Patterns over shell commands. They only decide whether to ask: the sandbox enforces what
//! a command can do. What cannot be read with certainty never counts as a match that allows.

use super::arguments::Match;
use super::text::{TextPattern, is_indirect_path};

/// Programs that run another command, so that their first word says little.
const WRAPPERS: [&str; 18] = [
    "bash", "command", "dash", "doas", "env", "eval", "exec", "find", "ionice", "nice", "nohup",
    "setsid", "sh", "sudo", "time", "timeout", "xargs", "zsh",
];

/// A command line, as far as it can be read without running a shell.
#[derive(Debug, Default, PartialEq, Eq)]
struct CommandLine {
    /// The words of each simple command.
    commands: Vec<Vec<String>>,
    /// Whether it contains anything that only the shell can resolve.
    unclear: bool,
    /// Whether files are written or read by the shell.
    redirected: bool,
}

/// Compares a command line with a pattern. Words are compared one by one; the word `**`
/// stands for any number of words. The whole text may also be equal to an exact pattern.
pub(super) fn match_command(pattern: &TextPattern, text: &str) -> Match {
    if !pattern.has_wildcard() && pattern.matches(text) {
        return Match::Whole;
    }
    let (words, line) = (pattern.words(), CommandLine::read(text));
    if let ([command], false) = (&line.commands[..], line.unclear || line.redirected) {
        match match_words(&words, command) {
            WordMatch::Direct => return Match::Whole,
            WordMatch::Indirect => return Match::Possible,
            WordMatch::None => {}
        }
    }
    let found = line.commands.iter().map(|command| match_part(&words, command)).max();
    let unclear = if line.unclear { Match::Possible } else { Match::None };
    found.unwrap_or(Match::None).max(unclear)
}

/// Compares one command of several.
fn match_part(words: &[TextPattern], command: &[String]) -> Match {
    let Some((program, rest)) = command.split_first() else { return Match::None };
    let name = program.rsplit('/').next().unwrap_or(program);
    let mut by_name = vec![name.to_owned()];
    by_name.extend_from_slice(rest);
    let found = [command, &by_name].map(|words_of| match_words(words, words_of));
    if found.contains(&WordMatch::Direct) {
        Match::Part
    } else if found.contains(&WordMatch::Indirect) || WRAPPERS.contains(&name) {
        Match::Possible
    } else {
        Match::None
    }
}

/// How certainly words match, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WordMatch {
    None,
    /// A word with a wildcard matches a path that may lead elsewhere.
    Indirect,
    Direct,
}

/// Compares words with their patterns, in time proportional to the product of their numbers.
fn match_words(patterns: &[TextPattern], words: &[String]) -> WordMatch {
    // `reached[n]`: how the patterns so far match the first n words.
    let mut reached = vec![WordMatch::None; words.len() + 1];
    reached[0] = WordMatch::Direct;
    for pattern in patterns {
        let mut next = vec![WordMatch::None; reached.len()];
        if pattern.is_anything() {
            let mut best = WordMatch::None;
            for (at, here) in reached.iter().enumerate() {
                best = best.max(*here);
                next[at] = best;
            }
        } else {
            for (at, word) in words.iter().enumerate() {
                next[at + 1] = reached[at].min(match_word(pattern, word));
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(WordMatch::None)
}

fn match_word(pattern: &TextPattern, word: &str) -> WordMatch {
    if !pattern.matches(word) {
        WordMatch::None
    } else if pattern.has_wildcard() && is_indirect_path(word) {
        WordMatch::Indirect
    } else {
        WordMatch::Direct
    }
}

impl CommandLine {
    fn read(text: &str) -> Self {
        let mut line = Self { commands: vec![Vec::new()], ..Self::default() };
        let mut word: Option<String> = None;
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                ' ' | '\t' => line.end_word(&mut word),
                '\n' | ';' | '&' | '|' => line.end_command(&mut word),
                '\'' | '"' => {
                    let word = word.get_or_insert_default();
                    line.unclear |= !read_quoted(character, &mut characters, word);
                }
                '<' | '>' => {
                    line.redirected = true;
                    line.end_command(&mut word);
                }
                '(' | ')' | '`' => {
                    line.unclear = true;
                    line.end_command(&mut word);
                }
                '$' | '{' | '}' | '*' | '?' | '[' | ']' | '!' | '#' | '~' | '\\' | '^' => {
                    line.unclear = true;
                    word.get_or_insert_default().push(character);
                }
                other => {
                    line.unclear |= other.is_control();
                    word.get_or_insert_default().push(other);
                }
            }
        }
        line.end_command(&mut word);
        line.commands.retain(|command| !command.is_empty());
        // A variable in front of a program can change what it does.
        line.unclear |= line.commands.iter().flatten().any(|word| is_assignment(word));
        line
    }

    fn end_word(&mut self, word: &mut Option<String>) {
        if let (Some(word), Some(command)) = (word.take(), self.commands.last_mut()) {
            command.push(word);
        }
    }

    fn end_command(&mut self, word: &mut Option<String>) {
        self.end_word(word);
        self.commands.push(Vec::new());
    }
}

/// Reads up to the closing quote. Returns false if there is none, or if the shell would
/// replace something in between.
fn read_quoted(quote: char, characters: &mut std::str::Chars<'_>, word: &mut String) -> bool {
    let mut clear = true;
    for character in characters.by_ref() {
        if character == quote {
            return clear;
        }
        clear &= quote == '\'' || !matches!(character, '$' | '`' | '\\');
        clear &= !character.is_control();
        word.push(character);
    }
    false
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::match_command;
    use crate::gate::permission::arguments::Match::{self, None, Part, Possible, Whole};
    use crate::gate::permission::text::TextPattern;

    fn check(pattern: &str, command: &str, expected: Match) {
        let pattern = TextPattern::parse(pattern).unwrap();
        assert_eq!(match_command(&pattern, command), expected, "{pattern} / {command}");
    }

    #[test]
    fn words_are_compared_one_by_one() {
        check("git status", "git status", Whole);
        check("git status", "git  status ", Whole);
        check("git status", "git status --short", None);
        check("git status **", "git status", Whole);
        check("git status **", "git status --short src", Whole);
        check("git status*", "git status --short", None);
        check("git * main", "git push main", Whole);
        check("git * main", "git push origin main", None);
        check("git commit -m **", "git commit -m 'fix: a; b'", Whole);
        check("git commit -m **", r#"git commit -m "say hi""#, Whole);
        check("cargo test -p *", "cargo test -p ostler-domain", Whole);
        check("cat src/**", "cat src/../.env", Possible);
        check("** --help", "anything with --help", Whole);
    }

    /// Nothing that contains a second command matches a pattern with a wildcard.
    #[test]
    fn z14_a_second_command_never_passes_a_pattern() {
        let hidden = [
            "git status && rm -rf .",
            "git status; rm -rf .",
            "git status | sh",
            "git status & rm x",
            "git status\nrm -rf .",
            "git status || rm x",
            "git status $(rm x)",
            "git status `rm x`",
            "git status > ~/.bashrc",
            "git status \"$(rm x)\"",
            "git status ${IFS}",
            "git status <(rm x)",
            "git status 'a",
            "git status \\\nrm",
            "X=1 git status",
            "git status {a,b}",
            "git status --output=*",
        ];
        for command in hidden {
            for pattern in ["git status **", "git **", "**"] {
                let pattern = TextPattern::parse(pattern).unwrap();
                assert_ne!(match_command(&pattern, command), Whole, "{pattern} / {command}");
            }
        }
    }

    #[test]
    fn a_rule_that_restricts_finds_its_command_among_others() {
        check("git push **", "git add . && git push origin", Part);
        check("git push **", "/usr/bin/git push", Part);
        check("git push **", "echo $(git push)", Part);
        check("git push **", "echo $(date)", Possible);
        check("git push **", "sh -c 'git push'", Possible);
        check("git push **", "env git push", Possible);
        check("git push **", "g\"i\"t push", Whole);
        check("git push **", "git pull && ls", None);
        check("git push **", "git push 2> log", Part);
        check("git push **", "echo hi > log", None);
        check("git push **", "", None);
    }

    #[test]
    fn an_exact_pattern_matches_a_compound_command() {
        let command = "make && ./run *.txt > out";
        let pattern = TextPattern::exact(command);
        assert_eq!(match_command(&pattern, command), Whole);
        assert_ne!(match_command(&pattern, "make && ./run *.txt > out2"), Whole);
    }
}
