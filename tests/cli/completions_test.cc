// Completions as the shells themselves give them, and what the program answers to their scripts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

/// What may stand for the last of these words, without explanations.
Words candidates(const std::string& words) {
  const ProgramRun run = run_program("completions candidates " + words);
  CHECK(run.exit_code == 0);
  Words found;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) found.push_back(line.substr(0, line.find('\t')));
  return found;
}

/// The values that the help of a flag lists: "what goes first: lru (the default), cost or worth" -> lru, cost, worth.
Words values_in_help(const std::string& help, const std::string& flag) {
  std::string text = help.substr(help.find("\n  " + flag + " ") + 1);
  text.erase(std::min(text.find("\n  -"), text.find("\n\n")));
  static const std::regex aside("\\([^)]*\\)"), value("([a-z_]+)\\s*(?:,|\\bor\\b|$)");
  text = std::regex_replace(text, aside, "");
  Words values;
  for (std::sregex_iterator found(text.begin(), text.end(), value), end; found != end; ++found)
    values.push_back((*found)[1]);
  return values;
}

bool is_there(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// A folder whose first path of all is the program's, with a file and a folder to complete.
struct Session {
  Session() {
    fs::create_directory_symlink(fs::path(HYBRIDKV_PROGRAM).parent_path(), scratch.path / "bin");
    fs::create_directory(scratch.path / "case-folder");
    scratch.file("case model.yaml", "");
  }

  /// What `shell script` prints there.
  std::string run(const std::string& shell, const std::string& script) const {
    scratch.file("script", script);
    const ProgramRun run = run_shell("cd '" + scratch.path.string() + "' && PATH=\"$PWD/bin:$PATH\" HOME=\"$PWD\" " +
                                     shell + " ./script");
    return run.output;
  }

  ScratchFolder scratch;
};

}  // namespace

TEST_CASE("golden: what may stand where the cursor is") {
  CHECK(candidates("pl") == Words{"plan", "plot"});
  CHECK(candidates("help expl") == Words{"explain"});
  CHECK(candidates("--v") == Words{"--version"});
  CHECK(candidates("plan --eng") == Words{"--engine", "--engines"});
  CHECK(candidates("plan --engine vllm") == Words{"vllm-2026-06", "vllm-0.32", "vllm-0.33"});
  CHECK(candidates("plan --engines vllm-0.33,sg") == Words{"vllm-0.33,sglang-0.5.23"});
  CHECK(candidates("conform vllm-0.33 --models Qwen3.5-4B,Zamba") == Words{"Qwen3.5-4B,Zamba2-7B"});
  CHECK(candidates("plan --format ''") == Words{"table", "json", "csv", "markdown"});
  CHECK(candidates("plan --format=j") == Words{"--format=json"});
  CHECK(candidates("plan -f m") == Words{"markdown"});
  CHECK(candidates("plan --set engine.strat") == Words{"engine.strategy="});
  CHECK(candidates("plan --set engine.strategy=d") == Words{"engine.strategy=dual_pool"});
  CHECK(candidates("plan --set engine.pad_heads=") == Words{"engine.pad_heads=true", "engine.pad_heads=false"});
  CHECK(candidates("simulate --eviction c") == Words{"cost"});
  CHECK(candidates("recommend --strategies no_buffer,ex") ==
        Words{"no_buffer,extra_buffer", "no_buffer,extra_buffer_lazy"});
  CHECK(candidates("models Qwen3.5-3") == Words{"Qwen3.5-35B-A3B", "Qwen3.5-397B-A17B"});
  CHECK(candidates("plan --model Zamba") == Words{"Zamba2-7B", ":files"});
  CHECK(candidates("plan exam") == Words{"example", ":files"});
  CHECK(candidates("plot qwen3.5-397b page-m") == Words{"page-map"});
  CHECK(candidates("plot qwen3.5-397b page-map water") == Words{"waterfall"});
  CHECK(candidates("attend ''") == Words{":folders"});
  CHECK(candidates("simulate --trace ''") == Words{":files"});
  CHECK(candidates("verify --inject zero-f") == Words{"zero-full-page"});
  CHECK(candidates("man trans") == Words{"transfer"});
}

