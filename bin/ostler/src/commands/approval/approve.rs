//! `ostler approval approve`.

use anyhow::Context as _;
use clap::Args;
use ostler_runtime::operations::{ApprovalTiming, CallTiming};

use super::{find_pending, print_decision};
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;

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
    let (operator, org) = open_org(&args.target).await?;
    let id = find_pending(&operator, &org, &args.approval).await?;
    let operations = operator.org(&org);
    let timing = operations.call_timing(id).await?;
    let arguments = args.with.as_deref().map(serde_json::from_str).transpose();
    let arguments: Option<serde_json::Value> = arguments.context("--with is not JSON")?;
    let wanted = if args.now { ApprovalTiming::AtOnce } else { ApprovalTiming::WithAgent };
    let approved = operations.approve_with(id, arguments.as_ref(), wanted).await?;
    let text = match timing {
        CallTiming::AfterResume if args.now => format!(
            "approved; the call is made now, and the agent says nothing, because a person has the \
             conversation: ostler session show {} --org {} shows its result",
            approved.approval.session, org.slug
        ),
        CallTiming::Now => "approved; the agent makes the call and continues".to_owned(),
        CallTiming::AfterTurn => {
            "approved; the agent is answering something else and makes the call after that".into()
        }
        CallTiming::AfterResume => format!(
            "approved; this conversation is with a person or waits for one, so the call is made once \
             the agents have it back: ostler session take-over {0}, then ostler session resume {0}; or \
             now: ostler approval approve {1} --org {2} --now",
            approved.approval.session, approved.approval.id, org.slug
        ),
    };
    print_decision(&approved, args.target.output.json, &text)
}
