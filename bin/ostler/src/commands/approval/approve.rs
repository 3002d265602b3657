//! `ostler approval approve`.

use anyhow::Context as _;
use clap::Args;
use ostler_api::approval::{ApproveRequest, ApprovedCall, CallTiming};

use super::{find_approval, print_decision};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Approval, by id or the end of its id
    #[arg(value_name = "APPROVAL")]
    approval: String,
    /// Run the call with these arguments instead, as JSON
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    /// Make the call at once even while a person has the conversation; the agent says nothing
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ApproveArgs) -> anyhow::Result<()> {
    let arguments = args.with.as_deref().map(serde_json::from_str).transpose();
    let arguments: Option<serde_json::Value> = arguments.context("--with is not JSON")?;
    let org = open_org(&args.target).await?;
    let id = find_approval(&org, &args.approval).await?.to_string();
    let request = ApproveRequest { arguments, now: args.now };
    let approved: ApprovedCall = org.post(&["approvals", &id, "approve"], &request).await?;
    let (approval, slug) = (&approved.approval, &org.org.slug);
    let session = approval.session;
    let or_now = format!("or now: ostler approval approve {id} --org {slug} --now");
    let text = match approved.call {
        CallTiming::AfterTakeover | CallTiming::AfterResume if args.now => format!(
            "approved; the call is made now, and the agent says nothing, because the conversation is \
             with a person: ostler session show {session} --org {slug} shows its result",
        ),
        CallTiming::Now => {
            "approved; the agent makes the call and continues, as soon as `ostler serve` or `ostler \
             worker` runs"
                .to_owned()
        }
        CallTiming::AfterTurn => {
            "approved; the agent is answering something else and makes the call after that".into()
        }
        CallTiming::AfterTakeover => format!(
            "approved; the conversation waits for a person, so the call is made once the agents have \
             it back: ostler session take-over {session}, then ostler session resume {session}; \
             {or_now}"
        ),
        CallTiming::AfterResume => format!(
            "approved; a person has the conversation, so the call is made once the agents have it \
             back: ostler session resume {session}; {or_now}"
        ),
    };
    print_decision(approval, args.target.output.json, &text)
}
