#!/usr/bin/env bash
# Installs the node of this project as a systemd service, or brings it up to date. Running it again changes nothing.
#
#   sudo scripts/deploy.sh                    install, enable and start
#   scripts/deploy.sh --check                 write the unit to build/ and check it; changes nothing else
#   sudo scripts/deploy.sh --remove           stop and uninstall
#
# CONFIG, NODE, MODEL and RLX (the command) can be given in the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
service=rlx-{{name}}
config=${CONFIG:-$root/configs/local.yaml}
model=${MODEL:-$root/models/resnet18.rlx}
node=${NODE:-}
rlx=${RLX:-$(command -v rlx || true)}
folder=/etc/systemd/system
secrets=/etc/rlx/$service.env

fail() { echo "deploy: $1" >&2; exit 2; }

verify() {
    if ! command -v systemd-analyze >/dev/null; then
        echo "systemd-analyze is not here: the unit is not checked" >&2
        return
    fi
    systemd-analyze verify "$1"
    echo "systemd-analyze finds nothing wrong in $1"
}

unit() {
    cat <<UNIT
[Unit]
Description=RLX node of {{name}}
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart="$rlx" run --config "$config" --model "$model"${node:+ --node "$node"}
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
EnvironmentFile=-$secrets
Environment=RLX_CACHE_DIR=%S/$service/cache RLX_DATA_FOLDER=%S/$service/node HOME=%S/$service
WorkingDirectory=%S/$service
StateDirectory=$service
StateDirectoryMode=0700
UMask=0077

# A node reads its project and its Python, writes its state, and talks to the network. Nothing else is its business.
DynamicUser=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
UNIT
}

[[ -x $rlx ]] || fail "the rlx command is not found: activate its environment, or set RLX=/path/to/rlx"
[[ -f $config ]] || fail "there is no config $config"
[[ -f $model ]] || fail "there is no model $model"

case ${1:-} in
    --check)
        mkdir -p build
        unit >"build/$service.service"
        verify "build/$service.service"
        ;;
    --remove)
        systemctl disable --now "$service" 2>/dev/null || true
        rm -f "$folder/$service.service"
        systemctl daemon-reload
        echo "$service is removed; its state stays in /var/lib/private/$service"
        ;;
    "")
        ((EUID == 0)) || fail "installing a service needs root: sudo RLX=$rlx $0"
        fresh=$(mktemp --suffix=.service)
        trap 'rm -f "$fresh"' EXIT
        unit >"$fresh"
        verify "$fresh"
        if [[ ! -f $secrets ]]; then
            install -D -m 600 /dev/null "$secrets"
            echo "put RLX_API_KEY=… into $secrets to open the node to other machines"
        fi
        if cmp --silent "$fresh" "$folder/$service.service"; then
            systemctl enable --quiet --now "$service"
            echo "$service is up to date"
        else
            install -m 644 "$fresh" "$folder/$service.service"
            systemctl daemon-reload
            systemctl enable --quiet "$service"
            systemctl restart "$service"
            echo "$service is installed and started: journalctl -u $service -f"
        fi
        ;;
    *) fail "unknown option $1" ;;
esac
