//! `ostler notice set`.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use ostler_api::org::Member;
use ostler_domain::contact::normalize_email;
use ostler_domain::notice::preferences::{
    DirectDestination, NoticeDestination, NoticeTopic, QuietHours, UrgentNotices,
};
use ostler_domain::notice::time_of_day::TimeOfDay;
use ostler_domain::org::settings::OWNER;
use ostler_world::spec::{NoticesDefinition, PeopleDefinition, PersonDefinition};
use ostler_world::{Address, unknown_name};

use super::choices::show;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::resource::{Ask, Change, ChangeArgs, ResourceEditor};

#[derive(Debug, Args)]
pub(crate) struct NoticeSetArgs {
    /// Topics and where their notices go
    #[arg(value_name = "TOPIC=DESTINATIONS")]
    routes: Vec<TopicRoute>,
    /// Member, by e-mail address; without it, the addresses of the owner in the settings
    #[arg(long = "for", value_name = "EMAIL", default_value = OWNER, hide_default_value = true)]
    person: String,
    /// The person's chat: a channel and the person's id there
    #[arg(long, value_name = "CHANNEL:ID")]
    chat: Option<ChannelPerson>,
    /// The person's e-mail address and the channel that sends the mail
    #[arg(long, value_name = "CHANNEL:ADDRESS")]
    email: Option<ChannelPerson>,
    /// Hours in which notices wait, or `none`
    #[arg(long, value_name = "FROM-TO")]
    quiet: Option<Quiet>,
    /// What urgent notices do in quiet hours
    #[arg(long, value_name = "pass|wait")]
    urgent: Option<Urgent>,
    /// Time of day at which collected notices are sent
    #[arg(long, value_name = "TIME")]
    digest_at: Option<TimeOfDay>,
    /// Where collected notices are sent
    #[arg(long, value_name = "DESTINATION")]
    digest_to: Option<Direct>,
    /// Minutes without a reaction after which an urgent notice is sent again
    #[arg(long, value_name = "MINUTES")]
    unanswered_after: Option<u32>,
    /// Where an urgent notice is sent if nobody reacts
    #[arg(long, value_name = "DESTINATION")]
    unanswered_to: Option<Direct>,
    /// Time zone of the person, such as Europe/Berlin [default: the organization's]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Forget all choices of the person first
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    target: OrgArgs,
}

/// A topic and where its notices go: `approvals=chat,email`.
#[derive(Debug, Clone)]
struct TopicRoute(NoticeTopic, BTreeSet<NoticeDestination>);

impl FromStr for TopicRoute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, destinations) =
            text.split_once('=').ok_or("write TOPIC=DESTINATIONS, such as approvals=chat,email")?;
        let topic = NoticeTopic::ALL.into_iter().find(|topic| topic.name() == name.trim());
        let names = NoticeTopic::ALL.into_iter().map(NoticeTopic::name);
        let topic = topic.ok_or_else(|| unknown_name("topic", name, names))?;
        if destinations.trim() == "none" {
            return Ok(Self(topic, BTreeSet::new()));
        }
        let parsed = destinations.split(',').map(str::parse::<NoticeDestination>);
        let parsed: Result<_, _> = parsed.collect();
        Ok(Self(topic, parsed.map_err(|error| format!("{error}, or none"))?))
    }
}

/// A person on a channel: `bot:4711`.
#[derive(Debug, Clone)]
struct ChannelPerson(PersonDefinition);

impl FromStr for ChannelPerson {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let parts =
            text.split_once(':').filter(|(channel, id)| !channel.is_empty() && !id.is_empty());
        let (channel, identifier) = parts
            .ok_or("write CHANNEL:ID, such as bot:4711; `ostler channel ls` lists channels")?;
        let (channel, identifier) = (channel.to_owned(), identifier.to_owned());
        Ok(Self(PersonDefinition { channel, identifier }))
    }
}

/// Quiet hours: `22:00-07:00` or `none`.
#[derive(Debug, Clone, Copy)]
struct Quiet(Option<(TimeOfDay, TimeOfDay)>);

