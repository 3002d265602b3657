//! The harnesses of threads that `ostler serve` offers over HTTP.

use std::path::Path;
use std::sync::Arc;

use ostler_api::thread::{ModelKey, ThreadChoices, ThreadMode, ThreadModel};
use ostler_harness::{
    Budget, Harness, HarnessOMConfig, ModeDefinition, NoState, Store, WorkspaceSource,
};
use ostler_models::catalogue::{Catalogue, CatalogueEntry, KeyStatus};
use ostler_server::threads::BuildError;
use ostler_server::{ThreadOptions, ThreadOwner};
use ostler_tools::web::Fetcher;
use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
use ostler_workspace::workspace::WorkspaceOptions;

use crate::commands::permission::files::default_policies;
use crate::installation::Installation;
use crate::thread_modes;

/// Returns how threads are served.
pub(crate) fn options(
    installation: &Installation,
    store: &Store,
    catalogue: Arc<Catalogue>,
) -> anyhow::Result<ThreadOptions> {
    let modes = thread_modes::modes(installation)?;
    let tools = ostler_tools::catalogue::web_tools(&Fetcher::public()?);
    let root = installation.thread_workspaces();
    let lease = installation.lease_timeout();
    let (id, store) = (holder_name(), store.clone());
    let choices = {
        let (modes, catalogue) = (modes.clone(), catalogue.clone());
        move || thread_choices(&modes, &catalogue)
    };
    let build = move |owner: &ThreadOwner| -> Result<Harness, BuildError> {
        let mut builder = Harness::<NoState>::builder(&id, store.clone())
            .org(owner.org)
            .resource_id(&owner.resource)
            .models(catalogue.clone())
            .budget(Budget::Ledger)
            .memory(HarnessOMConfig::default())
            .permission_rules(default_policies());
        for mode in &modes {
            builder = builder.mode(mode.clone().into());
        }
        for tool in &tools {
            builder = builder.tool(tool.clone());
        }
        if let Some(lease) = lease {
            builder = builder.lease(lease);
        }
        if let Some(root) = &root {
            builder = builder.workspace(workspace(root, owner)?);
        }
        Ok(builder.build()?)
    };
    Ok(ThreadOptions { choices: Arc::new(choices), ..ThreadOptions::new(Arc::new(build)) })
}

/// Returns the modes and models that threads can have.
fn thread_choices(modes: &[ModeDefinition], catalogue: &Catalogue) -> ThreadChoices {
    let default = catalogue.default_model();
    let mode = |mode: &ModeDefinition| ThreadMode {
        id: mode.id.clone().into_owned(),
        name: mode.name.clone().into_owned(),
    };
    let model = |entry: CatalogueEntry| {
        let (key, key_hint) = match entry.key_status {
            KeyStatus::KeyPresent => (ModelKey::Present, None),
            KeyStatus::NotNeeded => (ModelKey::NotNeeded, None),
            KeyStatus::Missing { how } => (ModelKey::Missing, Some(how)),
        };
        ThreadModel {
            is_default: default == Some(entry.name.as_str()),
            id: entry.name,
            provider: entry.provider,
            key,
            key_hint,
            input_price: entry.price.input.to_string(),
            output_price: entry.price.output.to_string(),
        }
    };
    ThreadChoices {
        modes: modes.iter().map(mode).collect(),
        models: catalogue.entries().into_iter().map(model).collect(),
    }
}

/// Returns the folder of an owner, which is created if necessary. Owners do not see each
/// other's files.
fn workspace(root: &Path, owner: &ThreadOwner) -> Result<WorkspaceSource, BuildError> {
    let folder = root.join(owner.org.to_string()).join(&owner.resource);
    std::fs::create_dir_all(&folder)?;
    let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
    Ok(WorkspaceSource::Config(WorkspaceOptions::new(&folder, sandbox)))
}

/// Returns the name of this server, for those who find a thread in use.
fn holder_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match host.trim() {
        "" => "ostler serve".to_owned(),
        host => format!("ostler serve on {host}"),
    }
}
