//! `ostler member ls`.

use ostler_api::org::{Invitation, Member};
use serde_json::{Value, json};

use super::wire_member_json;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

/// The most people that are listed.
const LIST_LIMIT: usize = 10_000;

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let members: Vec<Member> = org.list(&["members"], &[], LIST_LIMIT).await?;
    let invited: Vec<Invitation> = org.list(&["invitations"], &[], LIST_LIMIT).await?;
    if args.output.json {
        let mut all: Vec<Value> = members.iter().map(wire_member_json).collect();
        all.extend(invited.iter().map(|one| {
            json!({"state": "invited", "id": one.id, "email": one.email, "role": one.role,
                "invited_at": one.created_at, "expires_at": one.expires_at})
        }));
        return crate::commands::print_json(&all);
    }
    if members.is_empty() && invited.is_empty() {
        anstream::println!("{} has no members; add one with `ostler member add`", org.org.name);
        return Ok(());
    }
    let mut rows = vec![["e-mail", "name", "role", "state"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(members.iter().map(|one| {
        let (email, name) = (one.email.as_str(), one.name.as_str());
        [email.into(), name.into(), one.role.name().into(), "member".into()]
    }));
    rows.extend(invited.iter().map(|one| {
        let state = format!("invited until {}", format_time(one.expires_at));
        [one.email.as_str().into(), "".into(), one.role.name().into(), Cell::styled(state, DIM)]
    }));
    print_rows(&rows);
    Ok(())
}
