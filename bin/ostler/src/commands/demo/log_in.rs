//! The account of the person who tries the demo.

use std::net::SocketAddr;

use anyhow::Context as _;
use ostler_domain::org::role::Role;
use ostler_runtime::operations::NewMember;
use ostler_store::StoreError;

use crate::commands::operator::Operator;
use crate::screen::{DIM, HEADER};

const EMAIL: &str = "demo@example.com";

/// Prints how to log in: a link to choose a password, or that one was chosen.
pub(super) async fn print(operator: &Operator, address: SocketAddr) -> anyhow::Result<()> {
    anstream::println!(
        "\n  {HEADER}Dashboard{HEADER:#}  http://{address}/  for {EMAIL}, who administers the demo"
    );
    let account = match operator.store.user_account_by_email(EMAIL).await {
        Ok(account) => Some(account),
        Err(StoreError::NotFound(_)) => None,
        Err(other) => return Err(other.into()),
    };
    let has_password = account.as_ref().is_some_and(|account| account.password.is_some());
    if has_password {
        anstream::println!(
            "    {DIM}with the password that you chose; `ostler user invite {EMAIL}` makes a link \
             for another{DIM:#}"
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
        "    {link}\n    {DIM}Open this link once in a browser: choose a password, and you are in.{DIM:#}"
    );
    Ok(())
}
