//! `ostler escalation`: conversations that wait for a person.

use super::open;
use crate::cli::operate::Escalation;
use crate::commands::session::view::{clock, person};
use crate::screen::{BAD, Cell, HEADER, QUIET, print_rows};

pub(crate) async fn run(command: &Escalation) -> anyhow::Result<()> {
    let Escalation::Ls(place) = command;
    let (desk, org) = open(place).await?;
    let queue = desk.office(&org).escalations().await?;
    if place.output.json {
        return crate::commands::print_json(&queue);
    }
    if queue.is_empty() {
        anstream::println!("nobody waits for a person in {}", org.name);
        return Ok(());
    }
    let header = ["session", "who", "urgency", "why", "since", "status"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(queue.iter().map(|one| {
        let state = &one.escalation.state;
        let urgency = format!("{:?}", state.request.urgency).to_lowercase();
        let urgent = state.request.urgency == ostler_domain::human::escalation::Urgency::High;
        [
            one.session.id.to_string().into(),
            one.session.name.clone().unwrap_or_else(|| person(&one.session)).into(),
            if urgent { Cell::styled(urgency, BAD) } else { urgency.into() },
            state.request.reason.as_str().into(),
            clock(state.requested_at).into(),
            format!("{:?}", state.status).to_lowercase().into(),
        ]
    }));
    print_rows(&rows);
    let first = queue[0].session.id;
    anstream::println!(
        "\n{QUIET}next{QUIET:#}  ostler session take-over {first}  {QUIET}answer it yourself{QUIET:#}\n      \
         ostler session dismiss {first}    {QUIET}a false alarm{QUIET:#}"
    );
    Ok(())
}
