#!/usr/bin/env bash
# Compiles every .cu file of this directory, or of $SOURCES, to one fatbin each, and writes kernels.index,
# which says which kernels there are for which architecture (KernelIndex reads it). A source that begins with
# "// Functions" has no kernels: it becomes PTX for the oldest of the architectures, NAME.ptx, of which programs take
# functions (PtxLibrary).
#
#   build.sh ARCHITECTURES OUTPUT [CUDA [offline=true]]
#
# ARCHITECTURES  comma-separated: sm_NN[a] makes machine code, compute_NN makes PTX. A source with a line
#                "// Architectures: sm_90a ..." is made for those of them that it names
# OUTPUT         where the fatbins and the index go
#
# CUDA           auto (default): without a compiler it says so and succeeds, and OUTPUT then holds no kernels;
#                require: it fails then; skip: OUTPUT holds no kernels
# offline=true   nothing is downloaded
#
# SOURCES        a directory of sources that may include this directory's headers
#
# Results are kept for all clones in ${XDG_CACHE_HOME:-~/.cache}/tilespark/kernels, in one directory for each hash of a
# source, its headers, the options and the compiler. A directory gets its name when it is complete, and goes when no
# build has used it for 60 days. find-nvcc.sh says where the compiler comes from.
set -euo pipefail

# Compressed for size: a quarter of the bytes; the drivers that load what nvcc 13 makes can read it.
options=(-std=c++17 -O3 -Werror all-warnings --compress-mode=size)

fail() {
  echo "[cuda] $*" >&2
  exit 1
}

