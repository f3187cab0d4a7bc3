#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hybridkv {

/// What shells are to offer for the value of an option. CLI11 keeps nothing but validators with an option, so that it
/// lies in the name of one; nothing prints those.
struct Offers {
  std::vector<std::string> words;  ///< one of them may be one of the places below
  bool is_list = false;            ///< several of them, with commas between
};

/// Words that stand for many, looked up when somebody completes.
inline constexpr const char* offered_models = "@models";        ///< every shipped one
inline constexpr const char* offered_scenarios = "@scenarios";  ///< every shipped one
inline constexpr const char* offered_keys = "@keys";            ///< KEY= of a scenario, behind it the words of that key
inline constexpr const char* offered_commands = "@commands";
inline constexpr const char* offered_files = "@files";
inline constexpr const char* offered_folders = "@folders";

/// The words of one key of a scenario: "engine.cache_mode".
std::string offered_words_of(const std::string& key);

/// The key of such a word; empty of any other.
std::string key_of_offer(const std::string& word);

/// The name of a validator that carries them.
std::string offers_name(const Offers& offers);

/// Checks nothing; for check().
CLI::Validator offers(Offers offers);

/// What was given to the option, by offers() or one_of(); else what its type says: files of FILE, keys of KEY=VALUE.
Offers offers_of(CLI::Option& option);

/// What such a name carries; nothing of any other name.
Offers offers_in(const std::string& name);

}  // namespace hybridkv
