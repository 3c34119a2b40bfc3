#!/bin/sh
# The two databases of the server in compose.yaml, and the user that the service logs in as, who owns
# nothing: `queries init` gives it its roles. Run once, when the server is new.
set -eu
IFS= read -r password < /run/secrets/service_password
psql --username postgres --quiet --set=password="$password" <<'SQL'
CREATE ROLE queries LOGIN NOINHERIT PASSWORD :'password';
SQL
createdb --username postgres queries
createdb --username postgres dagster
