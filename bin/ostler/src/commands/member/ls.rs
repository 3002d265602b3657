//! `ostler member ls`.

use serde_json::{Value, json};

use super::member_json;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let operations = operator.org(&org);
    let (members, invited) = (operations.members().await?, operations.invitations().await?);
    if args.output.json {
        let mut all: Vec<Value> = members.iter().map(member_json).collect();
        all.extend(invited.iter().map(|one| {
            json!({"state": "invited", "id": one.id, "email": one.email, "role": one.role,
                "invited_at": rfc3339(one.created_at), "expires_at": rfc3339(one.expires_at)})
        }));
        return crate::commands::print_json(&all);
    }
    if members.is_empty() && invited.is_empty() {
        anstream::println!("{} has no members; add one with `ostler member add`", org.name);
        return Ok(());
    }
    let mut rows = vec![["e-mail", "name", "role", "state"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(members.iter().map(|one| {
        let (email, name) = (one.user.email.as_str(), one.user.name.as_str());
        [email.into(), name.into(), one.role.name().into(), "member".into()]
    }));
    rows.extend(invited.iter().map(|one| {
        let state = format!("invited until {}", format_time(one.expires_at));
        [one.email.as_str().into(), "".into(), one.role.name().into(), Cell::styled(state, DIM)]
    }));
    print_rows(&rows);
    Ok(())
}
