//! `ostler permission trust`.

use ostler_domain::gate::permission::rule::RuleScope;
use serde_json::json;

use super::files::{KnownTools, PermissionArgs};
use crate::commands::print_json;
use crate::screen::{NextCommand, count, print_next};

pub(super) fn run(args: &PermissionArgs) -> anyhow::Result<()> {
    let (files, tools) = (args.files()?, KnownTools::load()?);
    let category_of = |tool: &str| tools.category(tool);
    let path = files.project_file().unwrap_or_default();
    anyhow::ensure!(path.exists(), "there is no {}; there is nothing to trust", path.display());
    files.load(&category_of)?;
    files.trust_project()?;
    let loaded = files.load(&category_of)?;
    let user = files.user.unwrap_or_default();
    anyhow::ensure!(
        loaded.project_trusted,
        "{} is inside the project, where agents can change it; name another folder with --home",
        user.display()
    );
    let of_project = loaded.rules.iter().filter(|rule| rule.scope == RuleScope::Project).count();
    if args.output.json {
        return print_json(&json!({"file": path, "rules": of_project, "written_to": user}));
    }
    let rules = count(of_project as u64, "rule");
    anstream::println!("trusted {} ({rules}), written to {}", path.display(), user.display());
    print_next([NextCommand::new("ostler permission ls".to_owned(), "")]);
    Ok(())
}
