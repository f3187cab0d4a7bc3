#!/bin/sh
# No source of the rooms calls an algorithm of std::ranges. GCC 12 has them, but the library of Debian's Emscripten, which
# compiles these sources for the page, has none, and the page is built only at changes of its own files. Run as:
# sh page_library.sh SOURCE_DIR
cd "$1" || exit 1
found=$(grep -nE 'std::(ranges|views)::' [a-z]*/*.cc [a-z]*/*.h [a-z]*/[a-z]*/*.cc [a-z]*/[a-z]*/*.h /dev/null 2>/dev/null |
  grep -vE '^(build|tests|_deps|bench)/')
[ -z "$found" ] && exit 0
printf 'algorithms that the page cannot be built with; take those over iterators:\n%s\n' "$found"
exit 1
