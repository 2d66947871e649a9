#!/bin/sh
# On an empty data folder: a cluster with POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB. Then what it was asked to run.
set -eu
umask 077
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    printf '%s\n' "${POSTGRES_PASSWORD:?}" > /tmp/password
    initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    # On the socket alone, so that nobody takes it for ready.
    pg_ctl --options="-c listen_addresses=''" --wait start
    createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --mode=fast --wait stop
fi
[ "$1" = postgres ] && set -- "$@" -c "listen_addresses=*"
exec "$@"
