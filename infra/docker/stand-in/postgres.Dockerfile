# Stands for postgres:15-bookworm: Debian's PostgreSQL 15 with an entry point that makes user, database and password.
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-common \
    && echo "create_main_cluster = false" >> /etc/postgresql-common/createcluster.conf \
    && apt-get install --yes --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* \
    && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql/data \
    && install -d -o postgres -g postgres -m 3777 /run/postgresql
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
