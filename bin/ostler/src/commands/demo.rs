//! `ostler demo`: the sample world and what its agents may do.

use super::{layer, tools};
use crate::world::{SAMPLE, World};

pub(crate) fn run() -> anyhow::Result<()> {
    let world = World::parse("examples/harbour.toml", SAMPLE)?;
    anstream::println!(
        "ostler {} · the sample world (examples/harbour.toml), nothing leaves this machine\n",
        env!("CARGO_PKG_VERSION")
    );
    layer::print_tree(&world);
    anstream::println!(
        "\nRosa writes to Bella Pizza on the web chat, and Gia answers. Her harness:\n"
    );
    tools::explain(&world, "gia", Some("rosa"))?.print_table();
    let ostler = std::env::args().next().unwrap_or_else(|| "ostler".to_owned());
    let world = "--world examples/harbour.toml";
    anstream::println!(
        "
try   {ostler} tools explain {world} --agent enzo --tool refund_payment
      {ostler} tools explain {world} --agent gia --session otto
      {ostler} layer {world}"
    );
    Ok(())
}
