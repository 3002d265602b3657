//! `ostler instruction`: what PMs told the agents of their org.

use clap::{Args, Subcommand};
use ostler_api::hierarchy::Instruction;
use ostler_domain::id::NoticeId;
use serde_json::{Value, json};

use super::args::OrgArgs;
use super::operator::print_result;
use super::rfc3339;
use super::session::view::format_time;
use crate::api_client::{Nothing, open_org};
use crate::screen::{Cell, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum InstructionCommand {
    /// List the instructions that an agent follows
    #[command(after_help = "\
Examples:
  ostler instruction ls gia --org bella
  ostler instruction ls gia --org bella --json")]
    Ls(InstructionLsArgs),
    /// Withdraw an instruction, so that its agent does not read it any more
    #[command(after_help = "\
Examples:
  ostler instruction withdraw ntc_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella")]
    Withdraw(InstructionWithdrawArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InstructionLsArgs {
    /// Agent, by slug, id or role
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InstructionWithdrawArgs {
    /// Instruction, by id
    #[arg(value_name = "INSTRUCTION")]
    instruction: NoticeId,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &InstructionCommand) -> anyhow::Result<()> {
    match command {
        InstructionCommand::Ls(args) => list(args).await,
        InstructionCommand::Withdraw(InstructionWithdrawArgs { instruction, target }) => {
            let org = open_org(target).await?;
            let id = instruction.to_string();
            let _: Nothing = org.post(&["instructions", &id, "withdraw"], &()).await?;
            let json = json!({"instruction": instruction, "withdrawn": true});
            print_result(&target.output, &json, &format!("withdrawn {instruction}"))
        }
    }
}

async fn list(args: &InstructionLsArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let path = ["agents", args.agent.as_str(), "instructions"];
    let all: Vec<Instruction> = org.list(&path, &[], usize::MAX).await?;
    if args.target.output.json {
        let all: Vec<Value> = all
            .iter()
            .map(|one| {
                json!({"instruction": one.id, "text": one.text,
                    "created_at": rfc3339(one.created_at)})
            })
            .collect();
        return super::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("{} has no instructions", args.agent);
        return Ok(());
    }
    let mut rows = vec![["instruction", "since", "text"].map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|one| {
        [
            Cell::whole(one.id.to_string()),
            Cell::whole(format_time(one.created_at)),
            one.text.as_str().into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
