#!/bin/sh
# Run once by the image of PostgreSQL: a role of Ostler's own, which no row-level security
# is bypassed by, and its database.
set -eu

psql --set=ON_ERROR_STOP=1 --username=postgres --set=password="$OSTLER_DATABASE_PASSWORD" <<'SQL'
CREATE ROLE ostler LOGIN PASSWORD :'password';
CREATE DATABASE ostler OWNER ostler;
SQL
