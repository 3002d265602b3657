//! `ostler delegation`: work that was given to agents.

pub(super) mod ls;
mod show;
mod update;

use anyhow::bail;
use ostler_domain::dispatch::delegation::{Delegation as Work, DelegationRefused};
use ostler_domain::id::DelegationId;
use ostler_domain::reference::ReferenceCode;
use ostler_runtime::queue::{Page, Work as Which};

use crate::cli::queue::Delegation;
use crate::desk::Desk;

pub(crate) async fn run(command: &Delegation) -> anyhow::Result<()> {
    match command {
        Delegation::Ls(ls) => ls::run(ls).await,
        Delegation::Show(show) => show::run(show).await,
        Delegation::Update(update) => update::run(update).await,
    }
}

/// The work that was named by its id or its code.
async fn find(desk: &Desk, named: &str) -> anyhow::Result<Work> {
    let delegations = desk.runtime.delegations();
    if let Ok(id) = named.parse::<DelegationId>() {
        let work = delegations.get(id).await?;
        return Ok(work.ok_or(DelegationRefused::Unknown(id))?);
    }
    let Ok(code) = named.parse::<ReferenceCode>() else {
        bail!("`{named}` is neither the id (del_…) nor the code (OST-…) of a piece of work");
    };
    let mut page = Page::default();
    loop {
        let some = delegations.list(Which::All, page.clone()).await?;
        let Some(last) = some.last().map(|work| work.id) else {
            bail!("no piece of work has the code {code}");
        };
        if let Some(work) = some.into_iter().find(|work| work.reference == code) {
            return Ok(work);
        }
        page.after = Some(last);
    }
}
