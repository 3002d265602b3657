//! Asking the person at the terminal.

use std::io::{BufRead as _, Write as _};

use anyhow::Context as _;
use ostler_domain::gate::Verdict;
use ostler_domain::gate::permission::{ApprovalAnswer, SessionGrants};
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::Category;
use ostler_engine::driver::Handle;
use ostler_engine::history::CallId;
use ostler_engine::tool::Ask;
use ostler_engine::turn::{Answer, Decision, Path, Question, QuestionKind};

use crate::screen::HEADER;

/// What somebody said, and to which question.
pub(super) enum Said {
    Decision(Path, CallId, Decision),
    Answer(Path, CallId, Answer),
}

/// Tells the turn what was said.
pub(super) fn send(handle: &Handle, said: Said) -> anyhow::Result<()> {
    match said {
        Said::Decision(path, call, decision) => handle.decide(path, call, decision),
        Said::Answer(path, call, answer) => handle.answer(path, call, answer),
    }
    .context("the answer came too late")
}

/// Asks the person. Where nobody answers, the answer is no.
pub(super) async fn person(
    question: &Question,
    path: Path,
    scope: &ToolScope,
    grants: &mut SessionGrants,
) -> anyhow::Result<Said> {
    let call = question.call.id.clone();
    match &question.kind {
        QuestionKind::Approval { why, risk, arguments } => {
            let (name, given) = (&question.call.name, &question.call.arguments);
            let why = Verdict::Ask(*why);
            anstream::eprintln!("{HEADER}{name}{HEADER:#} {given}");
            anstream::eprintln!("{} risk; {why}", risk.level());
            let line = read("Run it? [y]es, [n]o, [a]lways this kind: ").await?;
            let answer = match line.as_deref().map(str::trim) {
                Some("y" | "yes") => ApprovalAnswer::Approve,
                Some("a" | "always") => ApprovalAnswer::AlwaysAllowCategory,
                _ => ApprovalAnswer::Decline,
            };
            let category = scope.find(name).map_or(Category::Other, |tool| tool.spec.category);
            let decision = if grants.answer(answer, category) {
                Decision::Approve { seen: *arguments, arguments: None }
            } else {
                let reason = if line.is_some() { "they do not want it" } else { "nobody is there" };
                Decision::Reject { reason: reason.into() }
            };
            Ok(Said::Decision(path, call, decision))
        }
        QuestionKind::Ask(Ask::Question { question, options }) => {
            anstream::eprintln!("{HEADER}{question}{HEADER:#}");
            for option in options {
                anstream::eprintln!("  {option}");
            }
            let text = read("> ").await?.unwrap_or_else(|| "Nobody is there to answer.".into());
            Ok(Said::Answer(path, call, Answer::Text { text: text.trim().to_owned() }))
        }
        QuestionKind::Ask(Ask::Plan { plan, .. }) => {
            anstream::eprintln!("{plan}");
            let line = read("Follow this plan? [y]es, or what to change: ").await?;
            let approved = matches!(line.as_deref().map(str::trim), Some("y" | "yes"));
            let feedback = line.filter(|_| !approved).map(|line| line.trim().to_owned());
            Ok(Said::Answer(path, call, Answer::Plan { approved, feedback }))
        }
    }
}

/// A line from the terminal; none at its end.
async fn read(prompt: &'static str) -> anyhow::Result<Option<String>> {
    let line = tokio::task::spawn_blocking(move || -> std::io::Result<Option<String>> {
        eprint!("{prompt}");
        std::io::stderr().flush()?;
        let mut line = String::new();
        let bytes = std::io::stdin().lock().read_line(&mut line)?;
        Ok((bytes > 0).then_some(line))
    });
    line.await?.context("cannot read an answer from the terminal")
}
