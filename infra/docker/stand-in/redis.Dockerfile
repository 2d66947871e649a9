# Stands for redis:7-bookworm: Debian's Redis 7, run by its own user in /data.
FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install --yes --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
    && install -d -o redis -g redis /data
WORKDIR /data
CMD ["redis-server"]
