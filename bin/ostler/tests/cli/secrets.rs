//! O06: secrets that files refer to are used and never shown.

use std::process::{Command, Output};

/// An installation whose secrets are canaries.
struct Canaries {
    folder: tempfile::TempDir,
    /// Variables of the environment, with their values.
    variables: Vec<(String, String)>,
    canaries: Vec<String>,
}

const CANARIES: usize = 50;

fn canary(number: usize) -> String {
    // A bot token has digits and a colon; everything else takes any text.
    format!("{}:canary{number:02}q{}", 1000 + number, 7919 * (number + 1))
}

impl Canaries {
    /// Runs a command and returns whether it succeeded, and everything that it printed.
    fn run(&self, args: &[&str]) -> (bool, String) {
        let home = self.folder.path().join("home");
        let output: Output = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .current_dir(self.folder.path())
            .env("OSTLER_HOME", home)
            .env("OSTLER_LOG", "debug")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("ostler runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    fn assert_hidden(&self, what: &str, text: &str) {
        for canary in &self.canaries {
            assert!(!text.contains(canary.as_str()), "{canary} in {what}: {text}");
        }
    }
}

/// Returns a world in which secrets are named in every place that can name one. Half of them
/// are variables, half are files.
fn world(reference: &mut impl FnMut() -> String) -> String {
    let mut text = String::from(
        "[[org]]\nslug = \"shop\"\nname = \"Shop\"\nplan = \"enterprise\"\n\n[[agent]]\nslug = \"ida\"\n\
         name = \"Ida\"\nsubtype = \"pm\"\nautonomy = \"semi_autonomous\"\n",
    );
    for number in 0..6 {
        text += &format!(
            "\n[[channel]]\nname = \"bot{number}\"\nkind = \"telegram\"\nagent = \"ida\"\n\
             settings = {{ polling = false }}\nsecret = \"{}\"\n",
            reference()
        );
    }
    for number in 0..4 {
        text += &format!(
            "\n[[channel]]\nname = \"mail{number}\"\nkind = \"email\"\nagent = \"ida\"\nsecret = \"{}\"\n\
             settings = {{ from = \"a@shop.example\", smtp = {{ host = \"mail.shop.example\", \
             username = \"a\" }} }}\n",
            reference()
        );
    }
    for service in ["payments", "unsplash"] {
        text +=
            &format!("\n[[integration]]\nservice = \"{service}\"\nsecret = \"{}\"\n", reference());
    }
    for number in 0..10 {
        text += &format!(
            "\n[[tool]]\nname = \"lookup{number}\"\ndescription = \"Looks up.\"\nrisk = \"read\"\n\
             url = \"https://shop.example/{number}\"\n\
             headers = {{ Authorization = \"Bearer {}\", X-Api-Key = \"{}\" }}\n[tool.input]\n",
            reference(),
            reference()
        );
    }
    for number in 0..6 {
        text += &format!(
            "\n[[mcp_server]]\nname = \"net{number}\"\nurl = \"https://mcp.example/{number}\"\n\
             headers = {{ Authorization = \"Bearer {}\" }}\n",
            reference()
        );
    }
    for number in 0..6 {
        text += &format!(
            "\n[[mcp_server]]\nname = \"program{number}\"\ncommand = \"no-such-program\"\n\
             env = {{ STOCK_TOKEN = \"{}\", OTHER_SECRET = \"{}\" }}\n",
            reference(),
            reference()
        );
    }
    text
}

/// O06: 50 secrets, in every place that can name one, appear in no plan, export, listing,
/// log, error or audit entry, and not in the database.
#[test]
fn o06_fifty_secrets_are_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let canaries: Vec<String> = (0..CANARIES).map(canary).collect();
    let mut shop = Canaries { folder, variables: Vec::new(), canaries };
    let (made, said) = shop.run(&["init", "--email", "ada@example.org", "--name", "Ada"]);
    assert!(made, "{said}");
    let empty = "[[org]]\nslug = \"shop\"\nname = \"Shop\"\nplan = \"enterprise\"\n";
    std::fs::write(shop.folder.path().join("shop.toml"), empty).expect("written");
    let (made, said) = shop.run(&["apply", "shop.toml", "--yes"]);
    assert!(made, "{said}");
    let (_, org) = shop.run(&["org", "ls", "--json"]);
    let orgs: serde_json::Value = serde_json::from_str(&org).expect("JSON");
    let shop_org = orgs.as_array().expect("a list").iter().find(|org| org["slug"] == "shop");
    let id = shop_org.and_then(|org| org["id"].as_str()).expect("an id").to_owned();
    let secrets = shop.folder.path().join("home/secrets").join(&id);
    std::fs::create_dir_all(&secrets).expect("a folder");

