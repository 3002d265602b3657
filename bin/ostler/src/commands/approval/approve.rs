//! `ostler approval approve`.

use anyhow::Context as _;
use clap::Args;
use ostler_runtime::operations::CallTiming;

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
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ApproveArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let id = find_pending(&operator, &org, &args.approval).await?;
    let operations = operator.org(&org);
    let timing = operations.call_timing(id).await?;
    let approved = match &args.with {
        None => operations.approve(id).await?,
        Some(text) => {
            let arguments = serde_json::from_str(text).context("--with is not JSON")?;
            operations.approve_with(id, &arguments).await?
        }
    };
    let text = match timing {
        CallTiming::Now => "approved; the agent makes the call and continues".to_owned(),
        CallTiming::AfterTurn => {
            "approved; the agent is answering something else and makes the call after that".into()
        }
        CallTiming::AfterResume => format!(
            "approved; this conversation is with a person or waits for one, so the call is made once \
             the agents have it back: ostler session take-over {0}, then ostler session resume {0}",
            approved.approval.session
        ),
    };
    print_decision(&approved, args.target.output.json, &text)
}
