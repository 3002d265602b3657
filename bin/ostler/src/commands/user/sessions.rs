//! `ostler user sessions` and `ostler user log-out`.

use clap::Args;
use ostler_api::account::{EndedLogins, LoginSession};
use ostler_api::user::User;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::operator::print_result;
use crate::commands::rfc3339;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Args)]
pub(crate) struct UserSessionsArgs {
    /// User, by e-mail address or id
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Lists the browsers that are logged in.
pub(super) async fn list(args: &UserSessionsArgs) -> anyhow::Result<()> {
    let platform = ApiClient::open(&args.installation).await?.platform().await?;
    let user: User = platform.get(&["users", &args.user]).await?;
    let path = ["members", &user.id.to_string(), "logins"];
    let logins: Vec<LoginSession> = platform.get(&path).await?;
    if args.output.json {
        let all: Vec<Value> = logins.iter().map(login_json).collect();
        return crate::commands::print_json(&all);
    }
    if logins.is_empty() {
        anstream::println!("this user is not logged in anywhere");
        return Ok(());
    }
    let header = ["session", "address", "by", "last used", "ends", "browser"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(logins.iter().map(|login| {
        [
            Cell::id(&login.id),
            login.address.as_str().into(),
            login.method.as_str().into(),
            format_time(login.used_at).into(),
            format_time(login.expires_at).into(),
            login.client.as_str().into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

/// Logs a user out of all browsers.
pub(super) async fn end(args: &UserSessionsArgs) -> anyhow::Result<()> {
    let platform = ApiClient::open(&args.installation).await?.platform().await?;
    let user: User = platform.get(&["users", &args.user]).await?;
    let path = ["members", &user.id.to_string(), "logins"];
    let EndedLogins { ended } = platform.delete(&path).await?;
    let text = match ended {
        1 => format!("{} is logged out of 1 browser", user.email),
        count => format!("{} is logged out of {count} browsers", user.email),
    };
    print_result(&args.output, &json!({"id": user.id, "email": user.email, "ended": ended}), &text)
}

fn login_json(login: &LoginSession) -> Value {
    json!({"id": login.id, "method": login.method, "address": login.address,
        "client": login.client, "created_at": rfc3339(login.created_at),
        "used_at": rfc3339(login.used_at), "expires_at": rfc3339(login.expires_at)})
}
