//! Sending a mail by SMTP, step by step, so that the outcome is never guessed: a
//! failure before the data of the mail means that nothing was sent; after that the
//! outcome may be unknown.

use std::net::SocketAddr;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use tokio::time::timeout;

use super::compose::OutgoingMail;
use super::{Email, SmtpSecurity};
use crate::http::one_line;
use crate::outbound::{FileContents, MessagePiece, SendContext};
use crate::outcome::SendOutcome;

impl Email {
    /// Sends a piece once.
    pub(crate) async fn send(
        &self,
        piece: &MessagePiece,
        context: SendContext<'_>,
        files: &FileContents,
    ) -> SendOutcome {
        let mail = match self.compose(piece, context, files) {
            Ok(mail) => mail,
            Err(reason) => return SendOutcome::rejected(reason),
        };
        let addresses = match self.resolve().await {
            Ok(addresses) => addresses,
            Err(reason) => return SendOutcome::retry(reason),
        };
        let opened =
            timeout(self.limits.send_timeout, self.open_transaction(&addresses, &mail)).await;
        let mut connection = match opened {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return self.error_outcome(&error, SendOutcome::retry),
            Err(_) => return SendOutcome::retry("the mail server did not respond in time"),
        };
        let time_limit = if piece.files.is_empty() {
            self.limits.send_timeout
        } else {
            self.limits.file_timeout
        };
        match timeout(time_limit, connection.message(&mail.bytes)).await {
            Ok(Ok(_)) => {
                // The mail is sent even if QUIT fails.
                let _ = timeout(self.limits.connect_timeout, connection.quit()).await;
                SendOutcome::Delivered { provider_id: Some(mail.id) }
            }
            Ok(Err(error)) => self.error_outcome(&error, SendOutcome::unknown),
            Err(_) => SendOutcome::unknown("the mail server did not confirm the mail in time"),
        }
    }

    /// Connects and logs in without sending a mail. Returns what the server said, or why mails
    /// cannot be sent.
    pub(crate) async fn check(&self) -> Result<String, String> {
        let addresses = self.resolve().await?;
        match timeout(self.limits.send_timeout, self.connect(&addresses)).await {
            Ok(Ok(mut connection)) => {
                let _ = timeout(self.limits.connect_timeout, connection.quit()).await;
                Ok(format!("the mail server {} accepts the log-in", self.server.host))
            }
            Ok(Err(error)) => {
                Err(self.error_outcome(&error, SendOutcome::retry).reason().to_owned())
            }
            Err(_) => Err("the mail server did not respond in time".to_owned()),
        }
    }

    /// Returns the addresses of the mail server.
    async fn resolve(&self) -> Result<Vec<SocketAddr>, String> {
        let port = self.server.port.unwrap_or(self.server.security.default_port());
        let addresses = timeout(
            self.limits.connect_timeout,
            self.network.resolve_host(&self.server.host, port),
        );
        match addresses.await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(format!("the mail server is not contacted: {error}")),
            Err(_) => Err("the mail server's name was not resolved in time".to_owned()),
        }
    }

    /// Connects and logs in.
    async fn connect(&self, addresses: &[SocketAddr]) -> Result<AsyncSmtpConnection, Error> {
        let server = &self.server;
        let hello = ClientId::Domain(self.from.address.domain().to_owned());
        let tls = || TlsParameters::new_rustls(server.host.clone());
        let implicit_tls = if server.security == SmtpSecurity::Tls { Some(tls()?) } else { None };
        let connect_timeout = Some(self.limits.connect_timeout);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            addresses,
            connect_timeout,
            &hello,
            implicit_tls,
            None,
        )
        .await?;
        if server.security == SmtpSecurity::StartTls {
            connection.starttls(tls()?, &hello).await?;
        }
        if let (Some(user), Some(password)) = (&server.username, &self.password) {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await?;
        }
        Ok(connection)
    }

    /// Connects, logs in and runs all commands before the data of the mail.
    async fn open_transaction(
        &self,
        addresses: &[SocketAddr],
        mail: &OutgoingMail,
    ) -> Result<AsyncSmtpConnection, Error> {
        let mut connection = self.connect(addresses).await?;
        let mut options = Vec::new();
        if !mail.to.to_string().is_ascii() {
            options.push(MailParameter::SmtpUtfEight);
        }
        if !mail.bytes.is_ascii()
            && connection.server_info().supports_feature(Extension::EightBitMime)
        {
            options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        connection.command(Mail::new(Some(self.from.address.clone()), options)).await?;
        connection.command(Rcpt::new(mail.to.clone(), Vec::new())).await?;
        connection.command(Data).await?;
        Ok(connection)
    }

    /// Returns the outcome of a failure: by the server's reply code, or `no_reply` if
    /// there is none.
    fn error_outcome(&self, error: &Error, no_reply: fn(String) -> SendOutcome) -> SendOutcome {
        let text = one_line(&error.to_string());
        let text = self.password.as_ref().map_or(text.clone(), |secret| secret.redact(&text));
        let reason = match error.status().map(u16::from) {
            Some(530..=535) => "the mail server rejected the user name and password".into(),
            _ => format!("the mail server: {text}"),
        };
        if error.is_permanent() || error.is_client() {
            SendOutcome::Rejected { reason }
        } else if error.is_transient() {
            SendOutcome::retry(reason)
        } else {
            no_reply(reason)
        }
    }
}