impl FromStr for Quiet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self(None));
        }
        let (from, to) = text.split_once('-').ok_or("write FROM-TO, such as 22:00-07:00")?;
        let time = |text: &str| text.parse().map_err(|error| format!("{error}"));
        Ok(Self(Some((time(from)?, time(to)?))))
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Urgent {
    Pass,
    Wait,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Direct {
    Chat,
    Email,
    TeamGroup,
}

impl From<Direct> for DirectDestination {
    fn from(direct: Direct) -> Self {
        match direct {
            Direct::Chat => Self::Chat,
            Direct::Email => Self::Email,
            Direct::TeamGroup => Self::TeamGroup,
        }
    }
}

pub(super) async fn run(args: &NoticeSetArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let person = match args.person.as_str() {
        OWNER => OWNER.to_owned(),
        email => {
            let members: Vec<Member> = org.list(&["members"], &[], usize::MAX).await?;
            let key = normalize_email(email);
            let known = members.into_iter().map(|member| member.email);
            let known: Vec<String> = known.collect();
            let found = known.iter().find(|one| normalize_email(one) == key).cloned();
            found.ok_or_else(|| {
                anyhow::anyhow!(unknown_name("member", email, known.iter().map(String::as_str)))
            })?
        }
    };
    let editor = ResourceEditor::open(&org.api).await?;
    let address = Address::of_org(&org.org.slug);
    let mut value = editor.get(&address)?.value().clone();
    let people: PeopleDefinition = serde_json::from_value(value["settings"]["people"].clone())?;
    let mut all: Vec<NoticesDefinition> =
        serde_json::from_value(value["settings"]["notices"].take()).unwrap_or_default();
    let is_person =
        |one: &NoticesDefinition| normalize_email(&one.person) == normalize_email(&person);
    let before = all.iter().position(is_person).map(|at| all.remove(at));
    let blank = NoticesDefinition { person: person.clone(), ..NoticesDefinition::default() };
    let before = before.unwrap_or_else(|| blank.clone());
    let after = changed(if args.reset { blank.clone() } else { before.clone() }, args)?;
    let json = args.target.output.json;
    if after == before {
        return show(&after, &people, json);
    }
    if after != blank {
        all.push(after.clone());
    }
    all.sort_by_key(|one| (one.person != OWNER, one.person.clone()));
    value["settings"]["notices"] = serde_json::to_value(&all)?;
    let how = Change { args: &args.change, output: &args.target.output, ask: Ask::Never };
    editor.replace(&address, &value, &how).await?;
    if json {
        return Ok(());
    }
    anstream::println!();
    show(&after, &people, json)
}

/// Applies the arguments to the choices of a person.
fn changed(
    mut notices: NoticesDefinition,
    args: &NoticeSetArgs,
) -> anyhow::Result<NoticesDefinition> {
    for TopicRoute(topic, destinations) in &args.routes {
        notices.topics.insert(*topic, destinations.clone());
    }
    if let Some(ChannelPerson(chat)) = &args.chat {
        notices.chat = Some(chat.clone());
    }
    if let Some(ChannelPerson(email)) = &args.email {
        notices.email = Some(email.clone());
    }
    if let Some(Quiet(quiet)) = args.quiet {
        let urgent = notices.quiet_hours.map(|before| before.urgent).unwrap_or_default();
        notices.quiet_hours = quiet.map(|(from, to)| QuietHours { from, to, urgent });
    }
    if let Some(urgent) = args.urgent {
        ensure!(notices.quiet_hours.is_some(), "there are no quiet hours; set them with --quiet");
        let urgent = match urgent {
            Urgent::Pass => UrgentNotices::Pass,
            Urgent::Wait => UrgentNotices::Wait,
        };
        notices.quiet_hours = notices.quiet_hours.map(|quiet| QuietHours { urgent, ..quiet });
    }
    notices.digest.at = args.digest_at.unwrap_or(notices.digest.at);
    notices.digest.to = args.digest_to.map_or(notices.digest.to, Into::into);
    let minutes = args.unanswered_after.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
    notices.unanswered.after = minutes.unwrap_or(notices.unanswered.after);
    notices.unanswered.to = args.unanswered_to.map_or(notices.unanswered.to, Into::into);
    if let Some(zone) = &args.time_zone {
        notices.time_zone = Some(zone.clone());
    }
    Ok(notices)
}
