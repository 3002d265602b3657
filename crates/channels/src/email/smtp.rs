//! Handing a mail to the server, step by step: up to the mail itself nothing can
//! have been sent, and behind it everything may have been.

use std::net::SocketAddr;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use tokio::time::timeout;

use super::compose::Composed;
use super::{Email, Security};
use crate::http::presentable;
use crate::outbound::{Files, Piece, Sending};
use crate::outcome::Outcome;

impl Email {
    /// Sends a piece.
    pub(crate) async fn send(&self, piece: &Piece, how: Sending<'_>, files: &Files) -> Outcome {
        let composed = match self.compose(piece, how, files) {
            Ok(composed) => composed,
            Err(why) => return Outcome::rejected(why),
        };
        let port = self.server.port.unwrap_or(self.server.security.usual_port());
        let found = timeout(self.limits.connect, self.reach.look_up(&self.server.host, port)).await;
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(why)) => return Outcome::retry(format!("the mail server is not asked: {why}")),
            Err(_) => return Outcome::retry("the mail server's name was not found in time"),
        };
        let prepared = timeout(self.limits.send, self.prepare(&found, &composed)).await;
        let mut open = match prepared {
            Ok(Ok(open)) => open,
            Ok(Err(error)) => return self.refused(&error, Outcome::retry),
            Err(_) => return Outcome::retry("the mail server did not answer in time"),
        };
        let time = if piece.files.is_empty() { self.limits.send } else { self.limits.file };
        match timeout(time, open.message(&composed.bytes)).await {
            Ok(Ok(_)) => {
                // It is sent, however we part.
                let _ = timeout(self.limits.connect, open.quit()).await;
                Outcome::Delivered { provider_id: Some(composed.id) }
            }
            Ok(Err(error)) => self.refused(&error, Outcome::unknown),
            Err(_) => Outcome::unknown("the mail server did not say in time whether it has it"),
        }
    }

    /// Everything before the mail itself.
    async fn prepare(
        &self,
        at: &[SocketAddr],
        mail: &Composed,
    ) -> Result<AsyncSmtpConnection, Error> {
        let server = &self.server;
        let hello = ClientId::Domain(self.from.address.domain().to_owned());
        let tls = || TlsParameters::new_rustls(server.host.clone());
        let at_once = if server.security == Security::Tls { Some(tls()?) } else { None };
        let connect = Some(self.limits.connect);
        let mut open =
            AsyncSmtpConnection::connect_tokio1(at, connect, &hello, at_once, None).await?;
        if server.security == Security::StartTls {
            open.starttls(tls()?, &hello).await?;
        }
        if let (Some(user), Some(password)) = (&server.username, &self.password) {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            open.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await?;
        }
        let mut options = Vec::new();
        if !mail.to.to_string().is_ascii() {
            options.push(MailParameter::SmtpUtfEight);
        }
        if !mail.bytes.is_ascii() && open.server_info().supports_feature(Extension::EightBitMime) {
            options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        open.command(Mail::new(Some(self.from.address.clone()), options)).await?;
        open.command(Rcpt::new(mail.to.clone(), Vec::new())).await?;
        open.command(Data).await?;
        Ok(open)
    }

    /// What a failure means: a server that answers says it itself, and otherwise
    /// it depends on how far we were.
    fn refused(&self, error: &Error, unanswered: fn(String) -> Outcome) -> Outcome {
        let said = presentable(&error.to_string());
        let said = self.password.as_ref().map_or(said.clone(), |secret| secret.hide_in(&said));
        let reason = match error.status().map(u16::from) {
            Some(530..=535) => "the mail server does not accept the user name and password".into(),
            _ => format!("the mail server: {said}"),
        };
        if error.is_permanent() || error.is_client() {
            Outcome::Rejected { reason }
        } else if error.is_transient() {
            Outcome::retry(reason)
        } else {
            unanswered(reason)
        }
    }
}
