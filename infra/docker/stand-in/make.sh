#!/usr/bin/env bash
# Makes stand-ins for the images of docker-compose.yml where none can be pulled: of Debian's packages, as root, with
# debootstrap. They do here what the real ones do for RLX, and no more.
#   infra/docker/stand-in/make.sh [python] [redis] [postgres]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly here suite=bookworm python=python:3.11-slim-bookworm certificates=/etc/ssl/certs/ca-certificates.crt

make_python() {
    local root
    root="$(mktemp -d)"
    # In memory: unpacking a hundred packages, each of which wants its files on disk at once, is what takes the time.
    mount -t tmpfs -o size=2g tmpfs "$root"
    trap 'umount "$root"; rmdir "$root"; trap - RETURN EXIT' RETURN EXIT
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv "$suite" "$root" ${MIRROR:+"$MIRROR"} \
        > "$root/debootstrap.log" || { tail -20 "$root/debootstrap.log" >&2; return 1; }
    # Debian's Python is /usr/bin/python3; the image that this stands for has these names.
    ln -s /usr/bin/python3 "$root/usr/local/bin/python3"
    ln -s /usr/bin/python3 "$root/usr/local/bin/python"
    # A network that checks what passes signs it with certificates of its own, which this machine trusts.
    if [[ -s $certificates ]]; then install -m 644 "$certificates" "$root$certificates"; fi
    rm -rf "$root"/debootstrap* "$root"/var/{cache/apt,log}/* "$root"/usr/share/{doc,man,locale}/*
    tar --directory "$root" --create . | docker import \
        --change "ENV PIP_CERT=$certificates SSL_CERT_FILE=$certificates LANG=C.UTF-8" --change 'CMD ["python3"]' - "$python"
}

# The rest are recipes on top of the first.
make_recipe() {
    DOCKER_BUILDKIT=0 docker build --quiet --file "$here/$1.Dockerfile" --tag "$2" "$here"
}

(($#)) || set -- python redis postgres
for image; do
    case "$image" in
    python) make_python ;;
    redis) make_recipe redis redis:7-bookworm ;;
    postgres) make_recipe postgres postgres:15-bookworm ;;
    *) echo "there is no stand-in for $image" >&2 && exit 2 ;;
    esac
done
