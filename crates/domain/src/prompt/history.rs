//! The message window of the model.

/// How many messages before the new one the model sees.
pub const WINDOW: usize = 20;

/// Returns the most recent messages, oldest first.
pub fn window<T>(messages: &[T]) -> &[T] {
    &messages[messages.len().saturating_sub(WINDOW)..]
}

#[cfg(test)]
mod tests {
    use super::window;

    /// A15: exactly the most recent 20, oldest first.
    #[test]
    fn a15_the_window_has_the_last_twenty_messages() {
        let all: Vec<u32> = (0..50).collect();
        let expected: Vec<u32> = (30..50).collect();
        assert_eq!(window(&all), expected);
        assert_eq!(window(&all[..3]), [0, 1, 2]);
        assert!(window::<u32>(&[]).is_empty());
    }
}
