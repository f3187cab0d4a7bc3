#include "cli/completion_script.h"

#include <string_view>

namespace hybridkv {

namespace {

// Readline replaces what stands behind the last break, '=' or ':': only that much of a candidate is handed back.
constexpr std::string_view bash_script = R"script(# bash completion of hybridkv
_hybridkv() {
  local line=${COMP_LINE:0:COMP_POINT} typed value kept candidate
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  typed=${words[-1]}
  value=${typed#--*=}
  kept=""
  [[ $COMP_WORDBREAKS == *=* ]] && kept=${typed%"${typed##*=}"}
  [[ $COMP_WORDBREAKS == *:* && ${typed##*:} != "$typed" ]] && kept=${typed%"${typed##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r candidate; do
    case $candidate in
      :files | :folders)
        compopt -o filenames 2>/dev/null
        local names=-f path
        [[ $candidate == :folders ]] && names=-d
        while IFS= read -r path; do
          path=${typed%"$value"}$path
          COMPREPLY+=("${path#"$kept"}")
        done < <(compgen $names -- "$value")
        ;;
      *)
        candidate=${candidate%%$'\t'*}
        [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
        COMPREPLY+=("${candidate#"$kept"}")
        ;;
    esac
  done < <("${words[0]/#\~/$HOME}" completions candidates "${words[@]:1}" 2>/dev/null)
}
complete -F _hybridkv hybridkv
)script";

constexpr std::string_view zsh_script = R"script(#compdef hybridkv
# zsh completion of hybridkv
_hybridkv() {
  local -a answers closed open
  local answer paths="" entry
  answers=("${(@f)$(${(Q)~words[1]} completions candidates "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for answer in "${answers[@]}"; do
    case $answer in
      "") ;;
      :files) paths=files ;;
      :folders) paths=folders ;;
      *)
        entry=${${answer%%$'\t'*}//:/\\:}
        [[ $answer == *$'\t'* ]] && entry+=:${answer#*$'\t'}
        if [[ ${answer%%$'\t'*} == *= ]]; then open+=("$entry"); else closed+=("$entry"); fi
        ;;
    esac
  done
  local found=1
  (( $#closed )) && _describe -V hybridkv closed && found=0
  (( $#open )) && _describe -V key open -S '' && found=0
  if [[ -n $paths ]]; then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    if [[ $paths == folders ]]; then _files -/ && found=0; else _files && found=0; fi
  fi
  return found
}
if [[ ${funcstack[1]} == _hybridkv ]]; then _hybridkv "$@"; else compdef _hybridkv hybridkv; fi
)script";

constexpr std::string_view fish_script = R"script(# fish completion of hybridkv
function __hybridkv_candidates
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l value (string replace -r -- '^--[^=]*=' '' "$typed")
    set -l kept (string replace -r -- '^(--[^=]*=)?.*' '$1' "$typed")
    set -l program (string replace -r -- '^~' "$HOME" $words[1])
    for candidate in (command $program completions candidates $words[2..-1] "$typed" 2>/dev/null)
        switch $candidate
            case :files
                for path in (__fish_complete_path "$value")
                    echo "$kept$path"
                end
            case :folders
                for path in (__fish_complete_directories "$value" "")
                    echo "$kept$path"
                end
            case '*'
                echo $candidate
        end
    end
end
complete -c hybridkv -f -k -a '(__hybridkv_candidates)'
)script";

}  // namespace

std::vector<std::string> completed_shells() { return {"bash", "zsh", "fish"}; }

std::string completion_script(const std::string& shell) {
  return std::string(shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script);
}

}  // namespace hybridkv
