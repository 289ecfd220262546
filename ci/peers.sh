#!/usr/bin/env bash
# Installs the queue servers that prony-peers measures, and prints their versions:
#
#   redis-server, rabbitmq-server, beanstalkd, postgresql   packages of the distribution (Debian, Ubuntu); needs root and apt-get
#   nats-server                                             built into bin/ from the Go module that ci/peers/go.mod pins
#
# Installed packages are not changed. No server runs afterwards: the script prevents packages from starting their services during the
# installation. Without root the script lists the missing packages, builds nats-server, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

# The program of each server, and the package that contains it.
servers=(redis-server:redis-server rabbitmq-server:rabbitmq-server beanstalkd:beanstalkd postgres:postgresql)

say() { echo "peers: $*"; }

# installed SERVER: Debian keeps postgres outside of PATH, in a folder for each version.
installed() {
  command -v "$1" >/dev/null || { [[ $1 == postgres ]] && compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }
}

missing=()
for entry in "${servers[@]}"; do
  installed "${entry%%:*}" || missing+=("${entry##*:}")
done

policy=/usr/sbin/policy-rc.d
install_packages() {
  # RabbitMQ's package leaves Erlang's port mapper running.
  local mapper
  mapper=$(pgrep -x epmd || true)
  # A host's existing policy is kept. Otherwise services do not start while packages are installed.
  if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  # PostgreSQL's package creates a cluster with a service, which nothing here uses.
  if [[ ! -e /etc/postgresql-common/createcluster.conf ]]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
  if [[ -z $mapper ]] && command -v epmd >/dev/null; then
    epmd -kill >/dev/null 2>&1 || true # fails if no mapper runs
  fi
  # The packages' services must not start at the next boot either.
  if command -v systemctl >/dev/null; then
    systemctl disable redis-server rabbitmq-server beanstalkd postgresql >/dev/null 2>&1 || true
  fi
}

failed=0
if ((${#missing[@]} == 0)); then
  say "all packages are installed"
elif [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
  say "not installed: ${missing[*]}. Run this script as root on Debian or Ubuntu, or install them yourself"
  failed=1
else
  say "installing ${missing[*]} with apt-get"
  install_packages "${missing[@]}"
fi

say "building bin/nats-server"
mkdir -p bin
(cd ci/peers && GOWORK=off go build -o ../../bin/nats-server github.com/nats-io/nats-server/v2)

# version NAME COMMAND...
version() {
  local name=$1
  shift
  if command -v "$1" >/dev/null; then
    say "$name: $("$@" 2>/dev/null | head -n 1)"
  else
    say "$name: not installed"
  fi
}
postgres=$(command -v postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1 || true)
version Redis redis-server --version
# The folder's name has RabbitMQ's version. rabbitmqctl would start Erlang's port mapper, which does not end.
rabbitmq=$(readlink -f /usr/lib/rabbitmq/bin/rabbitmq-server 2>/dev/null | sed -n 's/.*rabbitmq_server-\([0-9.]*\).*/\1/p' || true)
say "RabbitMQ: ${rabbitmq:-not installed}"
version beanstalkd beanstalkd -v
version PostgreSQL "${postgres:-postgres}" --version
version NATS bin/nats-server --version
exit "$failed"
