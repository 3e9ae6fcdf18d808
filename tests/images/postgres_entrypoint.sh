#!/bin/sh
# Sets up the database of POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB at the first start, where the image `postgres` does.
set -eu
export PGDATA=/var/lib/postgresql/18/docker
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    umask 077
    printf '%s\n' "$POSTGRES_PASSWORD" > /tmp/password
    initdb --encoding=UTF8 --locale=C.UTF-8 --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    pg_ctl start --wait -o "-c listen_addresses='' -c unix_socket_directories=/tmp"
    [ "$POSTGRES_DB" = postgres ] || createdb --host=/tmp --username="$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl stop --wait --mode=fast
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/tmp
