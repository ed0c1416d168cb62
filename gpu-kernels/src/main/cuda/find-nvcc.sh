#!/usr/bin/env bash
# Prints the path of an nvcc of release 13 or newer: one that is installed (on the PATH, in $CUDA_HOME or in
# /usr/local/cuda), else NVIDIA's wheels of nvcc-wheels.txt, which pip brings once into a cache of the user's,
# ${XDG_CACHE_HOME:-~/.cache}/tilespark/cuda-VERSION. Needs no root. What it does and lacks goes to stderr.
#
#   find-nvcc.sh [--offline]      --offline: only what is installed or in the cache
#
# TILESPARK_CUDA_SEARCH   toolkits in place of /usr/local/cuda, separated by colons; may be empty
#
# Status 1: there is none. Status 2: what PyPI gave is not what nvcc-wheels.txt names.
set -euo pipefail
oldest=13
search=${TILESPARK_CUDA_SEARCH-/usr/local/cuda}

say() {
  echo "[cuda] $*" >&2
}

# The release of nvcc $1, such as 13.0; nothing if it does not run.
release() {
  "$1" --version 2>/dev/null | sed -n 's/.*, release \([0-9.]*\),.*/\1/p'
}

# True if nvcc $1 is new enough; else says why not.
is_usable() {
  local found
  found=$(release "$1") || true
  if [[ -z $found ]]; then
    say "$1 does not run; looking on"
    return 1
  fi
  if ((${found%%.*} < oldest)); then
    say "$1 is release $found, and the kernels need $oldest or newer; looking on"
    return 1
  fi
}

candidates() {
  local homes home
  type -ap nvcc || true
  IFS=: read -r -a homes <<<"${CUDA_HOME:-}:$search"
  for home in "${homes[@]}"; do
    [[ -z $home || ! -x $home/bin/nvcc ]] || echo "$home/bin/nvcc"
  done
}

find_installed() {
  local nvcc
  while read -r nvcc; do
    if is_usable "$nvcc"; then
      echo "$nvcc"
      return
    fi
  done < <(candidates | awk '!seen[$0]++')
  return 1
}

# Installs into a directory of its own and renames it, so that another build sees all of it or nothing.
bring() {
  local python=$1 home=$2 work status=0
  find "$(dirname "$home")" -maxdepth 1 -name "${home##*/}.??????" -mmin +1440 -exec rm -rf {} + # of killed builds
  work=$(mktemp -d "$home.XXXXXX") || return 1
  # shellcheck disable=SC2064 # the name of this call
  trap "rm -rf '$work'" EXIT
  TMPDIR=$work "$python" -m pip install -q --disable-pip-version-check --no-input --no-cache-dir --no-compile --no-user --retries 2 \
    --no-deps --only-binary :all: --require-hashes -r "$wheels" --target "$work/home" >"$work/log" 2>&1 || status=1
  if ((status != 0)); then
    sed 's/^/[cuda]   pip: /' "$work/log" >&2
    if grep -q 'DO NOT MATCH THE HASHES' "$work/log"; then
      say "wheels differ from those that $wheels names, so they are not used; -Dcuda=skip builds without kernels"
      exit 2
    fi
    say "pip did not bring the compiler; it needs pypi.org, or a mirror that pip's configuration names"
    return 1
  fi
  if [[ -z $(release "$work/home/nvidia/cu13/bin/nvcc") ]]; then
    say "the compiler that pip brought does not run on this machine"
    return 1
  fi
  if ! mv -T "$work/home" "$home" 2>/dev/null && ! is_usable "$home/nvidia/cu13/bin/nvcc"; then # not another build's either
    say "$home is there but incomplete: remove it"
    return 1
  fi
}

offline=false
[[ ${1:-} != --offline ]] || offline=true
wheels=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/nvcc-wheels.txt

if find_installed; then exit; fi

version=$(sed -n 's/^nvidia-cuda-nvcc==\([0-9.]*\).*/\1/p' "$wheels")
cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/tilespark
home=$cache/cuda-$version
nvcc=$home/nvidia/cu13/bin/nvcc
if [[ -x $nvcc ]] && is_usable "$nvcc"; then
  echo "$nvcc"
  exit
fi

none="there is no nvcc of release $oldest or newer (PATH, \$CUDA_HOME${search:+, $search})"
if [[ $(uname -s) != Linux || ! $(uname -m) =~ ^(x86_64|aarch64)$ ]]; then
  say "$none, and NVIDIA makes none for $(uname -s) on $(uname -m)"
  exit 1
fi
if $offline; then
  say "$none, and Maven is offline: build once with the network"
  exit 1
fi
if ! : | gcc -x c++ -E - >/dev/null 2>&1; then
  say "$none; to use one, first install g++, which it calls"
  exit 1
fi
python=
for each in python3 python; do
  if "$each" -m pip --version >/dev/null 2>&1; then
    python=$each
    break
  fi
done
if [[ -z $python ]]; then
  say "$none, and no python3 with pip that could bring one: install pip or CUDA $oldest"
  exit 1
fi
if ! mkdir -p "$cache" 2>/dev/null || [[ ! -w $cache ]]; then
  say "$none, and $cache for NVIDIA's wheels cannot be written: set XDG_CACHE_HOME"
  exit 1
fi
say "$none; pip brings NVIDIA's $version (105 MB, once, under NVIDIA's licence) into $home"
bring "$python" "$home" || exit 1
echo "$nvcc"
