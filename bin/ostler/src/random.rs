//! Texts that nobody can guess.

/// A text of 64 hexadecimal digits that nobody can guess.
pub(crate) fn text() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("this machine gives no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
