//! The answer of an agent in the form of the OpenAI API, or the error that takes its place.

use ostler_api::completion::{
    CachedTokens, Completion, CompletionAnswer, CompletionChoice, CompletionFinish, CompletionRun,
    CompletionUsage,
};
use ostler_runtime::operations::{AgentAnswer, AnswerEnd};
use ostler_runtime::records::run::RunOutcome;

use super::error::ChatError;

/// What stands between two texts of an answer.
pub(super) const BREAK: &str = "\n\n";

/// Returns the whole text of an answer.
pub(super) fn text(reply: &AgentAnswer) -> String {
    reply.texts.join(BREAK)
}

/// Fails if a run has no answer for the caller. What was said before an error is in the run.
pub(super) fn check(reply: &AgentAnswer) -> Result<(), ChatError> {
    let run = reply.run;
    match &reply.outcome {
        RunOutcome::Answered | RunOutcome::Escalated { .. } => Ok(()),
        RunOutcome::WithHuman | RunOutcome::WaitingForHuman if !reply.texts.is_empty() => Ok(()),
        RunOutcome::WithHuman | RunOutcome::WaitingForHuman | RunOutcome::Housekeeping { .. } => {
            Err(ChatError::with_person(format!(
                "a person has this conversation and gets the message; the agent answers again \
                 when they hand it back (session {})",
                reply.session
            )))
        }
        RunOutcome::RateLimited => Err(ChatError::rate_limited(format!(
            "the agent has reached its limits of the day; try again tomorrow, or raise them \
             (run {run})"
        ))),
        RunOutcome::CreditsExhausted => Err(ChatError::no_credits(format!(
            "the budget of this agent, its session or its organization is used up; grant credits \
             or raise the budget (run {run})"
        ))),
        RunOutcome::NoAgent => Err(ChatError::failed(format!(
            "the agent takes no messages any more; GET /v1/models lists those that do (run {run})"
        ))),
        RunOutcome::Failed { .. } => Err(ChatError::failed(format!(
            "the agent could not answer; `ostler session show {}` says why (run {run})",
            reply.session
        ))),
    }
}

pub(super) const fn finish_reason(reply: &AgentAnswer) -> CompletionFinish {
    match reply.end {
        AnswerEnd::Complete => CompletionFinish::Stop,
        AnswerEnd::TooLong => CompletionFinish::Length,
        AnswerEnd::Withheld => CompletionFinish::ContentFilter,
    }
}

pub(super) fn usage(reply: &AgentAnswer) -> CompletionUsage {
    let (input, output, cached) = (reply.usage.input, reply.usage.output, reply.usage.cached);
    CompletionUsage {
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: input.saturating_add(output),
        prompt_tokens_details: CachedTokens { cached_tokens: cached },
    }
}

pub(super) fn run(reply: &AgentAnswer) -> CompletionRun {
    CompletionRun {
        run: reply.run,
        session: reply.session,
        approvals: reply.approvals.clone(),
        credits: reply.credits,
    }
}

/// Returns the answer as one object. `created` is in seconds.
pub(super) fn completion(
    reply: &AgentAnswer,
    model: String,
    created: i64,
) -> Result<Completion, ChatError> {
    check(reply)?;
    let message =
        CompletionAnswer { role: "assistant".to_owned(), content: text(reply), refusal: None };
    let finish_reason = finish_reason(reply);
    Ok(Completion {
        id: reply.run,
        object: "chat.completion".to_owned(),
        created,
        model,
        choices: vec![CompletionChoice { index: 0, message, finish_reason, logprobs: None }],
        usage: usage(reply),
        ostler: run(reply),
    })
}
