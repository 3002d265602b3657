//! Canned replies: texts that the people of an org send often, with a placeholder for the
//! name of the customer.

/// The placeholder for the name of the customer.
pub const NAME: &str = "{name}";

/// Returns a canned reply for a customer. Without a name, the placeholder is left out together
/// with the space before it, so that "Hello {name}," becomes "Hello,".
pub fn fill(reply: &str, name: Option<&str>) -> String {
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => reply.replace(NAME, name),
        None => reply.replace(" {name}", "").replace(NAME, "").trim_start().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn u03_a_canned_reply_names_the_customer() {
        for (reply, name, expected) in [
            ("Hello {name}, one moment.", Some("Rosa"), "Hello Rosa, one moment."),
            ("Hello {name}, one moment.", None, "Hello, one moment."),
            ("Hello {name}, one moment.", Some("  "), "Hello, one moment."),
            ("{name}: we are open.", None, ": we are open."),
            ("We are open.", Some("Rosa"), "We are open."),
            ("{name} {name}", Some("{name}"), "{name} {name}"),
        ] {
            assert_eq!(fill(reply, name), expected, "{reply} {name:?}");
        }
    }
}
