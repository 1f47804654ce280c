#!/bin/bash
# The parts of a laboratory that need a shell: namespaces, links, cgroups. Driven by lab.py.
#
#   lab.sh net-up | registry-up | node-up N | node-down N | cut N | mend N | freeze N | thaw N | kill-engine N
#          | builder-up | builder-down | down
#
# LAB_NAME    prefix of every namespace, link and cgroup, unique on the machine (at most 10 characters)
# LAB_SUBNET  first three octets: .1 the machine, .5 the registry, .11 .12 … the nodes
# LAB_DIR     where the engines keep their images and logs;  LAB_REGISTRY  where the registry keeps its own
# LAB_NODES   how many nodes
#
# A node is a tini with a dockerd below it in network, mount, uts, ipc and pid namespaces and in a cgroup of its own.
# All that a part starts lives in its cgroup, so ending a part is killing that cgroup: nothing else needs to be remembered,
# and what a killed run left behind is found by its name. The "switch" is a bridge in a namespace of its own: neither
# iptables rule nor sysctl of the machine is touched. Nodes have no default route: nothing leaves the laboratory.
set -euo pipefail
P=${LAB_NAME:?} NET=${LAB_SUBNET:-} NODES=${LAB_NODES:-0}
R=/run/jqueuer-lab/$P
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
V1_HIERARCHIES="memory cpu cpuacct freezer pids blkio devices"

if [ -e /sys/fs/cgroup/cgroup.controllers ]; then UNIFIED=yes TREE=/sys/fs/cgroup; else UNIFIED='' TREE=/sys/fs/cgroup/pids; fi

join_cgroup() {    # prints the commands by which a shell moves itself into the cgroup of part $1
  if [ $UNIFIED ]; then    # processes may only be in leaves, and containers become siblings of this one
    mkdir -p "$TREE/$P$1/init"; echo "echo 0 > $TREE/$P$1/init/cgroup.procs"
  else
    for h in $V1_HIERARCHIES; do
      [ -d "/sys/fs/cgroup/$h" ] || continue
      mkdir -p "/sys/fs/cgroup/$h/$P$1"; echo "echo 0 > /sys/fs/cgroup/$h/$P$1/cgroup.procs"
    done
  fi
}
frozen() {    # frozen N yes|no
  if [ $UNIFIED ]; then [ -d "$TREE/$P$1" ] || return 0; [ "$2" = yes ] && echo 1 > "$TREE/$P$1/cgroup.freeze" || echo 0 > "$TREE/$P$1/cgroup.freeze"
  else [ -d "/sys/fs/cgroup/freezer/$P$1" ] || return 0; [ "$2" = yes ] && s=FROZEN || s=THAWED; echo $s > "/sys/fs/cgroup/freezer/$P$1/freezer.state"; fi
}
members() { find "$TREE/$P$1" -name cgroup.procs -exec cat {} + 2>/dev/null | grep -vx 0 || true; }
kill_part() {    # end all that is in the cgroup of part $1, then remove the cgroup in every hierarchy
  local i pids left
  frozen "$1" no 2>/dev/null || true
  for i in $(seq 400); do
    pids=$(members "$1"); [ "$pids" ] || break
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
    sleep 0.025
  done
  for i in $(seq 40); do    # a cgroup is busy a moment longer than its last process
    left=$(find /sys/fs/cgroup -maxdepth 2 -type d -name "$P$1" 2>/dev/null)
    [ "$left" ] || return 0
    # shellcheck disable=SC2086
    find $left -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05
  done
}
start() {    # start PART LOGFILE SCRIPT: in the part's cgroup, in the background, apart from this terminal
  join_cgroup "$1" > "$R/$1.start"; cat >> "$R/$1.start"
  setsid bash "$R/$1.start" >> "$2" 2>&1 < /dev/null &
}

net_up() {
  mkdir -p "$R"
  ip netns add "${P}0"; ip -n "${P}0" link set lo up
  ip -n "${P}0" link add br0 type bridge; ip -n "${P}0" addr add "$NET.5/24" dev br0; ip -n "${P}0" link set br0 up
  ip link add "${P}h" type veth peer name ph netns "${P}0"; ip -n "${P}0" link set ph master br0 up
  ip addr add "$NET.1/24" dev "${P}h"; ip link set "${P}h" up
  ip netns exec "${P}0" sh -c 'echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables' 2>/dev/null || true
}

registry_up() {
  mkdir -p "$LAB_DIR" "$LAB_REGISTRY"
  cat > "$R/registry.yml" <<YAML
version: 0.1
log: { level: warn, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: $LAB_REGISTRY }, delete: { enabled: true } }
http: { addr: "$NET.5:5000" }
YAML
  start 0 "$LAB_DIR/registry.log" <<SH
exec nsenter --net=/run/netns/${P}0 docker-registry serve $R/registry.yml
SH
}

