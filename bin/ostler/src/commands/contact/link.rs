//! `ostler contact link`.

use anyhow::bail;
use clap::Args;
use ostler_runtime::operations::Person;
use serde_json::json;

use super::find_contact;
use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

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
    let (operator, org) = open_org(&args.target).await?;
    let operations = operator.org(&org);
    let visitor = match operations.find_person(&args.visitor).await? {
        Person::Visitor(visitor) => visitor,
        Person::Contact(stored) => bail!(
            "{} is the contact {} already; join two contacts with `ostler contact merge`",
            args.visitor,
            stored.contact.name
        ),
    };
    let contact = find_contact(&operations, &args.contact).await?;
    operations.link_visitor(&visitor, &contact).await?;
    let (id, name) = (contact.contact.id, &contact.contact.name);
    let json = json!({"contact": id, "name": name, "channel": visitor.channel,
        "identifier": visitor.identifier});
    let text = format!(
        "{}:{} is {name} from the next message on; agents may show this person's orders and \
         bookings there",
        visitor.channel, visitor.identifier
    );
    print_result(&args.target.output, &json, &text)
}
