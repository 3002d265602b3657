//! The story of the demo: a question, a handoff, a refund that needs approval, a customer who
//! wants a person, and an issue that goes up to the agency and comes back down with an answer.

use std::time::Duration;

use anyhow::Context as _;
use ostler_domain::contact::SenderProof;
use ostler_domain::hierarchy::issue::IssueDecision;
use ostler_domain::id::{BindingId, InboxId, OrgId, RunId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_runtime::operations::{Actor, Operations};
use ostler_runtime::records::entry::{InboxEntry, IncomingMessage, MessageSender};
use ostler_store::{AcceptOutcome, Store};

use crate::app::App;
use crate::commands::session::view::{CallDetail, ConversationView, newest_session, print_lines};
use crate::screen::{DIM, print_prose};

/// The agency of Bella Pizza.
const AGENCY: &str = "harbour";
/// How often it is looked whether an agent has gone on.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The messages of Rosa, the customer.
const MESSAGES: [&str; 2] = [
    "I paid 50 but my order should be 40. Order 1234.",
    "This is ridiculous, what a useless service. I want a real person!",
];
/// What Vera, another customer, asks for.
const REQUEST: &str = "A discount for 30 guests?";
/// What the owner of Bella Pizza tells the PM.
const INSTRUCTION: &str = "Ask the agency about the discount.";
/// What the agency decides, and what the customer is told.
const RESOLUTIONS: [&str; 2] = ["10 percent from 25 guests on", "yes, 10 percent for 30 guests"];
/// The time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Plays the story.
pub(super) async fn play(app: &App, org: OrgId, webchat: BindingId) -> anyhow::Result<()> {
    anstream::println!("\n  A customer writes in the web chat of Bella Pizza …");
    let key = |person: &str, entry| ConversationKey {
        org,
        binding: webchat,
        peer: Peer::Person(person.to_owned()),
        entry,
    };
    let rosa = key("rosa", ConversationEntry::Customer);
    for text in MESSAGES {
        say(app, &rosa, text).await?;
    }
    anstream::println!(
        "\n  Vera wants what Gia may not promise; the issue goes up to the agency …"
    );
    let vera = key("vera", ConversationEntry::Customer);
    let bruno = key("bruno", ConversationEntry::Owner);
    say(app, &vera, REQUEST).await?;
    say(app, &bruno, INSTRUCTION).await?;
    anstream::println!("\n  … and the answer comes back down, by way of both PMs.");
    let store = &app.store;
    let agency = store.org_by_slug(AGENCY).await?.context("the world has no agency")?;
    for (at, resolution, told) in [(agency, RESOLUTIONS[0], &bruno), (org, RESOLUTIONS[1], &vera)] {
        resolve(app, at, resolution, told).await?;
    }
    Ok(())
}

/// Writes a message and prints what follows.
async fn say(app: &App, key: &ConversationKey, text: &str) -> anyhow::Result<()> {
    let message = accept(app, key, vec![MessagePart::text(text)]).await?;
    let (view, run) = wait_for_reply(app, key, message).await?;
    print_lines(view.lines_of(run), 2, CallDetail::Brief);
    Ok(())
}

/// Puts a message of the customer into the inbox.
async fn accept(
    app: &App,
    key: &ConversationKey,
    parts: Vec<MessagePart>,
) -> anyhow::Result<InboxId> {
    let (Peer::Person(name) | Peer::Group(name)) = &key.peer;
    let id = format!("demo-{}", ostler_bus::next_id());
    let from = MessageSender {
        identifier: name.clone(),
        name: Some(capitalize(name)),
        locale: None,
        proof: SenderProof::Proven,
    };
    let provider_id = Some(id.clone());
    let entry = InboxEntry::Message(IncomingMessage {
        parts,
        from,
        provider_id,
        ..IncomingMessage::default()
    });
    match app.intake.accept(key.clone(), &id, &entry).await? {
        AcceptOutcome::New(id) | AcceptOutcome::Duplicate(id) => Ok(id),
    }
}

fn capitalize(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Waits until a message is answered, and returns the conversation and the run that
/// answered it.
async fn wait_for_reply(
    app: &App,
    key: &ConversationKey,
    message: InboxId,
) -> anyhow::Result<(ConversationView, RunId)> {
    let wait = async {
        loop {
            if let Some(view) = newest_session(app, key).await?
                && let Some(run) = view.runs.iter().find(|run| run.input.contains(&message))
            {
                let run = run.id;
                return anyhow::Ok((view, run));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(TIMEOUT, wait).await.context("the agent did not answer")?
}

/// Resolves the open issue that an org has received, as its people do, and prints what the
/// agent says that had sent it.
async fn resolve(
    app: &App,
    at: OrgId,
    resolution: &str,
    told: &ConversationKey,
) -> anyhow::Result<()> {
    let known = runs(app, told).await?.len();
    let operations = Operations::for_worker(&app.worker);
    let people = operations.as_actor(Actor::Terminal, at);
    let issues = people.issues().await?;
    let received = issues.iter().find(|one| one.record.target.org == at && one.record.is_open());
    let issue = received.context("the issue did not arrive")?.id;
    people.decide_issue(issue, IssueDecision::Acknowledge).await?;
    people.decide_issue(issue, IssueDecision::Resolve(resolution.to_owned())).await?;
    let slug = app.store.org(at).org().await?.slug;
    anstream::println!(
        "  {DIM}$ ostler issue resolve {} \"{resolution}\" --org {slug}{DIM:#}",
        issue.short()
    );
    let answered = async {
        while runs(app, told).await?.len() <= known {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(TIMEOUT, answered).await.context("the agent did not hear of it")??;
    let view = newest_session(app, told).await?.context("the conversation is gone")?;
    if let Some(run) = view.runs.last() {
        print_lines(view.lines_of(run.id), 2, CallDetail::Brief);
    }
    Ok(())
}

/// Returns the runs of a conversation so far.
async fn runs(app: &App, key: &ConversationKey) -> anyhow::Result<Vec<RunId>> {
    let view = newest_session(app, key).await?;
    Ok(view.map(|view| view.runs.iter().map(|run| run.id).collect()).unwrap_or_default())
}

/// Prints an explanation of the story.
pub(super) fn explain() {
    anstream::println!();
    print_prose(
        "Gia answers the customers of Bella Pizza and may not touch money, so she handed Rosa to \
         Enzo. He may refund, but not alone: the refund waits for a person. Then Rosa asked for a \
         person, and waits as well. Models only request tool calls; the runtime decides which of \
         them run. Vera's wish went from Gia (business layer 4) to Luca (3) and Mara's agency (2), \
         and each layer heard only what concerns it.",
        2,
    );
}

/// Returns the org of Bella Pizza.
pub(super) async fn find_bella(store: &Store) -> anyhow::Result<OrgId> {
    let orgs = store.orgs().await?;
    let bella = orgs.iter().find(|org| org.slug == "bella").context("the world has no bella")?;
    Ok(bella.id)
}

#[cfg(test)]
mod tests {
    use ostler_scripted::Script;

    #[test]
    fn the_script_of_the_demo_is_valid() {
        Script::parse("harbour.yaml", super::super::folder::SCRIPT).unwrap();
    }
}
