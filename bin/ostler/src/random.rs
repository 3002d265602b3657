//! Texts that nobody can guess.

/// A text of 64 hexadecimal digits that nobody can guess.
pub(crate) fn text() -> anyhow::Result<String> {
    Ok(bytes()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Bytes that nobody can guess.
pub(crate) fn bytes() -> anyhow::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("this machine gives no random numbers: {error}"))?;
    Ok(bytes)
}
