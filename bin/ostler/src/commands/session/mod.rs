//! `ostler session`: conversations and what was decided in them.

mod ls;
pub(crate) mod show;
pub(crate) mod view;

use crate::cli::talk::Session;

pub(crate) async fn run(command: &Session) -> anyhow::Result<()> {
    match command {
        Session::Ls(ls) => ls::run(ls).await,
        Session::Show(show) => show::run(show).await,
        other => super::operate::on_session::run(other).await,
    }
}
