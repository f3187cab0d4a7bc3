#!/bin/sh
# tests/image.sh SOURCE PROGRAM FOLDER: the files that .ci/image-files gathers for the Dockerfile are all that the program
# needs, a packed trace included, and smaller than 100 MB.
set -eu
source="$1" program="$2" folder="$3"
if [ "$(id -u)" -ne 0 ] || ! command -v zstd >/dev/null || ! chroot / true 2>/dev/null; then
  echo "SKIPPED: needs zstd, and to be root, whom chroot asks for"
  exit 0
fi
rm -rf "$folder"
"$source/.ci/image-files" "$folder" "$program" zstd
zstd -q "$source/docs/samples/trace.jsonl" -o "$folder/data/trace.jsonl.zst"
for command in "plan qwen3.5-397b --pack 5" "explain qwen3.5-397b --pack 1" "trace /data/trace.jsonl.zst"; do
  # shellcheck disable=SC2086  # words of a command
  chroot "$folder" "/usr/bin/$(basename "$program")" $command >"$folder/tmp/printed" ||
    { echo "$command: failed in the image"; exit 1; }
  [ -s "$folder/tmp/printed" ] || { echo "$command: prints nothing in the image"; exit 1; }
done
megabytes="$(du -sm "$folder" | cut -f1)"
rm -rf "$folder"
[ "$megabytes" -lt 100 ] || { echo "the image has $megabytes MB"; exit 1; }
