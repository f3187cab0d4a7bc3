#!/bin/sh
# No source file and no document has more than 500 lines, and no line more than 120 columns: of documents no line of
# text, as tables and what a program prints are as wide as they are. No test names a file in the shared temporary folder
# itself or writes one into the folder that it runs in: tests run side by side, and two that take one name read each
# other's file. The top folder has no file that a run left there. Run as: sh file_shape.sh SOURCE_DIR
cd "$1" || exit 1
named() {
  find . -path './build*' -prune -o -path './b' -prune -o -path ./_deps -prune -o -path ./tests/data -prune -o \
    \( "$@" \) -print
}
files=$(named -name '*.h' -o -name '*.cc' -o -name '*.inc')
documents=$(named -name '*.md')
long=$(for file in $files $documents; do awk 'END { if (NR > 500) print FILENAME ": " NR " lines" }' "$file"; done)
# Characters are counted, not bytes.
wide=$(echo "$files" | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' /dev/null
  for file in $documents; do
    awk '/^```/ { code = !code } { print code || /^\|/ ? "" : $0 }' "$file" |
      LC_ALL=C.UTF-8 grep -nE '^.{121,}$' | sed "s|^|$file:|"
  done)
shared=$(grep -rnE 'temp_directory_path\(\) / *[("]' tests --include='*.cc' --include='*.h' | grep -v scratch_folder.h
  grep -rnE 'ofstream\("[^/"]+"' tests --include='*.cc' --include='*.h' | grep -v '"scenario.schema.json"')
left=$(find . -maxdepth 1 -type f \( -name '*.csv' -o -name '*.json' -o -name '*.jsonl' -o -name '*.yaml' \) \
  ! -name CMakePresets.json ! -name CMakeUserPresets.json)
[ -z "$long$wide$shared$left" ] && exit 0
[ -z "$long$wide" ] || printf 'longer than 500 lines, or wider than 120 columns:\n%s\n%s\n' "$long" "$wide"
[ -z "$shared" ] || printf 'a name in a folder that tests share; take a ScratchFolder:\n%s\n' "$shared"
[ -z "$left" ] || printf 'a file that a run has left:\n%s\n' "$left"
exit 1
