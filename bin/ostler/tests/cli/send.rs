//! `ostler send`.

use crate::demo::DemoInstallation;

/// A GIF with one transparent pixel.
const DOT: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Attached files become parts of the message by their media type, and are shown in the
/// conversation.
#[test]
fn attached_files_are_stored_and_shown() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("the file is written");
        file.to_string_lossy().into_owned()
    };
    let files = [put("dot.gif", DOT), put("voice.mp3", b"ID3"), put("bill.bin", b"\0\x01")];
    let send = ["send", "--org", "bella", "--contact", "otto"];
    let attached: Vec<&str> = files.iter().flat_map(|file| ["--attach", file]).collect();
    let said = demo.run(&[&send[..], &["Is this mine?"], &attached].concat());
    assert!(said.contains("Gia"), "{said}");
    let shown = demo.run(&["session", "show", "otto"]);
    for part in [
        "Is this mine? [picture dot.gif, image/gif, 43 bytes]",
        "[recording voice.mp3, audio/mpeg, 3 bytes]",
        "[file bill.bin, application/octet-stream, 2 bytes]",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    // A picture alone is a message as well.
    let alone = demo.run(&[&send[..], &["--attach", &files[0]]].concat());
    assert!(alone.contains("Otto") && alone.contains("  [picture dot.gif"), "{alone}");

    let wrong = |args: &[&str]| demo.error(&[&send[..], args].concat());
    let large = put("large.iso", &vec![0; (20 << 20) + 1]);
    let said = wrong(&["--attach", &large]);
    assert!(said.contains("large.iso has 21 MiB; a file may have at most 20 MiB"), "{said}");
    assert!(wrong(&["--attach", &put("none.txt", b"")]).contains("none.txt is empty"));
    assert!(wrong(&["--attach", "there-is-no.txt"]).contains("cannot read there-is-no.txt"));
    assert!(wrong(&["--attach", &demo.home()]).contains("is not a file"));
    let many: Vec<&str> = std::iter::repeat_n(["--attach", &files[0]], 11).flatten().collect();
    assert!(wrong(&many).contains("at most 10 files"));
}

#[test]
fn a_message_after_closing_is_answered_in_a_new_session() {
    let demo = DemoInstallation::new();
    let send = |text: &str| demo.run(&["send", text, "--org", "bella", "--contact", "otto"]);
    let first = send("Are you open on Monday?");
    assert_eq!(first.matches("On Mondays the oven rests.").count(), 1, "once: {first}");
    send("hello");
    demo.run(&["session", "close", "otto"]);
    assert!(send("ciao").contains("welcome to Bella Pizza"));
}

/// O23: commands work on the org that OSTLER_ORG names, and find a conversation by the
/// beginning of the customer's address. An address is not taken for a name.
#[test]
fn o23_the_org_is_a_variable_and_a_name_may_be_its_beginning() {
    let demo = DemoInstallation::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let in_bella = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.args(args).args(["--home", &demo.home()]).env("OSTLER_ORG", "bella");
        let output = command.current_dir(&root).output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).expect("text")
    };
    let said = in_bella(&["send", "hello", "--contact", "otto@example.com"]);
    assert!(said.contains("otto@example.com  hello"), "{said}");
    assert!(in_bella(&["session", "show", "otto"]).contains("otto@example.com"), "its beginning");
    assert!(in_bella(&["contact", "show", "rosa"]).contains("Rosa"));
    assert!(!in_bella(&["agent", "ls"]).contains("harbour"), "only the agents of the org");
    in_bella(&["send", "hello", "--contact", "otto"]);
    in_bella(&["send", "hello", "--contact", "ottilie"]);
    let several = in_bella(&["session", "show", "ott"]);
    assert!(several.contains("several conversations are with `ott`"), "{several}");
    assert!(in_bella(&["session", "show", "otto"]).contains("Otto"), "the whole name");
}
