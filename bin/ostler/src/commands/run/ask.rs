//! Questions to the person at the terminal.

use std::io::{BufRead as _, Write as _};

use anyhow::Context as _;
use ostler_domain::gate::GateDecision;
use ostler_domain::gate::permission::{ApprovalAnswer, SessionGrants};
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::ToolCategory;
use ostler_engine::driver::TurnHandle;
use ostler_engine::history::CallId;
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::{AgentPath, Answer, Decision, Question, QuestionKind};

use crate::screen::HEADER;

/// The response to a question of a turn.
pub(super) enum UserResponse {
    Decision(AgentPath, CallId, Decision),
    Answer(AgentPath, CallId, Answer),
}

/// Passes a response to the turn.
pub(super) fn send_response(handle: &TurnHandle, response: UserResponse) -> anyhow::Result<()> {
    match response {
        UserResponse::Decision(path, call, decision) => handle.decide(path, call, decision),
        UserResponse::Answer(path, call, answer) => handle.answer(path, call, answer),
    }
    .context("the answer came too late")
}

/// Asks the person at the terminal. At the end of the input, calls are rejected.
pub(super) async fn ask_user(
    question: &Question,
    path: AgentPath,
    scope: &ToolScope,
    grants: &mut SessionGrants,
) -> anyhow::Result<UserResponse> {
    let call = question.call.id.clone();
    match &question.kind {
        QuestionKind::Approval { why, risk, arguments } => {
            let (name, given) = (&question.call.name, &question.call.arguments);
            let why = GateDecision::Ask(*why);
            anstream::eprintln!("{HEADER}{name}{HEADER:#} {given}");
            anstream::eprintln!("{} risk; {why}", risk.level());
            let line = read_line("Run it? [y]es, [n]o, [a]lways tools of this kind: ").await?;
            let answer = match line.as_deref().map(str::trim) {
                Some("y" | "yes") => ApprovalAnswer::Approve,
                Some("a" | "always") => ApprovalAnswer::AlwaysAllowCategory,
                _ => ApprovalAnswer::Decline,
            };
            let category = scope.find(name).map_or(ToolCategory::Other, |tool| tool.spec.category);
            let decision = if grants.apply_answer(answer, category) {
                Decision::Approve { seen: *arguments, arguments: None }
            } else {
                let reason =
                    if line.is_some() { "the user rejected it" } else { "there is no user to ask" };
                Decision::Reject { reason: reason.into() }
            };
            Ok(UserResponse::Decision(path, call, decision))
        }
        QuestionKind::Ask(UserQuestion::Question { question, options }) => {
            anstream::eprintln!("{HEADER}{question}{HEADER:#}");
            for option in options {
                anstream::eprintln!("  {option}");
            }
            let text =
                read_line("> ").await?.unwrap_or_else(|| "There is no user to answer.".into());
            Ok(UserResponse::Answer(path, call, Answer::Text { text: text.trim().to_owned() }))
        }
        QuestionKind::Ask(UserQuestion::Plan { plan, .. }) => {
            anstream::eprintln!("{plan}");
            let line = read_line("Follow this plan? [y]es, or write what to change: ").await?;
            let approved = matches!(line.as_deref().map(str::trim), Some("y" | "yes"));
            let feedback = line.filter(|_| !approved).map(|line| line.trim().to_owned());
            Ok(UserResponse::Answer(path, call, Answer::Plan { approved, feedback }))
        }
    }
}

/// Reads a line from standard input; `None` at its end.
async fn read_line(prompt: &'static str) -> anyhow::Result<Option<String>> {
    let line = tokio::task::spawn_blocking(move || -> std::io::Result<Option<String>> {
        eprint!("{prompt}");
        std::io::stderr().flush()?;
        let mut line = String::new();
        let bytes = std::io::stdin().lock().read_line(&mut line)?;
        Ok((bytes > 0).then_some(line))
    });
    line.await?.context("cannot read an answer from the terminal")
}
