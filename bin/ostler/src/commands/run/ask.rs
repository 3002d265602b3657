//! Questions to the person at the terminal.

use std::io::{BufRead as _, Write as _};

use anyhow::Context as _;
use ostler_domain::gate::GateDecision;
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::QuestionKind;
use ostler_harness::{ApprovalResponse, Harness, HarnessError, OpenAsk, PlanResponse};

use super::always;
use crate::screen::HEADER;

const RUN_IT: &str = "Run it? [y]es, [n]o, [a]lways this call, this [k]ind of tool until the end: ";

/// Asks the person at the terminal and passes the answer on. At the end of the input,
/// calls and plans are rejected.
pub(super) async fn answer(harness: &Harness, ask: &OpenAsk) -> anyhow::Result<()> {
    let call = &ask.question.call;
    let answered = match &ask.question.kind {
        QuestionKind::Approval { why, risk, .. } => {
            let why = GateDecision::Ask(why.clone());
            anstream::eprintln!("{HEADER}{}{HEADER:#} {}", call.name, call.arguments);
            anstream::eprintln!("risk: {}; {why}", risk.name());
            respond(harness, ask).await?
        }
        QuestionKind::Ask(UserQuestion::Question { question, options }) => {
            anstream::eprintln!("{HEADER}{question}{HEADER:#}");
            for option in options {
                anstream::eprintln!("  {option}");
            }
            let text =
                read_line("> ").await?.unwrap_or_else(|| "There is no user to answer.".into());
            harness.respond_to_question(&ask.id, text.trim()).await
        }
        QuestionKind::Ask(UserQuestion::Plan { plan, .. }) => {
            anstream::eprintln!("{plan}");
            let line = read_line("Follow this plan? [y]es, or write what to change: ").await?;
            let response = match line.as_deref().map(str::trim) {
                Some("y" | "yes") => PlanResponse::Approve,
                Some(feedback) => PlanResponse::Reject { feedback: feedback.to_owned() },
                None => PlanResponse::Reject { feedback: "there is no user to ask".into() },
            };
            harness.respond_to_plan_approval(&ask.id, response).await
        }
    };
    match answered {
        // The turn was stopped meanwhile.
        Ok(()) | Err(HarnessError::AskNotOpen(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Asks whether a call may run, until there is an answer that can be used.
async fn respond(harness: &Harness, ask: &OpenAsk) -> anyhow::Result<Result<(), HarnessError>> {
    loop {
        let line = read_line(RUN_IT).await?;
        let response = match line.as_deref().map(str::trim) {
            Some("y" | "yes") => ApprovalResponse::Approve,
            Some("k" | "kind") => ApprovalResponse::AlwaysAllowCategory,
            Some("a" | "always") => match always::ask(harness, &ask.id).await? {
                Some(always) => ApprovalResponse::AlwaysAllow(always),
                None => continue,
            },
            Some(_) => ApprovalResponse::Decline { reason: None },
            None => ApprovalResponse::Decline { reason: Some("there is no user to ask".into()) },
        };
        match harness.respond_to_tool_approval(&ask.id, response).await {
            Err(
                error @ (HarnessError::RuleCannotAnswer
                | HarnessError::InvalidRule(_)
                | HarnessError::PermissionFile(_)),
            ) => anstream::eprintln!("{error}"),
            answered => return Ok(answered),
        }
    }
}

/// Reads a line from standard input; `None` at its end.
pub(super) async fn read_line(prompt: &'static str) -> anyhow::Result<Option<String>> {
    let line = tokio::task::spawn_blocking(move || -> std::io::Result<Option<String>> {
        eprint!("{prompt}");
        std::io::stderr().flush()?;
        let mut line = String::new();
        let bytes = std::io::stdin().lock().read_line(&mut line)?;
        Ok((bytes > 0).then_some(line))
    });
    line.await?.context("cannot read an answer from the terminal")
}