node_up() {
  local n=$1 d=$LAB_DIR/node$1 i
  mkdir -p "$d/data" "$d/run"
  ip netns add "$P$n"; ip -n "$P$n" link set lo up
  # Its hardware address stays when it is switched on again, or its neighbours would look for the old one for a minute.
  ip -n "${P}0" link add "v$n" type veth peer name eth0 address "02:00:00:00:00:0$n" netns "$P$n"; ip -n "${P}0" link set "v$n" master br0 up
  ip -n "$P$n" addr add "$NET.1$n/24" dev eth0; ip -n "$P$n" link set eth0 up
  printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' > "$R/$n.resolv"
  { echo "127.0.0.1 localhost"; echo "$NET.5 registry"; for i in $(seq "$NODES"); do echo "$NET.1$i node$i"; done; } > "$R/$n.hosts"
  cat > "$R/$n.json" <<JSON
{ "hosts": ["unix://$R/$n.sock", "unix:///run/docker.sock"], "data-root": "$d/data", "exec-root": "/run/docker",
  "pidfile": "/run/docker.pid", "cgroup-parent": "/$P$n", "exec-opts": ["native.cgroupdriver=cgroupfs"],
  "insecure-registries": ["registry:5000"], "registry-mirrors": ["http://registry:5000"],
  "dns": ["$NET.5"], "dns-opts": ["timeout:1", "attempts:1"], "log-level": "warn" }
JSON
  # The engine's own /run hides the machine's, all but this laboratory's part of it, through which tests talk to it.
  cat > "$R/$n.init" <<SH
set -eu
mount --make-rprivate /
hostname node$n
mount -t tmpfs -o mode=755 tmpfs $d/run
mkdir -p $d/run/lock $d/run/${R#/run/}
mount --bind $R $d/run/${R#/run/}
mount --rbind $d/run /run
mount -t proc proc /proc
mkdir -p /etc/docker; mount -t tmpfs tmpfs /etc/docker    # an engine's identity is kept there
for f in resolv hosts; do
  t=/etc/hosts; [ \$f = hosts ] || t=\$(readlink -m /etc/resolv.conf)
  mkdir -p "\${t%/*}"; [ -e "\$t" ] || : > "\$t"
  mount --bind $R/$n.\$f "\$t"
done
exec tini -s -- sh -c 'while :; do dockerd --config-file $R/$n.json; [ -e $R/$n.norestart ] && sleep infinity; sleep 1; done'
SH
  start "$n" "$d/log" <<SH
exec nsenter --net=/run/netns/$P$n unshare -m -u -i -p --fork --kill-child bash $R/$n.init
SH
}
node_down() {
  kill_part "$1"
  ip -n "${P}0" link del "v$1" 2>/dev/null || true    # a namespace goes later than its deletion says, its link would stay so long
  ip netns del "$P$1" 2>/dev/null || true
  rm -f "$R/$1".*
}
kill_engine() {    # as the kernel would in need of memory: containers are left to their shims
  local pid
  for pid in $(members "$1"); do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] && kill -9 "$pid"; done
  return 0
}

builder_up() {    # in the machine's own network, where package registries are reached; changes nothing there
  local d=$LAB_DIR
  mkdir -p "$R" "$d/data" "$d/run"
  cat > "$R/B.init" <<SH
set -eu
mount --make-rprivate /
resolv=\$(cat /etc/resolv.conf)
mount -t tmpfs -o mode=755 tmpfs $d/run
mkdir -p $d/run/lock $d/run/${R#/run/}
mount --bind $R $d/run/${R#/run/}
mount --rbind $d/run /run
mount -t proc proc /proc
t=\$(readlink -m /etc/resolv.conf); [ -e "\$t" ] || { mkdir -p "\${t%/*}"; printf '%s\n' "\$resolv" > "\$t"; }
exec tini -s -- dockerd --bridge=none --iptables=false --ip-forward=false --ip-masq=false --data-root $d/data --exec-root /run/docker \
  -H unix://$R/B.sock --pidfile /run/docker.pid --cgroup-parent /${P}B --exec-opt native.cgroupdriver=cgroupfs --log-level warn
SH
  start B "$d/log" <<SH
exec unshare -m -i -p --fork --kill-child bash $R/B.init
SH
}
builder_down() { kill_part B; rm -rf "$R"; }

down() {    # whatever there is of this name, also after a start that failed half-way
  local n
  for n in $(ip netns list 2>/dev/null | awk '{print $1}' | sed -n "s/^$P\([1-9]\)$/\1/p"); do node_down "$n" & done
  wait
  for n in $(find /sys/fs/cgroup -maxdepth 2 -type d -name "$P[0-9]" 2>/dev/null | sed 's/.*\(.\)$/\1/' | sort -u); do kill_part "$n"; done
  ip link del "${P}h" 2>/dev/null || true
  ip netns del "${P}0" 2>/dev/null || true
  rm -rf "$R"
}

case $1 in
  net-up) net_up ;;
  registry-up) registry_up ;;
  node-up) node_up "$2" ;;
  node-down) node_down "$2" ;;
  cut) ip -n "${P}0" link set "v$2" down ;;
  mend) ip -n "${P}0" link set "v$2" up ;;
  freeze) frozen "$2" yes ;;
  thaw) frozen "$2" no ;;
  kill-engine) kill_engine "$2" ;;
  builder-up) builder_up ;;
  builder-down) builder_down ;;
  down) down ;;
  *) echo "lab.sh: unknown command $1" >&2; exit 2 ;;
esac
