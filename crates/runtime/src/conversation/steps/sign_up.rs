//! Signs up a stranger whose interview with the platform's system agent is complete. The
//! person's confirmation decides, not the agent: no model has a tool for this.

use ostler_domain::channel::Channel;
use ostler_domain::event::{OrgEvent, OrgSignedUp};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::account_link::ChannelAccount;
use ostler_domain::org::sign_up::{SignUpDecision, decide, interview};
use ostler_domain::session::guided::InterviewState;
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_store::StoreError;

use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::org_view::{AgentView, OrgView};
use crate::records::message::Purpose;
use crate::records::run::RunOutcome;
use crate::records::session::{Interview, SignUpProgress};
use crate::sign_up::{SignUpRequest, SignedUp, audit_entry, sign_up};

/// Returns the interview of a new conversation of a stranger on the platform's bot or web
/// chat, if people may sign up there.
pub(crate) fn new_interview(
    view: &OrgView,
    key: &ConversationKey,
    channel: &Channel,
) -> Option<Interview> {
    view.settings.sign_up?;
    let stranger = key.entry == ConversationEntry::Customer && matches!(key.peer, Peer::Person(_));
    let proves_accounts = matches!(channel, Channel::Telegram | Channel::Webchat);
    let here = view.org.place == OrgPlace::Platform && stranger && proves_accounts;
    here.then(|| Interview {
        template: interview(),
        state: InterviewState::default(),
        sign_up: Some(SignUpProgress::Asking),
    })
}

/// Makes the organization that the person confirmed, and tells them. Returns `None` while the
/// interview goes on, also if it starts over because they did not confirm.
pub(crate) async fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    agent: &AgentView,
) -> Result<Option<RunOutcome>, StoreError> {
    let is_complete = run.session.interview_is_complete();
    let Some(interview) = run.session.interview.as_mut() else { return Ok(None) };
    let asking = interview.sign_up == Some(SignUpProgress::Asking);
    if !asking || !is_complete || !run.is_sender_proven {
        return Ok(None);
    }
    let SignUpDecision::Create(answers) = decide(&interview.state) else {
        interview.state = InterviewState::default();
        return Ok(None);
    };
    let Peer::Person(identifier) = run.session.peer.clone() else { return Ok(None) };
    let bindings = context.view.bindings.iter();
    let bot = bindings.map(|one| &one.binding).find(|one| one.id == run.session.binding);
    let Some(bot) = bot else { return Ok(None) };
    let request = SignUpRequest {
        org_views: &context.services.org_views,
        view: &context.view,
        bot,
        account: ChannelAccount { channel: run.session.channel.clone(), identifier },
        answers: &answers,
        by: agent.agent.id,
        models: context.view.settings.models_of(&agent.agent),
        now: context.current_time(),
    };
    let signed_up = sign_up(&request).await?;
    if let Some(interview) = run.session.interview.as_mut() {
        interview.sign_up = Some(SignUpProgress::Finished);
    }
    match signed_up {
        Ok(done) => announce(context, run, agent, &done),
        Err(refused) => run.send_text(context, &refused.to_string(), Purpose::Talk),
    }
    Ok(Some(RunOutcome::Answered))
}

/// Tells the person and the platform's people about the new organization.
fn announce(context: &RunContext<'_>, run: &mut Run, agent: &AgentView, done: &SignedUp) {
    let SignedUp { org, pm, url } = done;
    let mut text = format!(
        "{} is ready, and you are its owner. Write to me as before: from now on {pm} answers you \
         here.",
        org.name
    );
    if run.session.channel == Channel::Webchat {
        text.push_str(" You are recognized in this browser.");
    }
    if let Some(url) = url {
        text.push_str(&format!("\nIn Telegram: {url}"));
    }
    run.send_text(context, &text, Purpose::Talk);
    let event = OrgEvent::SignedUp(OrgSignedUp {
        organization: org.id,
        slug: org.slug.clone(),
        name: org.name.clone(),
        session: run.session.id,
    });
    let data = event.to_json();
    let entry = audit_entry(agent.agent.id, "sign_up", org.id.to_string(), &data);
    run.pending.add_audit(entry);
    run.pending.add_event(&event);
    let (kind, owner) = (NoticeKind::SignedUp, NoticeRecipient::Owner);
    run.pending.add_notice(kind, owner, org.id.to_string(), data);
}
