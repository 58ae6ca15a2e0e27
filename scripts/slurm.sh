#!/usr/bin/env bash
# A real Slurm of several nodes on this machine, on the loopback interface only, in a folder of its own; nothing else is touched.
#
#   scripts/slurm.sh up FOLDER NODES    starts it; then: export SLURM_CONF=FOLDER/slurm.conf
#   scripts/slurm.sh power FOLDER NODE  the node loses power: its daemon and everything it runs are gone at once
#   scripts/slurm.sh cut FOLDER NODE    the node loses its network: the daemon is gone, what it runs goes on, and Slurm starts it a second time elsewhere
#   scripts/slurm.sh down FOLDER        stops all of it, by process id
#
# Needs root and Debian's slurmctld, slurmd, slurm-client and munge; installs them where it can. Ends with 77 where it cannot.
set -euo pipefail
action=${1:?give up, power, cut or down}
folder=${2:?give a folder}
export SLURM_CONF=$folder/slurm.conf

# What tasks of this cluster run, on one node or on all of them, whatever has become of their parents.
running() {
  local process
  for process in /proc/[0-9]*; do
    if grep -qzxF "SLURM_CONF=$SLURM_CONF" "$process/environ" 2>/dev/null && grep -qzx "SLURMD_NODENAME=${1:-.*}" "$process/environ" 2>/dev/null; then
      echo "${process#/proc/}"
    fi
  done
}

# The daemons that look after tasks; they hide their environment, but not where they are.
keepers() {
  local process
  for process in $(pgrep -x slurmstepd || true); do
    if [ "$(readlink "/proc/$process/cwd")" = "$folder" ]; then echo "$process"; fi
  done
}

stop() { [ ! -s "$1" ] || kill "${2:--TERM}" "$(cat "$1")" 2>/dev/null || true; }

up() {
  local nodes=$1 host port k
  if ! command -v slurmctld slurmd sbatch munged >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null ||
      ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends slurmctld slurmd slurm-client munge; } >/dev/null 2>&1; then
      echo "Slurm is not here and could not be installed" >&2
      exit 77
    fi
  fi
  [ "$(id -u)" = 0 ] || { echo "a cluster of one's own needs root" >&2; exit 77; }
  host=$(hostname -s)
  port=$((20000 + RANDOM % 10000))
  mkdir -p "$folder/state" "$folder/munge"
  chmod 755 "$folder" "$folder/munge"
  head -c 128 /dev/urandom >"$folder/munge/key"
  chmod 400 "$folder/munge/key"
  chown -R munge:munge "$folder/munge"
  runuser -u munge -- /usr/sbin/munged --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
    --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  # The shortest times that Slurm accepts, so that a lost node is noticed in seconds and not in minutes.
  {
    cat <<CONF
ClusterName=nalm
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmdLogFile=$folder/slurmd.%n.log
SlurmdSpoolDir=$folder/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=100000
ReturnToService=2
SlurmdTimeout=3
MessageTimeout=2
KillWait=5
JobRequeue=1
SlurmdParameters=config_overrides
CONF
    for k in $(seq "$nodes"); do
      echo "NodeName=n$k NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + k)) CPUs=2 State=UNKNOWN"
    done
    echo "PartitionName=all Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
  } >"$SLURM_CONF"
  slurmctld
  for k in $(seq "$nodes"); do
    mkdir -p "$folder/spool.n$k"
    slurmd -N "n$k"
  done
  for k in $(seq 200); do
    if [ "$(timeout 3 sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = "$nodes" ]; then
      if command -v ss >/dev/null && ss -Hltn | awk '{print $4}' | grep -E ":($(seq -s '|' "$port" $((port + nodes))))$" | grep -v '^127\.0\.0\.1:'; then
        echo "Slurm listens beyond this machine" >&2
        exit 1
      fi
      return 0
    fi
    sleep 0.1
  done
  echo "Slurm did not come up" >&2
  tail -n 5 "$folder/slurmctld.log" >&2
  exit 1
}

power() {
  local node=$1 process keeper
  local lost=()
  stop "$folder/slurmd.$node.pid" -KILL
  for process in $(running "$node"); do
    lost+=("$process")
    for keeper in $(keepers); do
      [ "$(ps -o ppid= -p "$process" | tr -d ' ')" != "$keeper" ] || lost+=("$keeper")
    done
  done
  [ "${#lost[@]}" -gt 0 ] || { echo "nothing ran on $node" >&2; exit 1; }
  kill -KILL "${lost[@]}" 2>/dev/null || true
}

case $action in
up) up "${3:?give a number of nodes}" ;;
power) power "${3:?give a node}" ;;
cut) stop "$folder/slurmd.${3:?give a node}.pid" -KILL ;;
down)
  for file in "$folder"/slurmd.*.pid "$folder/slurmctld.pid"; do stop "$file"; done
  for process in $(keepers) $(running); do kill -KILL "$process" 2>/dev/null || true; done
  stop "$folder/munge/pid"
  ;;
*) echo "give up, power, cut or down" >&2; exit 2 ;;
esac