TEST_CASE("edge: a flag is offered once, or as often as it may stand; nothing behind what is unknown") {
  CHECK(candidates("plan --quiet --qui") == Words{});
  CHECK(candidates("plan --set a=b --se") == Words{"--set"});
  CHECK(candidates("plan -- --set") == Words{":files"});
  CHECK(candidates("plan example --pa") == Words{"--pack"});
  CHECK(candidates("plan example ''") == Words{});
  CHECK(candidates("plan --pack ''") == Words{});
  CHECK(candidates("plan --nothing=x") == Words{});
  CHECK(candidates("planet ''") == Words{});
  CHECK(candidates("help plan ''") == Words{});
  CHECK(candidates("plan --set engine.nothing=") == Words{});
  CHECK(candidates("plan '[a,b]' --help") == Words{"--help"});
  CHECK(candidates("") == Words{});
}

TEST_CASE("law: every command and every flag of its help is offered") {
  std::size_t flags = 0;
  for (const std::string& command : candidates("''")) {
    if (command == "help") continue;
    CAPTURE(command);
    const Words offered = candidates(command + " --");
    std::istringstream help(run_program(command + " --help").output);
    for (std::string line; std::getline(help, line);) {
      const std::size_t at = line.find("--");
      if (!line.starts_with("  ") || at > 6 || !(line[2] == '-')) continue;
      const std::string flag = line.substr(at, line.find_first_of(" ,", at) - at);
      CHECK_MESSAGE(std::find(offered.begin(), offered.end(), flag) != offered.end(), flag);
      ++flags;
    }
  }
  CHECK(flags > 300);
}

TEST_CASE("law: help and completions spell a value alike") {
  for (const auto& [command, flag] :
       {std::pair{"simulate", "--eviction"}, {"simulate", "--driver"}, {"simulate", "--host-write"},
        {"simulate", "--radix-strategy"}, {"recommend", "--driver"}}) {
    CAPTURE(command);
    CAPTURE(flag);
    const Words in_help = values_in_help(run_program(std::string(command) + " --help").output, flag);
    CHECK(candidates(fmt::format("{} {} ''", command, flag)) == in_help);
    CHECK(in_help.size() > 1);
  }
  CHECK(values_in_help("\n  --far WHEN  copied on use (the\n    default, as ever) or write-through\n  -f\n", "--far") ==
        Words{"use", "through"});
}

