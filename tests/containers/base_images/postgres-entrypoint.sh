#!/bin/sh
# What the entry point of the public image does at a first start, as far as docker-compose.yml relies on it.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    mkdir -p "$PGDATA"
    # Unquoted: several options.
    # shellcheck disable=SC2086
    initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --encoding=UTF8 --no-locale \
        --auth-local=trust $POSTGRES_INITDB_ARGS
    printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
    pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -k /tmp" start
    createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl -D "$PGDATA" -w -m fast stop
fi
exec "$@" -D "$PGDATA" -c listen_addresses='*' -k /run/postgresql
