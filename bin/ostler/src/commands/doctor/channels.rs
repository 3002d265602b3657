//! Checks the channels of all orgs.

use ostler_channels::Channels;
use ostler_channels::connection::ChannelConnection;
use ostler_channels::telegram::Telegram;
use ostler_domain::org::Org;
use ostler_runtime::channel_binding::binding_config;
use ostler_runtime::shared_bot::shared_bot;
use ostler_store::{BindingFailure, HealthCheck, OrgBinding, Store};

use super::{failed, join_problems, ok, references};
use crate::app;
use crate::commands::session::view::format_time;
use crate::installation::Installation;

const NAME: &str = "channels";
/// The most bindings of an org that are checked.
pub(super) const MAX_BINDINGS: u32 = 1000;

pub(super) async fn check(
    installation: &Installation,
    store: &Store,
    orgs: &[Org],
    online: bool,
) -> anyhow::Result<HealthCheck> {
    let channels = app::channels(installation)?;
    let (mut problems, mut usable) = (Vec::new(), 0);
    for org in orgs {
        let failures = store.org(org.id).binding_failures().await?;
        for bound in store.org(org.id).bindings(None, MAX_BINDINGS).await? {
            if !bound.binding.enabled {
                continue;
            }
            let failing = failures.iter().find(|one| one.binding == bound.binding.id);
            let problem = problem(installation, &channels, org, &bound, online).await;
            match problem.or_else(|| failing.map(failure_text)) {
                Some(problem) => problems.push(format!(
                    "{} of {}: {problem}; see `ostler channel change {} --org {}`",
                    bound.binding.name(),
                    org.slug,
                    bound.binding.id,
                    org.slug
                )),
                None => usable += 1,
            }
        }
        problems.extend(references::problems(store, org).await?);
    }
    Ok(match (problems.is_empty(), usable) {
        (false, _) => failed(NAME, join_problems(&problems)),
        (true, 0) => ok(NAME, "None is connected; see `ostler channel add --help`.".into()),
        (true, 1) => ok(NAME, "One is connected and can be opened.".into()),
        (true, usable) => ok(NAME, format!("{usable} are connected and can be opened.")),
    })
}

/// Describes what the process that receives or sends for a binding has reported.
fn failure_text(failure: &BindingFailure) -> String {
    format!("failing since {}: {}", format_time(failure.since), failure.reason)
}

/// Returns what is wrong with a binding.
async fn problem(
    installation: &Installation,
    channels: &Channels,
    org: &Org,
    bound: &OrgBinding,
    online: bool,
) -> Option<String> {
    if shared_bot(bound).is_some() {
        return None;
    }
    match channels.open(&binding_config(org.id, bound)) {
        Ok(ChannelConnection::Telegram(bot)) if online => {
            bot_problem(installation, &bot, bound).await
        }
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Asks Telegram whether the token is valid and, unless the bot is polled, whether updates
/// are delivered to this installation.
async fn bot_problem(
    installation: &Installation,
    bot: &Telegram,
    bound: &OrgBinding,
) -> Option<String> {
    if let Err(error) = bot.fetch_username().await {
        return Some(error.to_string());
    }
    let server = installation.config.public_url.as_ref().filter(|_| bot.polling() != Some(true))?;
    let expected = format!("{}/v1/webhooks/{}", server.trim_end_matches('/'), bound.binding.id);
    match bot.fetch_webhook_url().await {
        Ok(url) if url == expected => None,
        Ok(_) => Some(format!(
            "Telegram does not deliver to {expected}; start `ostler serve`, which sets the webhook"
        )),
        Err(error) => Some(error.to_string()),
    }
}
