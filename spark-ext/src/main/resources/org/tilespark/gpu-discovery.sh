#!/usr/bin/env bash
# Tells Spark the GPUs of this machine: spark.{worker,executor,driver}.resource.gpu.discoveryScript. Prints
# {"name": "gpu", "addresses": ["0", "1"]}, the numbers that CUDA gives the devices of a process started from here; none
# where there is no driver. docs/cluster.md says where to put it.
set -u

devices=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null) || devices=
count=$(grep -c '^[0-9]' <<<"$devices")

# A process sees only the devices listed here, numbers them anew from 0, and takes no notice of what follows a wrong one.
if [[ -n ${CUDA_VISIBLE_DEVICES+set} ]]; then
  visible=0
  IFS=, read -r -a listed <<<"$CUDA_VISIBLE_DEVICES"
  for device in ${listed[@]+"${listed[@]}"}; do
    device=${device// /}
    case $device in
      GPU-* | MIG-*) ;;
      '' | *[!0-9]*) break ;;
      *) ((10#$device < count)) || break ;;
    esac
    visible=$((visible + 1))
  done
  ((count == 0)) || count=$visible
fi

addresses=
for ((i = 0; i < count; i++)); do
  addresses+="${addresses:+, }\"$i\""
done
echo "{\"name\": \"gpu\", \"addresses\": [$addresses]}"
