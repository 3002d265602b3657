//! The guardrail matrix through the command line: the keys of an owner at each business layer,
//! and a visitor of a web chat, try each capability on every organization of a server.

use crate::demo::DemoInstallation;
use crate::remote::serve_copy;

const ORGS: [&str; 4] = ["platform", "harbour", "bella", "stranger"];

/// What is tried; its command is in [`command`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capability {
    CreateClient,
    DeployBot,
    ManageSettings,
    ModifyAgent,
    EvolveSoul,
    ReadData,
    WriteData,
    DelegateDown,
    GrantCredits,
}

use Capability::{
    CreateClient, DelegateDown, DeployBot, EvolveSoul, GrantCredits, ManageSettings, ModifyAgent,
    ReadData, WriteData,
};

const CAPABILITIES: [Capability; 9] = [
    CreateClient,
    DeployBot,
    ManageSettings,
    ModifyAgent,
    EvolveSoul,
    ReadData,
    WriteData,
    DelegateDown,
    GrantCredits,
];

/// Returns whether the owner of an org at this layer may do it to an org, as the table of
/// `tests/conversations/layers/matrix.rs` says for people: the platform does everything, an
/// agency looks at its clients and gives them work, a client has itself only.
fn allowed(capability: Capability, layer: u8, org: &str) -> bool {
    match (capability, layer) {
        (_, 4) | (DelegateDown | CreateClient, 3) => false,
        // There is one level of clients, below agencies.
        (CreateClient | DelegateDown, 1) => matches!(org, "harbour" | "stranger"),
        (DelegateDown, _) => org == "bella",
        (_, 1) => true,
        (GrantCredits, _) => false,
        (ReadData, 2) => matches!(org, "harbour" | "bella"),
        (_, 2) => org == "harbour",
        (_, _) => org == "bella",
    }
}

/// Returns the command that tries a capability on an org; work is given from the own org, and
/// `number` makes its effect unique.
fn command(capability: Capability, home: &str, org: &str, number: usize) -> Vec<String> {
    let agent = agent_of(org);
    let slug = format!("new-{number}");
    let handoffs = format!("team.max_handoffs={number}");
    let tags = format!("knowledge_tags=[\"tag-{number}\"]");
    let text = format!("text-{number}.md");
    let title = format!("Title {number}");
    let channel = channel_file(org);
    let reference = format!("invoice-{number}");
    let words: Vec<&str> = match capability {
        CreateClient => vec!["org", "create", &slug, "--name", "New", "--parent", org, "--yes"],
        DeployBot => vec!["apply", &channel, "--yes"],
        ManageSettings => vec!["settings", "set", &handoffs, "--org", org, "--yes"],
        ModifyAgent => vec!["agent", "set", agent, &tags, "--org", org, "--yes"],
        EvolveSoul => vec!["soul", "import", agent, "SOUL.md", "--org", org, "--yes"],
        ReadData => vec!["session", "ls", "--org", org],
        WriteData => vec!["knowledge", "add", &text, "--title", &title, "--org", org],
        DelegateDown => {
            vec!["org-delegation", "create", "Open at ten", "--to", org, "--org", home]
        }
        GrantCredits => vec!["credit", "grant", "1", "--reference", &reference, "--org", org],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Returns an agent of an org that is not protected.
fn agent_of(org: &str) -> &'static str {
    if org == "bella" { "enzo" } else { "pm" }
}

/// Returns the name of the file that connects an org to a channel.
fn channel_file(org: &str) -> String {
    format!("{org}-channel.toml")
}

/// Gives each org what the commands name: an agent that is not protected.
fn prepare(demo: &DemoInstallation) {
    demo.run(&[
        "org",
        "create",
        "stranger",
        "--name",
        "Stranger",
        "--plan",
        "agency",
        "--sub-orgs",
        "--yes",
    ]);
    demo.run(&["org", "set", "harbour", "plan=enterprise", "--yes"]);
    for org in ORGS {
        if org != "bella" {
            demo.run(&[
                "agent",
                "create",
                "pm",
                "--subtype",
                "sales_assistant",
                "--org",
                org,
                "--yes",
            ]);
        }
    }
}

/// L37-L41, L44: the matrix through commands on a server. What is not allowed fails, says
/// why in a sentence, and leaves nothing; a visitor's token is no key.
#[test]
fn l37_l38_l39_l40_l41_l44_the_matrix_holds_through_commands() {
    let demo = DemoInstallation::new();
    prepare(&demo);
    let owners =
        [("platform", "platform_admin"), ("harbour", "owner"), ("bella", "owner"), ("bella", "")];
    let keys = owners.map(|(home, role)| match role {
        "" => "wct_a-visitor-of-a-web-chat".to_owned(),
        role => {
            let key = demo.json(&["key", "create", "matrix", "--org", home, "--role", role]);
            key["secret"].as_str().expect("a key").to_owned()
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve_copy(&demo, &folder.path().join("copy"));
    let soul = demo.run(&["soul", "export", "enzo", "--org", "bella"]);
    std::fs::write(server.config.path().join("SOUL.md"), soul).expect("written");
    for org in ORGS {
        let agent = agent_of(org);
        let text = format!(
            "[[channel]]\norg = \"{org}\"\nname = \"desk\"\nkind = \"sms\"\nagent = \"{agent}\"\n\
             settings = {{ url = \"https://gateway.example/out\" }}\n"
        );
        std::fs::write(server.config.path().join(channel_file(org)), text).expect("written");
    }
    let mut wrong = Vec::new();
    let mut number = 1;
    for capability in CAPABILITIES {
        for (place, (home, _)) in owners.iter().enumerate() {
            let layer = u8::try_from(place + 1).expect("a layer");
            for org in ORGS {
                number += 1;
                let words = command(capability, home, org, number);
                let text = server.config.path().join(format!("text-{number}.md"));
                std::fs::write(text, format!("Text {number}.")).expect("written");
                let output = server.run_as(&keys[place], &words);
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let expected = allowed(capability, layer, org);
                let is_sentence = said.starts_with("error: ") && !said.contains("panicked");
                if output.status.success() != expected || !(expected || is_sentence) {
                    wrong.push(format!("layer {layer}, {org}, {words:?}: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
