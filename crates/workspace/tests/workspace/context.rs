//! Instructions, skills, prompts and mentions in a workspace.

use ostler_engine::history::Content;
use ostler_workspace::context::{
    expand_mentions, find_instructions, find_nested_instructions, find_prompts, find_skills,
};

use crate::support::{SECRET, TestWorkspace};

#[test]
fn instructions_of_the_root_come_before_those_of_the_working_directory() {
    let test = TestWorkspace::new();
    test.put("AGENTS.md", "root\n");
    test.put("web/AGENTS.md", "web\n");
    test.put("web/src/x.ts", "");
    test.put("api/AGENTS.md", "api\n");
    let found = find_instructions(test.workspace.files(), "web/src").expect("instructions");
    let texts: Vec<(&str, &str)> =
        found.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    assert_eq!(texts, [("AGENTS.md", "root\n"), ("web/AGENTS.md", "web\n")]);
    test.put("AGENTS.md", &"x".repeat(100_000));
    let found = find_instructions(test.workspace.files(), ".").expect("instructions");
    assert_eq!((found[0].text.len(), found[0].is_truncated), (64 * 1024, true));
    assert!(find_instructions(test.workspace.files(), "../outside").is_err());
    let nested = find_nested_instructions(test.workspace.files()).expect("paths");
    assert_eq!(nested, ["api/AGENTS.md", "web/AGENTS.md"]);
}

#[test]
fn skills_are_found_and_mistakes_reported_with_their_line() {
    let test = TestWorkspace::new();
    let skill =
        |name: &str, body: &str| format!("---\nname: {name}\ndescription: Does it.\n---\n{body}\n");
    test.put(".ostler/skills/pdf/SKILL.md", &skill("pdf", "First."));
    test.put(".agents/skills/pdf/SKILL.md", &skill("pdf", "Second."));
    test.put(".agents/skills/tests/SKILL.md", &skill("tests", "Run them."));
    test.put(".agents/skills/broken/SKILL.md", &skill("other", ""));
    test.put(".agents/skills/empty/notes.txt", "");
    let list = find_skills(test.workspace.files()).expect("skills");
    let skills: Vec<(&str, &str)> =
        list.skills.iter().map(|skill| (skill.name.as_str(), skill.body.as_str())).collect();
    assert_eq!(skills, [("pdf", "First."), ("tests", "Run them.")]);
    let errors: Vec<String> = list.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            ".agents/skills/broken/SKILL.md:2: the name `other` differs from its directory `broken`",
            ".agents/skills/empty/SKILL.md:1: `.agents/skills/empty/SKILL.md` does not exist",
        ]
    );
}

#[test]
fn prompts_are_files() {
    let test = TestWorkspace::new();
    test.put(".ostler/prompts/review.md", "Review $ARGUMENTS.\n");
    test.put(".ostler/prompts/all.md", "Check everything.\n");
    test.put(".ostler/prompts/notes.txt", "");
    let prompts = find_prompts(test.workspace.files()).expect("prompts");
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["all", "review"]);
    assert_eq!(prompts[1].with_arguments("src/main.rs"), "Review src/main.rs.");
}

#[test]
fn mentioned_files_come_with_the_prompt() {
    let test = TestWorkspace::new();
    test.put("a.txt", "hello\n");
    test.put("dir/b.txt", "");
    test.put("long.txt", &"line\n".repeat(20_000));
    let png = b"\x89PNG\r\n\x1a\n\0\0rest";
    std::fs::write(test.root().join("pic.png"), png).expect("a file");
    std::fs::write(test.root().join("blob"), b"\0\x01").expect("a file");
    std::os::unix::fs::symlink("../outside/secret.txt", test.root().join("link")).expect("a link");
    let prompt = "See @a.txt, @dir, @pic.png and @long.txt; not @blob, @link, @gone.rs, @nobody or \
        @a.txt.";
    let expanded = expand_mentions(test.workspace.files(), prompt);
    assert_eq!(expanded.files, ["a.txt", "dir", "pic.png", "long.txt"]);
    assert_eq!(
        expanded.problems,
        [
            "@blob was not added: `blob` is a binary file of 2 bytes.",
            "@link was not added: `link` leads out of the workspace.",
            "@gone.rs was not added: `gone.rs` does not exist.",
        ]
    );
    let [text, file, directory, image, long] = expanded.content.as_slice() else {
        panic!("{:?}", expanded.content)
    };
    assert_eq!(*text, Content::text(prompt));
    assert_eq!(*file, Content::text("<file path=\"a.txt\">\nhello\n</file>"));
    assert_eq!(*directory, Content::text("<directory path=\"dir\">\ndir/b.txt\n</directory>"));
    let media = image.media().expect("an image");
    assert_eq!((media.media_type.as_str(), media.size), ("image/png", png.len() as u64));
    assert!(media.data.as_deref().is_some_and(|data| data.starts_with("iVBORw0KGgo")));
    let long = long.describe();
    assert!(long.len() < 70_000 && long.contains("only its beginning is here"), "{}", long.len());
    assert!(!format!("{expanded:?}").contains(SECRET));
}
