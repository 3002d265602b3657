//! The modes of threads: those that are shipped, and those of `ostler.toml`.

use anyhow::Context as _;
use ostler_harness::{ModeAccess, ModeDefinition, shipped_modes};

use crate::config::ModeConfig;
use crate::installation::Installation;

/// Returns the modes of an installation.
pub(crate) fn modes(installation: &Installation) -> anyhow::Result<Vec<ModeDefinition>> {
    let mut modes = shipped_modes();
    for (id, config) in &installation.config.mode {
        let known = modes.iter().position(|mode| mode.id == *id);
        let mut mode = match known {
            Some(at) => modes.remove(at),
            None => ModeDefinition {
                id: id.clone().into(),
                name: id.clone().into(),
                instructions: String::new().into(),
                access: ModeAccess::All,
                model: None,
            },
        };
        change(installation, &mut mode, config)?;
        anyhow::ensure!(
            !mode.instructions.trim().is_empty(),
            "the mode `{id}` needs `instructions`, a file with its prompt"
        );
        modes.insert(known.unwrap_or(modes.len()), mode);
    }
    Ok(modes)
}

fn change(
    installation: &Installation,
    mode: &mut ModeDefinition,
    config: &ModeConfig,
) -> anyhow::Result<()> {
    if let Some(path) = &config.instructions {
        let path = installation.folder.join(path);
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| {
            format!("cannot read the instructions of the mode `{}` in {}", mode.id, path.display())
        })?;
        mode.instructions = text.into();
    }
    if let Some(name) = &config.name {
        mode.name = name.clone().into();
    }
    if let Some(read_only) = config.read_only {
        mode.access = if read_only { ModeAccess::ReadOnly } else { ModeAccess::All };
    }
    if config.model.is_some() {
        mode.model.clone_from(&config.model);
    }
    Ok(())
}
