//! How methods of the store become operations of the database.
//!
//! An [`OrgStore`] runs its operations within its org: PostgreSQL hides the rows of
//! all others, and an operation of one statement gets the org as its first parameter.
//! A closure may run several times until one run is committed.

use std::collections::BTreeSet;

use ostler_domain::id::OrgId;

use crate::backend::job::{Access, StoreFuture};
use crate::backend::sql::Sql;
use crate::backend::value::{Row, Value};
use crate::backend::{Scope, Tx};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

impl Store {
    /// Reads the rows of all orgs.
    pub(crate) fn read_all_orgs<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.backend.run(Scope::All, Access::Read, Box::new(run))
    }

    /// Changes rows of all orgs.
    pub(crate) fn write_all_orgs<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.backend.run(Scope::All, Access::Write, Box::new(run))
    }

    /// Reads the rows of all orgs, which every message reads; see [`Access::ReadHot`].
    pub(crate) fn read_all_orgs_hot<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.backend.run(Scope::All, Access::ReadHot, Box::new(run))
    }

    /// Leases rows of all orgs; see [`Access::Lease`].
    pub(crate) fn lease_all_orgs<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.backend.run(Scope::All, Access::Lease, Box::new(run))
    }

    /// Changes rows of an org and of others: one that pays for it, or those that it shares a
    /// record with.
    pub(crate) fn write_with_others<T, F>(
        &self,
        org: OrgId,
        others: impl IntoIterator<Item = OrgId>,
        run: F,
    ) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        let others: BTreeSet<OrgId> = others.into_iter().filter(|other| *other != org).collect();
        let scope =
            if others.is_empty() { Scope::Org(org) } else { Scope::OrgAndOthers(org, others) };
        self.backend.run(scope, Access::Write, Box::new(run))
    }
}

impl OrgStore<'_> {
    fn run_as<T, F>(&self, access: Access, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.store.backend.run(Scope::Org(self.org), access, Box::new(run))
    }

    /// Reads, in one snapshot.
    pub(crate) fn read<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.run_as(Access::Read, run)
    }

    /// Reads what every turn reads; see [`Access::ReadHot`].
    pub(crate) fn read_hot<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.run_as(Access::ReadHot, run)
    }

    /// Writes, in one transaction, and waits until it is on disk.
    pub(crate) fn write<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.run_as(Access::Write, run)
    }

    /// Writes, in one transaction, without waiting for the disk.
    pub(crate) fn write_later<T, F>(&self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx) -> Result<T> + Send + 'static,
    {
        self.run_as(Access::WriteLater, run)
    }

    /// Runs a query and reads all its rows. Its first parameter is the org.
    pub(crate) fn rows<T: Send + 'static, const N: usize>(
        &self,
        sql: &'static Sql,
        params: [Value; N],
        read: fn(&Row) -> Result<T>,
    ) -> StoreFuture<Vec<T>> {
        let params = self.with_org(params);
        self.read(move |tx| tx.query(sql, &params)?.iter().map(read).collect())
    }

    /// Runs a query and reads its first row, if there is one. Its first parameter is
    /// the org.
    pub(crate) fn optional<T: Send + 'static, const N: usize>(
        &self,
        sql: &'static Sql,
        params: [Value; N],
        read: fn(&Row) -> Result<T>,
    ) -> StoreFuture<Option<T>> {
        let params = self.with_org(params);
        self.read(move |tx| tx.first(sql, &params)?.as_ref().map(read).transpose())
    }

    /// Runs a query and reads its first row; fails with [`StoreError::NotFound`] if
    /// there is none. Its first parameter is the org.
    pub(crate) fn one<T: Send + 'static, const N: usize>(
        &self,
        what: &'static str,
        sql: &'static Sql,
        params: [Value; N],
        read: fn(&Row) -> Result<T>,
    ) -> StoreFuture<T> {
        let params = self.with_org(params);
        self.read(move |tx| read(&tx.first(sql, &params)?.ok_or(StoreError::NotFound(what))?))
    }

    /// Runs a statement and returns how many rows it changed. Its first parameter is
    /// the org.
    pub(crate) fn execute<const N: usize>(
        &self,
        sql: &'static Sql,
        params: [Value; N],
    ) -> StoreFuture<u64> {
        let params = self.with_org(params);
        self.write(move |tx| tx.execute(sql, &params))
    }

    /// Changes a row; fails with [`StoreError::NotFound`] if there is none. The first
    /// parameter of the statement is the org.
    pub(crate) fn change<const N: usize>(
        &self,
        what: &'static str,
        sql: &'static Sql,
        params: [Value; N],
    ) -> StoreFuture<()> {
        let params = self.with_org(params);
        self.write(move |tx| match tx.execute(sql, &params)? {
            0 => Err(StoreError::NotFound(what)),
            _ => Ok(()),
        })
    }

    fn with_org<const N: usize>(&self, params: [Value; N]) -> Vec<Value> {
        std::iter::once(self.org.into()).chain(params).collect()
    }
}
