//! Random secrets.

/// Returns 32 random bytes as hexadecimal digits.
pub(crate) fn hex() -> anyhow::Result<String> {
    Ok(bytes()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns 32 random bytes from the operating system.
pub(crate) fn bytes() -> anyhow::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        anyhow::anyhow!("the operating system provides no random numbers: {error}")
    })?;
    Ok(bytes)
}
