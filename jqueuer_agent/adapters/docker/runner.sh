# What the resident runner is: functions that the shell in a container reads once, from its standard input. POSIX, with
# built-in commands only, so that nothing but a shell is needed. Names begin with jq_; the environment of a job is set
# in a subshell, so it cannot meddle. Nobody but the agent knows the nonces that mark the end of a command's output.

# jq_find RUNNER: jq_t becomes the processes of jobs that live: the runner's descendants, whatever carries our variable
# in its environment, and in containers of our own (jq_own=1) also orphans that were not there before (jq_b).
jq_find() {
  jq_a=" $1 " jq_p=
  for jq_d in /proc/[0-9]*; do
    jq_i=${jq_d#/proc/}
    case " 1 $1 $$ " in *" $jq_i "*) continue ;; esac
    read -r jq_l <"$jq_d/stat" || continue
    jq_l=${jq_l##*) }
    case $jq_l in [ZX]*) continue ;; esac
    jq_l=${jq_l#* } jq_u=${jq_l%% *}
    if jq_ours; then jq_a="$jq_a$jq_i "; else jq_p="$jq_p $jq_i:$jq_u"; fi
  done
  jq_more=1
  while [ "$jq_more" ]; do
    jq_more= jq_q=$jq_p jq_p=
    for jq_l in $jq_q; do
      case $jq_a in
      *" ${jq_l#*:} "*) jq_a="$jq_a${jq_l%%:*} " jq_more=1 ;;
      *) jq_p="$jq_p $jq_l" ;;
      esac
    done
  done
  jq_t=${jq_a#" $1 "}
}

jq_ours() {
  case " $jq_b " in *" $jq_d "*) return 1 ;; esac
  [ "$jq_own" = 1 ] && [ "$jq_u" = 1 ] && return 0
  while read -r jq_l || [ "$jq_l" ]; do
    case $jq_l in *JQUEUER_RUNNER=*) return 0 ;; esac
  done <"$jq_d/environ"
  return 1
}

# jq_kill RUNNER: SIGKILL until none is left; where that takes longer than a moment, jq_t names the rest.
jq_kill() {
  jq_k=50
  while jq_find "$1" && [ "$jq_t" ] && [ $jq_k -gt 0 ]; do
    kill -9 $jq_t
    jq_k=$((jq_k - 1))
  done
}

# jq_m becomes the number of processes that were killed here for lack of memory.
jq_count() {
  jq_m=0
  [ "$jq_g" ] && while read -r jq_l jq_u; do
    case $jq_l in oom_kill) jq_m=$jq_u ;; esac
  done <"$jq_g"
}

jq_look() {
  if [ -f "$1" ] && [ -x "$1" ]; then jq_r=; elif [ -e "$1" ]; then jq_r=X; fi
}

# jq_cd NONCE DIRECTORY
jq_cd() {
  cd -- "$2" 2>/dev/null || { echo "$1W" && exit 127; }
}

# jq_go NONCE WORD...: become the command; a session of its own keeps a job that kills its group from killing us.
jq_go() {
  jq_o=$1 jq_r=C
  shift
  case $1 in
  */*) jq_look "$1" ;;
  *)
    jq_p=$PATH:
    while [ "$jq_p" ] && [ "$jq_r" ]; do
      jq_f=${jq_p%%:*} jq_p=${jq_p#*:}
      jq_look "${jq_f:-.}/$1"
    done
    ;;
  esac
  [ "$jq_r" ] && { echo "$jq_o$jq_r" && exit 127; }
  [ "$jq_setsid" ] && exec "$jq_setsid" -- "$@"
  exec "$@"
}

# jq_end NONCE NONCE: right after a command: end what it left running, then say how it went on both streams.
jq_end() {
  jq_s=$? jq_o=$1 jq_e=$2 jq_t= jq_n=
  set -- /proc/[0-9]*
  [ "$*" = "$jq_b" ] || jq_again
  jq_count
  echo "$jq_e" >&3
  echo "$jq_o$jq_s $jq_m ${#jq_t} $jq_n"
}

jq_again() {
  jq_kill $$
  [ "$jq_t" ] && return
  set -- /proc/[0-9]*
  jq_b=$* jq_n=$*
}

# jq_only DIRECTORY NAME: whether nothing is in the directory, or nothing but that, and we may write there.
jq_only() {
  for jq_l in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    [ "$jq_l" = "$1/$2" ] && continue
    if [ -e "$jq_l" ] || [ -L "$jq_l" ]; then return 1; fi
  done
  [ -d "$1/$2" ] && [ -w "$1/$2" ] && [ ! -L "$1" ]
}

for jq_g in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control ''; do
  [ -r "$jq_g" ] && break
done
