//! The account of the person who tries the demo.

use std::net::SocketAddr;

use anyhow::Context as _;
use ostler_domain::org::role::Role;
use ostler_runtime::operations::NewMember;
use ostler_store::StoreError;

use crate::commands::operator::Operator;
use crate::commands::password_link::usage;
use crate::screen::{DIM, HEADER};

const EMAIL: &str = "demo@example.com";

/// Prints how to log in: a link to choose a password, or that one was chosen.
pub(super) async fn print(operator: &Operator, address: SocketAddr) -> anyhow::Result<()> {
    anstream::println!(
        "\n  {HEADER}Log in{HEADER:#} to the HTTP API as {EMAIL}, who administers the demo:"
    );
    let account = match operator.store.user_account_by_email(EMAIL).await {
        Ok(account) => Some(account),
        Err(StoreError::NotFound(_)) => None,
        Err(other) => return Err(other.into()),
    };
    let has_password = account.as_ref().is_some_and(|account| account.password.is_some());
    if has_password {
        anstream::println!(
            "    curl http://{address}/v1/login -c cookies -d '{{\"email\": \"{EMAIL}\", \
             \"password\": \"…\"}}'\n    {DIM}with the password that you chose; `ostler user invite \
             {EMAIL}` makes a link for another{DIM:#}"
        );
        return Ok(());
    }
    let platform = operator.platform().await?;
    let operations = operator.org(&platform);
    let new = NewMember {
        email: EMAIL.to_owned(),
        name: Some("Demo".to_owned()),
        role: Role::PlatformAdmin,
    };
    let created = match account {
        Some(_) => operations.create_password_code(EMAIL).await?,
        None => {
            operations.add_member_with_code(new).await?.1.context("a code for a new account")?
        }
    };
    let link = format!("http://{address}/v1/activate?code={}", created.code.expose());
    anstream::println!(
        "    {link}\n    {DIM}The link says what it is for and works once. Choose a password with it, and \
         see who you are:{DIM:#}\n    {}\n    curl http://{address}/v1/me -b cookies",
        usage(&link).replacen("curl ", "curl -c cookies ", 1)
    );
    Ok(())
}
