//! `ostler login` and `ostler logout`: work on a server from this machine.

mod credential;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use ostler_api::account::LoginRequest;
use ostler_api::me::Me;
use ostler_api::problem::Problem;
use serde_json::json;

use self::credential::{Proof, ask_proof};
use super::args::OutputArgs;
use super::operator::print_result;
use crate::api_client::contexts::{Context, Contexts, Credential, parse_url};
use crate::api_client::{ApiClient, ApiRequest, NetworkApi, Nothing};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler login https://ostler.example.com
  ostler login https://ostler.example.com --email ada@example.com
  ostler login https://ostler.example.com --name work < key.txt

At a terminal it asks for an API key, or for a password. Elsewhere it reads the key, or with
--email the password, from standard input. Commands then work on the server, wherever there is
no installation in the current folder.")]
pub(crate) struct LoginArgs {
    /// Address of the server
    #[arg(value_name = "URL")]
    url: String,
    /// Log in as a person with this e-mail address, with a password
    #[arg(long, value_name = "E-MAIL")]
    email: Option<String>,
    /// Name of the context [default: the host]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler logout
  ostler logout --name work")]
pub(crate) struct LogoutArgs {
    /// Name of the context [default: the current one]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn log_in(args: &LoginArgs) -> anyhow::Result<()> {
    let url = parse_url(&args.url)?;
    let name = args.name.clone().unwrap_or_else(|| default_name(&url));
    ensure!(!name.trim().is_empty(), "a context needs a name");
    let mut contexts = Contexts::load()?;
    let credential = match ask_proof(args.email.as_deref())? {
        Proof::Key(key) => Credential::Key(key),
        Proof::Password { email, password } => log_in_with(&url, email, password).await?,
    };
    let context = Context { name: name.clone(), url: url.clone(), credential };
    let me: Me = ApiClient::over(NetworkApi::new(&context)?).get(&["me"], &[]).await?;
    let who = describe(&me);
    contexts.add(context, who.clone())?;
    let json = json!({"context": name, "url": url, "who": who, "file": contexts.path()});
    let text = format!(
        "logged in to {url} as {who}\ncontext `{name}` is in {}; commands use it wherever there is \
         no installation in the current folder",
        contexts.path().display()
    );
    print_result(&args.output, &json, &text)
}

pub(crate) async fn log_out(args: &LogoutArgs) -> anyhow::Result<()> {
    let mut contexts = Contexts::load()?;
    let context = match &args.name {
        Some(name) => contexts.named(name)?,
        None => contexts.current().context(
            "no context is in use; `ostler context ls` lists them, and --name names one",
        )?,
    };
    let note = match &context.credential {
        Credential::Key(_) => "the key itself stays valid; `ostler key revoke` ends it".to_owned(),
        Credential::Cookie(_) => match end_log_in(&context).await {
            Ok(()) => "the log-in has ended".to_owned(),
            Err(error) => format!("the server did not end the log-in: {error}"),
        },
    };
    contexts.remove(&context.name)?;
    let Context { name, url, .. } = context;
    let json = json!({"context": name, "url": url, "note": note});
    print_result(&args.output, &json, &format!("logged out of {url}; {note}"))
}

async fn end_log_in(context: &Context) -> anyhow::Result<()> {
    let api = ApiClient::over(NetworkApi::new(context)?);
    api.change::<Nothing>("POST", &["logout"], &()).await?;
    Ok(())
}

async fn log_in_with(url: &str, email: String, password: String) -> anyhow::Result<Credential> {
    let request = ApiRequest {
        method: "POST",
        path: "/v1/login".to_owned(),
        body: serde_json::to_vec(&LoginRequest { email, password })?,
        key: None,
        extra_time: Duration::ZERO,
    };
    let (cookie, response) = NetworkApi::anonymous(url)?.log_in(&request).await?;
    if response.status != 200 {
        let problem: Problem = serde_json::from_slice(&response.body)
            .with_context(|| format!("{url} is no ostler server; check the address"))?;
        return Err(problem.into());
    }
    let cookie = cookie.with_context(|| format!("{url} is no ostler server; check the address"))?;
    Ok(Credential::Cookie(cookie))
}

/// Returns who somebody is, in words.
fn describe(me: &Me) -> String {
    match me {
        Me::Key(key) => format!("the key `{}` of {} ({})", key.name, key.slug, key.role),
        Me::User(user) => format!("{} <{}>", user.name, user.email),
    }
}

/// Returns the host and port of an address.
fn default_name(url: &str) -> String {
    url.split("://").last().unwrap_or(url).split('/').next().unwrap_or(url).to_owned()
}
