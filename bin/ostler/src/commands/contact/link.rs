//! `ostler contact link`.

use clap::Args;
use ostler_api::contact::{LinkVisitorRequest, LinkedVisitor};
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct ContactLinkArgs {
    /// Visitor, by identifier or channel:identifier; `ostler contact ls` lists them
    #[arg(value_name = "VISITOR")]
    visitor: String,
    /// Contact that the visitor is, by name, address, number or id
    #[arg(value_name = "CONTACT")]
    contact: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ContactLinkArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let request = LinkVisitorRequest { contact: args.contact.clone() };
    let linked: LinkedVisitor = org.post(&["people", &args.visitor, "link"], &request).await?;
    let LinkedVisitor { contact, name, channel, identifier } = linked;
    let json = json!({"contact": contact, "name": name, "channel": channel,
        "identifier": identifier});
    let text = format!(
        "{channel}:{identifier} is {name} from the next message on; agents may show this person's \
         orders and bookings there"
    );
    print_result(&args.target.output, &json, &text)
}
