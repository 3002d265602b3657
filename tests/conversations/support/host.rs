//! A machine for changes of the configuration.

use futures_util::future::BoxFuture;
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_runtime::operations::BotHost;
use ostler_runtime::operations::world::ApplyHost;
use ostler_store::OrgBinding;

/// A machine on which every secret can be stored, and every bot is known by the name of its
/// secret, except those with `bad` in it.
pub(crate) struct TestHost;

impl ApplyHost for TestHost {
    fn new_secret(
        &self,
        _: OrgId,
        binding: BindingId,
        _: &Channel,
    ) -> Result<Option<SecretRef>, String> {
        Ok(Some(SecretRef::File(binding.to_string())))
    }

    fn check_channel(&self, _: OrgId, _: &OrgBinding) -> Result<(), String> {
        Ok(())
    }
}

impl BotHost for TestHost {
    fn check_bot<'a>(
        &'a self,
        _: OrgId,
        bound: &'a OrgBinding,
    ) -> BoxFuture<'a, Result<String, String>> {
        let name = bound.secret.as_ref().map(ToString::to_string).unwrap_or_default();
        let checked = match name.contains("bad") {
            true => Err("Telegram answered 401 Unauthorized".to_owned()),
            false => Ok("test_bot".to_owned()),
        };
        Box::pin(std::future::ready(checked))
    }
}
