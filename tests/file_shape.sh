#!/bin/sh
# No source file has more than 500 lines, and no line more than 120 columns. Run as: sh file_shape.sh SOURCE_DIR
cd "$1" || exit 1
files=$(find . -path './build*' -prune -o -path './b' -prune -o -path ./_deps -prune -o \
  \( -name '*.h' -o -name '*.cc' -o -name '*.inc' \) -print)
long=$(for file in $files; do awk 'END { if (NR > 500) print FILENAME ": " NR " lines" }' "$file"; done)
# Characters are counted, not bytes.
wide=$(echo "$files" | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' /dev/null)
[ -z "$long$wide" ] && exit 0
printf 'longer than 500 lines, or wider than 120 columns:\n%s\n%s\n' "$long" "$wide"
exit 1
