//! "Always": shows the rule that would be written, and asks where to.

use ostler_domain::time::Timestamp;
use ostler_harness::{AlwaysAllow, Harness, RuleScope};
use ostler_world::permissions::parse_expiry;
use serde_json::Value;

use super::ask::read_line;
use crate::commands::args::parse_duration;
use crate::screen::DIM;

const WRITE_IT: &str = "Write it? [u]ser, [p]roject or [s]ession, with an end if you like (u 24h, \
                        u 2027-01-31); [e]dit, [n]o: ";
const EDIT: &str = "Arguments as JSON; * is any name or word, ** is anything: ";

/// What somebody wrote at the prompt.
#[derive(Debug, PartialEq)]
enum ScopeAnswer {
    Write(RuleScope, Option<Timestamp>),
    Edit,
    No,
}

/// Shows the rule that would allow a call, and asks whether and where to write it. `None` if
/// it is not to be written.
pub(super) async fn ask(harness: &Harness, call: &str) -> anyhow::Result<Option<AlwaysAllow>> {
    let Some(proposal) = harness.rule_proposal(call).await else {
        anstream::eprintln!("no rule can answer this: it is asked whatever the rules say");
        return Ok(None);
    };
    anstream::eprint!("{DIM}{}{DIM:#}", proposal.toml);
    let mut arguments: Option<Value> = None;
    loop {
        let Some(line) = read_line(WRITE_IT).await? else { return Ok(None) };
        match parse(&line, now()) {
            Ok(ScopeAnswer::No) => return Ok(None),
            Ok(ScopeAnswer::Edit) => {
                let line = read_line(EDIT).await?.unwrap_or_default();
                match serde_json::from_str(&line) {
                    Ok(edited) => arguments = Some(edited),
                    Err(error) => anstream::eprintln!("not JSON: {error}"),
                }
            }
            Ok(ScopeAnswer::Write(scope, _)) if !proposal.scopes.contains(&scope) => {
                let scopes: Vec<&str> = proposal.scopes.iter().map(|scope| scope.name()).collect();
                anstream::eprintln!("it can be written for: {}", scopes.join(", "));
            }
            Ok(ScopeAnswer::Write(scope, expires)) => {
                return Ok(Some(AlwaysAllow {
                    expires,
                    arguments,
                    ..AlwaysAllow::proposed(scope)
                }));
            }
            Err(message) => anstream::eprintln!("{message}"),
        }
    }
}

fn parse(line: &str, now: Timestamp) -> Result<ScopeAnswer, String> {
    let mut words = line.split_whitespace();
    let scope = match words.next() {
        Some("u" | "user") => RuleScope::User,
        Some("p" | "project") => RuleScope::Project,
        Some("s" | "session") => RuleScope::Session,
        Some("e" | "edit") => return Ok(ScopeAnswer::Edit),
        _ => return Ok(ScopeAnswer::No),
    };
    let expires = words.next().map(|end| match parse_duration(end) {
        Ok(duration) => Ok(now + duration),
        Err(_) => parse_expiry(end),
    });
    Ok(ScopeAnswer::Write(scope, expires.transpose()?))
}

fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::{ScopeAnswer, parse};
    use ostler_domain::time::Timestamp;
    use ostler_harness::RuleScope;

    #[test]
    fn a_scope_may_have_an_end() {
        let now = Timestamp::from_millis(1000);
        let check = |line: &str, expected: ScopeAnswer| {
            assert_eq!(parse(line, now), Ok(expected), "{line}");
        };
        check("u\n", ScopeAnswer::Write(RuleScope::User, None));
        let tomorrow = Timestamp::from_millis(1000 + 86_400_000);
        check("project 24h", ScopeAnswer::Write(RuleScope::Project, Some(tomorrow)));
        let day = Timestamp::from_millis(86_400_000);
        check("s 1970-01-02", ScopeAnswer::Write(RuleScope::Session, Some(day)));
        check("e", ScopeAnswer::Edit);
        check("", ScopeAnswer::No);
        check("n", ScopeAnswer::No);
        assert!(parse("u soon", now).is_err());
    }
}
