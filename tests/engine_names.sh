#!/bin/sh
# No source of the rooms above engines/ that ask nothing of one engine alone spells an engine: what an engine is lies in
# its folder. Comments may cite. Run as: sh engine_names.sh SOURCE_DIR
cd "$1" || exit 1
rooms='base layout mamba attention transfer measure search verify ask report cli python web'
# What searches the settings of one engine still names it.
still='/recommend'
found=$(find $rooms -name '*.h' -o -name '*.cc' -o -name '*.js' -o -name '*.py' | grep -v "$still" | sort | xargs awk '
  { line = $0; sub(/^\/\/.*/, "", line); sub(/[^:]\/\/.*/, "", line); sub(/^ *# .*/, "", line) }
  tolower(line) ~ /vllm|sglang|jenga|tensorrt|llama[._]?cpp/ { print FILENAME ":" FNR ": " $0 }')
[ -z "$found" ] && exit 0
printf 'an engine is named outside engines/; ask a member of it instead:\n%s\n' "$found"
exit 1