check_architectures() {
  local arch
  ((${#architectures[@]} > 0)) || fail "cuda.arch is empty; expected for example sm_90a,compute_80"
  for arch in "${architectures[@]}"; do
    [[ $arch =~ ^(sm|compute)_[0-9]{2,3}[af]?$ ]] ||
      fail "cuda.arch names '$arch'; expected sm_NN, sm_NNa or compute_NN, separated by commas"
  done
}

# Paths of the source $1 and of our headers that it includes, directly or not, one a line.
included() {
  local file path seen=" " left=("$1")
  while ((${#left[@]} > 0)); do
    file=${left[0]}
    left=("${left[@]:1}")
    path=$source_directory/$file
    [[ -f $path ]] || path=$headers/$file
    [[ $seen == *" $file "* || ! -f $path ]] && continue
    seen+="$file "
    echo "$path"
    mapfile -t -O "${#left[@]}" left < <(sed -n 's/^ *#include "\([^"]*\)".*/\1/p' "$path")
  done
}

# Those of the architectures that source $1 is made for, one a line.
made_for() {
  local arch said
  said=$(sed -n 's|^// Architectures: ||p' "$source_directory/$1.cu")
  for arch in "${architectures[@]}"; do
    [[ -n $said && " $said " != *" $arch "* ]] || echo "$arch"
  done
}

# What a source's result depends on, as one hash; $2 and on: the architectures that it is made for.
fingerprint() {
  local file
  {
    printf '%s\n' "$version" "${options[@]}" "${@:2}"
    cat "$0"
    included "$1.cu" | while read -r file; do cat "$file"; done
  } | sha256sum | cut -d ' ' -f 1
}

# The lines of the index for machine code, from what ptxas reports about each kernel.
machine_code_lines() {
  awk -v source="$1" '
    /Compiling entry function/ { split($0, quoted, "\047"); name = quoted[2]; arch = quoted[4] }
    /bytes spill stores/ {
      for (i = 1; i < NF; i++) if ($(i + 1) == "bytes" && $(i + 2) == "spill") spill[name, arch] += $i
    }
    /Used [0-9]+ registers/ {
      shared = 0
      for (i = 1; i < NF; i++) {
        if ($i == "Used") registers = $(i + 1)
        if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) shared = $i
      }
      printf "kernel %s %s %s registers=%d sharedBytes=%d spillBytes=%d\n", \
        source, name, arch, registers, shared, spill[name, arch]
    }'
}

# What the host must know of a launch, as "NAME dynamicBytes=N blocksPerProcessor=N [early=1]", from the PTX $1:
# the shared memory that a kernel with a variable NAME_dynamic_bytes is given, how many of its thread
# blocks it was made for, and whether it waits itself for the launches before it.
launch_needs() {
  awk '
    /^(\.visible )?\.global .*_dynamic_bytes = / {
      name = $(NF - 2); sub(/_dynamic_bytes$/, "", name); sub(/;/, "", $NF); bytes[name] = $NF
    }
    /^\.visible \.entry / { entry = $3; sub(/\(.*/, "", entry) }
    /^\.minnctapersm / { blocks[entry] = $2 }
    /griddepcontrol\.wait/ { early[entry] = " early=1" }
    END {
      for (name in bytes)
        printf "%s dynamicBytes=%d blocksPerProcessor=%d%s\n", name, bytes[name], blocks[name] ? blocks[name] : 1, early[name]
    }' "$1"
}

# Compiles a source into the directory $1 of the cache, NAME-HASH.
compile() {
  local name=${1%-*} first
  work=$(mktemp -d "$cache/$1.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/result"
  mapfile -t architectures < <(made_for "$name")
  read -r first <"$source_directory/$name.cu" || true
  if [[ $first == "// Functions"* ]]; then
    compile_functions "$name"
  else
    compile_kernels "$name"
  fi
  # Another build may have been faster.
  mv -T "$work/result" "$cache/$1" 2>/dev/null || [[ -d $cache/$1 ]] || fail "$cache cannot be written"
}

# Makes NAME.ptx of a source of functions.
compile_functions() {
  local arch number oldest=
  for arch in "${architectures[@]}"; do
    number=${arch#*_}
    number=${number%[af]}
    [[ -n $oldest ]] && ((number >= oldest)) || oldest=$number
  done
  if ! "$nvcc" "${options[@]}" -rdc=true -ptx -arch="compute_$oldest" \
    -o "$work/result/$1.ptx" "$source_directory/$1.cu" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    fail "nvcc failed on $1.cu"
  fi
  : >"$work/result/index"
}

# Makes NAME.fatbin of a source of kernels, and its lines of the index.
compile_kernels() {
  local name=$1 arch kept gencode=() entry needs
  for arch in "${architectures[@]}"; do
    gencode+=(-gencode "arch=compute_${arch#*_},code=$arch")
  done
  [[ $source_directory == "$headers" ]] || gencode+=(-I "$headers")
  if ! "$nvcc" "${options[@]}" "${gencode[@]}" -fatbin -Xptxas -v --keep --keep-dir "$work" \
    -o "$work/result/$name.fatbin" "$source_directory/$name.cu" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    fail "nvcc failed on $name.cu"
  fi
  machine_code_lines "$name" <"$work/log" >"$work/result/index"
  for arch in "${architectures[@]}"; do
    [[ $arch == compute_* ]] || continue
    kept=$work/$name.$arch.ptx
    [[ -f $kept ]] || kept=$work/$name.ptx
    sed -n "s/^\.visible \.entry \([A-Za-z0-9_]*\).*/kernel $name \1 $arch/p" "$kept" >>"$work/result/index"
  done
  for kept in "$work/$name".*ptx; do
    while read -r entry needs; do
      sed -i "s/^kernel $name $entry .*/& $needs/" "$work/result/index"
    done < <(launch_needs "$kept")
  done
  for arch in "${architectures[@]}"; do
    grep -q " $arch\b" "$work/result/index" || fail "$name.cu gave no kernel for $arch"
  done
}

# Copies $1 to $2 unless they are the same, so that times of unchanged files stay.
install_file() {
  cmp -s "$1" "$2" || cp "$1" "$2"
}

[[ $# -ge 2 && $# -le 5 ]] || fail "expected: build.sh ARCHITECTURES OUTPUT [CUDA [offline=true]]"
headers=$(cd "$(dirname "$0")" && pwd)
source_directory=$(cd "${SOURCES:-$headers}" && pwd)

if [[ $1 == --compile ]]; then # build.sh --compile ARCHITECTURES CACHE NVCC NAME-HASH, run by itself
  IFS=', ' read -r -a architectures <<<"$2"
  cache=$3
  nvcc=$4
  compile "$5"
  exit
fi

IFS=', ' read -r -a architectures <<<"$1"
output=$2
cuda=${3:-auto}
[[ $cuda == auto || $cuda == require || $cuda == skip ]] || fail "cuda is '$cuda'; expected auto, require or skip"
check_architectures
status=1
if [[ $cuda != skip ]]; then
  status=0
  if [[ ${4:-} == offline=true ]]; then offline=(--offline); else offline=(); fi
  nvcc=$(bash "$headers/find-nvcc.sh" ${offline[@]+"${offline[@]}"}) || status=$?
fi
((status < 2)) || fail "no compiler, see above"
if ((status == 1)); then
  [[ $cuda != require ]] || fail "there is no compiler, and -Dcuda=require asks for kernels"
  echo "[cuda] building without device kernels"
  rm -f "$output"/*.fatbin "$output"/*.ptx "$output/kernels.index"
  exit
fi
known=$("$nvcc" --list-gpu-code | tr '\n' ' ')$("$nvcc" --list-gpu-arch | tr '\n' ' ')
for arch in "${architectures[@]}"; do
  [[ " $known" == *" ${arch%[af]} "* ]] ||
    fail "cuda.arch names '$arch', which $nvcc does not know; it knows $known(and these with a or f)"
done
mkdir -p "$output"
cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/tilespark/kernels
if ! mkdir -p "$cache" 2>/dev/null || [[ ! -w $cache ]]; then
  echo "[cuda] $cache cannot be written, so that the next build compiles again: set XDG_CACHE_HOME"
  cache=$(mktemp -d)
  trap 'rm -rf "$cache"' EXIT
fi

version=$("$nvcc" --version)
keys=() missing=()
for file in "$source_directory"/*.cu; do
  name=$(basename "$file" .cu)
  mapfile -t made < <(made_for "$name")
  ((${#made[@]} > 0)) || continue
  keys+=("$name-$(fingerprint "$name" "${made[@]}")")
  if ! touch -c "$cache/${keys[-1]}" || [[ ! -d $cache/${keys[-1]} ]]; then missing+=("${keys[-1]}"); fi
done
if ((${#missing[@]} > 0)); then
  echo "[cuda] compiling ${#missing[@]} of ${#keys[@]} sources for ${architectures[*]}"
  printf '%s\0' "${missing[@]}" |
    xargs -0 -n 1 -P "$(nproc)" bash "$headers/build.sh" --compile "$1" "$cache" "$nvcc" ||
    fail "device code did not compile"
fi

index=$(mktemp "$cache/index.XXXXXX")
{
  echo "# Kernels in this jar: kernel SOURCE NAME ARCHITECTURE. Written by build.sh."
  echo "nvcc $(sed -n 's/.*, V\([0-9.]*\).*/\1/p' <<<"$version")"
  for key in ${keys[@]+"${keys[@]}"}; do
    name=${key%-*}
    if [[ -f $cache/$key/$name.ptx ]]; then kind=ptx; else kind=fatbin; fi
    echo "$kind $name $(wc -c <"$cache/$key/$name.$kind" | tr -d ' ') ${key##*-}"
    cat "$cache/$key/index"
    install_file "$cache/$key/$name.$kind" "$output/$name.$kind"
  done
} >"$index"
chmod 644 "$index"
install_file "$index" "$output/kernels.index"
rm -f "$index"

# What no source makes any more, what no build has used for long, and what killed builds left.
for file in "$output"/*.fatbin "$output"/*.ptx; do
  name=$(basename "$file")
  grep -q "^${name##*.} ${name%.*} " "$output/kernels.index" || rm -f "$file"
done
find "$cache" -mindepth 1 -maxdepth 1 \( -mtime +60 -o -name '*.??????' -mmin +1440 \) -exec rm -rf {} +
