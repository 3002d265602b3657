//! Shows what a person has chosen to be notified of.

use ostler_domain::notice::preferences::{
    DirectDestination, NoticeDestination, NoticeTopic, UrgentNotices,
};
use ostler_domain::org::settings::OWNER;
use ostler_world::spec::{NoticesDefinition, PeopleDefinition, PersonDefinition};

use crate::screen::{Cell, DIM, HEADER, print_rows};

fn address(person: &PersonDefinition) -> String {
    format!("{} through {}", person.identifier, person.channel)
}

/// Shows what a person has chosen, with the defaults.
pub(super) fn show(
    notices: &NoticesDefinition,
    people: &PeopleDefinition,
    json: bool,
) -> anyhow::Result<()> {
    let destinations = |topic: NoticeTopic| {
        notices.topics.get(&topic).cloned().unwrap_or_else(|| topic.default_destinations())
    };
    if json {
        let mut value = serde_json::to_value(notices)?;
        for topic in NoticeTopic::ALL {
            value["topics"][topic.name()] = serde_json::to_value(destinations(topic))?;
        }
        return crate::commands::print_json(&value);
    }
    let mut rows = vec![["topic", "goes to"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(NoticeTopic::ALL.map(|topic| {
        let names: Vec<&str> =
            destinations(topic).into_iter().map(NoticeDestination::name).collect();
        let text = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let style = if notices.topics.contains_key(&topic) {
            Cell::from(text)
        } else {
            Cell::styled(text, DIM)
        };
        [topic.name().into(), style]
    }));
    print_rows(&rows);
    let owner = Some(people).filter(|_| notices.person == OWNER);
    let chat = notices.chat.as_ref().or(owner.and_then(|people| people.owner.as_ref()));
    let chat = chat.map_or_else(|| "none".to_owned(), address);
    let email = match (&notices.email, owner, &people.owner_email) {
        (Some(own), ..) => address(own),
        (None, Some(_), Some(at)) => address(at),
        (None, None, Some(at)) => format!("{} through {}", notices.person, at.channel),
        (None, _, None) => "none; mail needs people.owner_email in the settings".to_owned(),
    };
    let quiet = notices.quiet_hours.map_or_else(
        || "none".to_owned(),
        |quiet| {
            let urgent = match quiet.urgent {
                UrgentNotices::Pass => "urgent notices pass",
                UrgentNotices::Wait => "urgent notices wait too",
            };
            format!("{} to {}; {urgent}", quiet.from, quiet.to)
        },
    );
    let name = |to: DirectDestination| NoticeDestination::from(to).name();
    let minutes = notices.unanswered.after.as_secs() / 60;
    anstream::println!();
    for (label, text) in [
        ("person", notices.person.clone()),
        ("chat", chat),
        ("email", email),
        ("quiet hours", quiet),
        ("digest", format!("{} to {}", notices.digest.at, name(notices.digest.to))),
        ("unanswered", format!("after {minutes} minutes to {}", name(notices.unanswered.to))),
        ("time zone", notices.time_zone.clone().unwrap_or_else(|| "the organization's".to_owned())),
    ] {
        anstream::println!("{DIM}{label:<13}{DIM:#}{text}");
    }
    Ok(())
}
