//! `ostler approval`: calls that wait for a person.

use anyhow::{Context as _, bail};
use ostler_domain::gate::Verdict;
use ostler_domain::id::ApprovalId;
use ostler_domain::org::Org;
use ostler_store::{DecisionState, StoredApproval};

use super::{Desk, open};
use crate::cli::operate::{self, Approval, In};
use crate::commands::session::view::{Names, clock};
use crate::screen::{Cell, HEADER, QUIET, WAITS, print_rows};

/// How many are listed.
const LISTED: u32 = 100;

pub(crate) async fn run(command: &Approval) -> anyhow::Result<()> {
    match command {
        Approval::Ls(place) => ls(place).await,
        Approval::Approve(approve) => {
            let (desk, org) = open(&approve.place).await?;
            let id = named(&desk, &org, &approve.approval).await?;
            let office = desk.office(&org);
            let done = match &approve.with {
                None => office.approve(id).await?,
                Some(text) => {
                    let changed = serde_json::from_str(text).context("--with is not JSON")?;
                    office.approve_with(id, &changed).await?
                }
            };
            said(&done, approve.place.output.json, "approved; the agent makes the call and goes on")
        }
        Approval::Reject(reject) => {
            let (desk, org) = open(&reject.place).await?;
            let id = named(&desk, &org, &reject.approval).await?;
            let done = desk.office(&org).reject(id, &reject.reason).await?;
            said(&done, reject.place.output.json, "rejected; the agent tells the customer")
        }
    }
}

fn said(done: &StoredApproval, json: bool, what: &str) -> anyhow::Result<()> {
    if json {
        return crate::commands::print_json(done);
    }
    anstream::println!("{} {}  {what}", done.approval.id, call(done));
    Ok(())
}

fn call(one: &StoredApproval) -> String {
    super::in_words(one.approval.tool.as_str(), &one.payload)
}

/// The approval that is meant; if there is none, what waits is said.
async fn named(desk: &Desk, org: &Org, text: &str) -> anyhow::Result<ApprovalId> {
    let pending = desk.office(org).approvals(DecisionState::Pending, None, LISTED).await?;
    let known: Vec<ApprovalId> = pending.iter().map(|one| one.approval.id).collect();
    if let Some(id) = operate::named(text, &known) {
        return Ok(id);
    }
    if pending.is_empty() {
        bail!("no approval {text} in {}, and nothing waits there", org.name);
    }
    let each: Vec<String> =
        pending.iter().map(|one| format!("\n  {}  {}", one.approval.id, call(one))).collect();
    bail!("no approval {text} in {}; pending here:{}", org.name, each.concat())
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let pending = desk.office(&org).approvals(DecisionState::Pending, None, LISTED).await?;
    if place.output.json {
        return crate::commands::print_json(&pending);
    }
    if pending.is_empty() {
        anstream::println!("nothing waits for a person in {}", org.name);
        return Ok(());
    }
    let names = Names::of(&desk.store, org.id).await?;
    let header = ["approval", "call", "by", "why", "asked", "expires"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(pending.iter().map(|one| {
        let approval = &one.approval;
        [
            Cell::styled(approval.id.to_string(), WAITS),
            call(one).into(),
            names.get(approval.agent).into(),
            Verdict::Ask(approval.why).to_string().into(),
            clock(approval.requested_at).into(),
            clock(approval.expires_at).into(),
        ]
    }));
    print_rows(&rows);
    anstream::println!(
        "\n{QUIET}next{QUIET:#}  ostler approval approve {} --org {}",
        pending[0].approval.id,
        org.slug
    );
    Ok(())
}