TEST_CASE("golden: bash completes") {
  if (!is_there("bash")) return void(std::printf("SKIPPED: bash is not installed\n"));
  const Session session;
  const std::string answers = session.run("bash --norc", R"(
source <(hybridkv completions bash)
[[ $(complete -p hybridkv) == "complete -F _hybridkv hybridkv" ]] || echo "not registered"
ask() {
  COMP_LINE=$1 COMP_POINT=${#1}
  _hybridkv
  local IFS='|'
  echo "$1: ${COMPREPLY[*]}"
}
ask "hybridkv pl"
ask "hybridkv plan --eng"
ask "hybridkv plan --engine=vllm"
ask "hybridkv plan --set engine.strategy=d"
ask "hybridkv plan --format "
ask "hybridkv simulate --eviction "
ask "hybridkv simulate --driver "
ask "hybridkv simulate --host-write "
ask "hybridkv plan --model case"
ask "hybridkv plan --model=case"
ask "hybridkv attend case"
ask "~/bin/hybridkv mer"
COMP_WORDBREAKS=' '
ask "hybridkv plan --engine=vllm"
)");
  CHECK(answers ==
        "hybridkv pl: plan|plot\n"
        "hybridkv plan --eng: --engine|--engines\n"
        "hybridkv plan --engine=vllm: vllm-2026-06|vllm-0.32|vllm-0.33\n"
        "hybridkv plan --set engine.strategy=d: dual_pool\n"
        "hybridkv plan --format : table|json|csv|markdown\n"
        "hybridkv simulate --eviction : lru|prefixes|cost|frequency|second_chance|time_to_live|worth\n"
        "hybridkv simulate --driver : one_at_a_time|closed_loop|open_loop\n"
        "hybridkv simulate --host-write : eviction|write_through\n"
        "hybridkv plan --model case: case model.yaml|case-folder\n"
        "hybridkv plan --model=case: case model.yaml|case-folder\n"
        "hybridkv attend case: case-folder\n"
        "~/bin/hybridkv mer: merge\n"
        "hybridkv plan --engine=vllm: --engine=vllm-2026-06|--engine=vllm-0.32|--engine=vllm-0.33\n");
}

TEST_CASE("golden: fish completes") {
  if (!is_there("fish")) return void(std::printf("SKIPPED: fish is not installed\n"));
  const Session session;
  const std::string answers = session.run("fish --no-config", R"(
hybridkv completions fish | source
for line in "hybridkv pl" "hybridkv plan --eng" "hybridkv plan --engine=vllm" "hybridkv plan --format " \
        "hybridkv simulate --eviction " "hybridkv simulate --driver " "hybridkv simulate --host-write " \
        "hybridkv plan --set engine.strategy=d" "hybridkv attend case" "hybridkv plan --model case"
    echo "$line: "(complete -C $line | string split -f 1 \t | string join '|')
end
)");
  CHECK(answers ==
        "hybridkv pl: plan|plot\n"
        "hybridkv plan --eng: --engine|--engines\n"
        "hybridkv plan --engine=vllm: --engine=vllm-2026-06|--engine=vllm-0.32|--engine=vllm-0.33\n"
        "hybridkv plan --format : table|json|csv|markdown\n"
        "hybridkv simulate --eviction : lru|prefixes|cost|frequency|second_chance|time_to_live|worth\n"
        "hybridkv simulate --driver : one_at_a_time|closed_loop|open_loop\n"
        "hybridkv simulate --host-write : eviction|write_through\n"
        "hybridkv plan --set engine.strategy=d: engine.strategy=dual_pool\n"
        "hybridkv attend case: case-folder/\n"
        "hybridkv plan --model case: case model.yaml|case-folder/\n");
}

TEST_CASE("golden: zsh completes") {
  if (!is_there("zsh")) return void(std::printf("SKIPPED: zsh is not installed\n"));
  const Session session;
  // A terminal in which somebody types a beginning and a tab; what stands there afterwards is the answer.
  const std::string answers = session.run("zsh -f", R"(
zmodload zsh/zpty
zpty -b typist zsh -f -i
until_seen() {  # what is printed until $1 is, at most for ten seconds
  local part i
  REPLY=
  for i in {1..200}; do
    while zpty -r -t typist part 2>/dev/null; do REPLY+=$part; done
    [[ $REPLY == *${~1}* ]] && return
    sleep 0.05
  done
}
zpty -w typist 'unset zle_bracketed_paste; PS1=; TERM=dumb; COLUMNS=200; setopt no_beep no_list_ambiguous'
zpty -w typist 'autoload -Uz compinit; compinit -u -D; source <(hybridkv completions zsh); bindkey "^A" send-break'
zpty -w typist 'show() { print -r -- "<$BUFFER>"; BUFFER= }; zle -N show; bindkey "^X" show; echo READ""Y'
until_seen READY
for line in 'hybridkv mer' 'hybridkv plan --backend-' \
    'hybridkv plan --format=j' 'hybridkv plan --set engine.strategy=d' \
    'hybridkv plan --engine sg' 'hybridkv attend cas' 'hybridkv plan --model case\ ' 'hybridkv plan --trace-f'; do
  zpty -w -n typist "$line"$'\t\C-x'
  until_seen '<*>'
  print -r -- "$line: ${${REPLY##*<}%%>*}"
done
for shown in 'plan --format: table json csv markdown' \
    'simulate --eviction: lru prefixes cost frequency second_chance time_to_live worth' \
    'simulate --driver: one_at_a_time closed_loop open_loop' 'simulate --host-write: eviction write_through'; do
  zpty -w -n typist "hybridkv ${shown%%:*} "$'\t\C-x'
  until_seen '<*>'
  for word in ${=shown#*: }; do [[ $REPLY == *$word* ]] || print "not shown: $word in $REPLY"; done
done
zpty -d typist
)");
  CHECK(answers ==
        "hybridkv mer: hybridkv merge \n"
        "hybridkv plan --backend-: hybridkv plan --backend-profile \n"
        "hybridkv plan --format=j: hybridkv plan --format=json \n"
        "hybridkv plan --set engine.strategy=d: hybridkv plan --set engine.strategy=dual_pool \n"
        "hybridkv plan --engine sg: hybridkv plan --engine sglang-0.5.23 \n"
        "hybridkv attend cas: hybridkv attend case-folder/\n"
        "hybridkv plan --model case\\ : hybridkv plan --model case\\ model.yaml \n"
        "hybridkv plan --trace-f: hybridkv plan --trace-f\n");
}

TEST_CASE("fault: a shell that there is no script for is refused") {
  require_refused("completions tcsh", "'tcsh' is not allowed; take one of bash, zsh, fish");
  require_refused("completions", "SHELL is required");
  require_refused("completions bash zsh", "not expected");
}