    let mut used = 0;
    let mut variables = Vec::new();
    let text = world(&mut || {
        let number = used;
        used += 1;
        let secret = canary(number);
        if number % 2 == 0 {
            std::fs::write(secrets.join(format!("s{number}")), secret).expect("written");
            return format!("file:s{number}");
        }
        let name = format!("OSTLER_SECRET_{id}_S{number}").to_uppercase();
        variables.push((name.clone(), secret));
        format!("env:{name}")
    });
    assert_eq!(used, CANARIES, "as many as there are canaries");
    shop.variables = variables;
    std::fs::write(shop.folder.path().join("shop.toml"), &text).expect("written");
    let changed = text.replace("s0\"", "s2\"").replace("Looks up.", "Finds.");
    std::fs::write(shop.folder.path().join("changed.txt"), changed).expect("written");
    let broken = text.replace("kind = \"email\"", "kind = \"emial\"").replace("smtp", "smpt");
    std::fs::write(shop.folder.path().join("broken.txt"), broken).expect("written");

    let commands: [(&[&str], bool); 24] = [
        (&["apply", "shop.toml", "--plan"], true),
        (&["apply", "shop.toml", "--plan", "--json"], true),
        (&["apply", "shop.toml", "--yes"], true),
        (&["apply", "changed.txt", "--yes", "--json"], true),
        (&["apply", "broken.txt", "--yes"], false),
        (&["export"], true),
        (&["export", "world"], true),
        (&["audit", "ls", "--org", "shop", "--limit", "1000"], true),
        (&["audit", "ls", "--org", "shop", "--json", "--limit", "1000"], true),
        (&["channel", "ls", "--org", "shop"], true),
        (&["channel", "ls", "--org", "shop", "--json"], true),
        (&["integration", "ls", "--org", "shop", "--json"], true),
        (&["tools", "ls", "--org", "shop"], true),
        (&["tools", "ls", "--org", "shop", "--json"], true),
        (&["tools", "show", "lookup1", "--org", "shop"], true),
        (&["tools", "show", "lookup1", "--org", "shop", "--json"], true),
        (&["tools", "test", "lookup1", "--org", "shop"], false),
        (&["mcp", "ls", "--org", "shop", "--json"], true),
        (&["mcp", "show", "program1", "--org", "shop", "--json"], true),
        (&["mcp", "test", "program1", "--org", "shop"], false),
        (&["policy", "show", "--org", "shop", "--json"], true),
        (&["settings", "show", "--org", "shop", "--json"], true),
        (&["doctor"], false),
        (&["config"], true),
    ];
    for (args, succeeds) in commands {
        let (success, said) = shop.run(args);
        shop.assert_hidden(&args.join(" "), &said);
        assert!(success || !succeeds, "{args:?}: {said}");
        assert!(said.len() > 10, "{args:?} prints something: {said}");
    }
    let home = shop.folder.path().join("home");
    for entry in std::fs::read_dir(home).expect("a folder").flatten() {
        if entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).expect("a file");
            shop.assert_hidden(
                &entry.path().display().to_string(),
                &String::from_utf8_lossy(&bytes),
            );
        }
    }
}
