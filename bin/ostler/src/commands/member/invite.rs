//! `ostler member invite`.

use clap::Args;
use ostler_api::org::{CreatedInvitation, NewInvitationRequest};
use ostler_domain::org::people::{DEFAULT_INVITATION_DAYS, MAX_INVITATION_DAYS};
use ostler_domain::org::role::Role;
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::DIM;

#[derive(Debug, Args)]
pub(crate) struct MemberInviteArgs {
    /// E-mail address of the person
    #[arg(value_name = "E-MAIL")]
    email: String,
    /// Role: viewer, operator, admin or owner; platform_admin in the platform's org
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// Days until the invitation expires
    #[arg(long, value_name = "N", default_value_t = DEFAULT_INVITATION_DAYS,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_INVITATION_DAYS)))]
    days: u32,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &MemberInviteArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let new =
        NewInvitationRequest { email: args.email.clone(), role: args.role, days: Some(args.days) };
    let CreatedInvitation { invitation, code, link } = org.post(&["invitations"], &new).await?;
    if args.target.output.json {
        let json = json!({"id": invitation.id, "email": invitation.email, "role": invitation.role,
            "expires_at": rfc3339(invitation.expires_at), "code": code,
            "link": link});
        return crate::commands::print_json(&json);
    }
    anstream::println!("{code}");
    anstream::eprintln!(
        "{DIM}Send this code to {} yourself; it is not shown again. It works once, until {}, at the \
         server, where the person chooses a password, or on the machine:\n  {}\n  \
         ostler member accept {code} --name NAME{DIM:#}",
        invitation.email,
        format_time(invitation.expires_at),
        link
    );
    Ok(())
}
