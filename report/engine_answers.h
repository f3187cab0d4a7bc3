#pragma once

#include <string>
#include <vector>

#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of a question that was put to several engines.
inline constexpr const char* engine_answers_schema_id = "hybridkv-engines/1";

/// What a command says under one release.
struct EngineAnswer {
  std::string release;
  std::string text;     ///< rendered in the format that is asked for
  std::string refused;  ///< why there is no answer; empty: there is one
};

/// Answers to one question in the order of `answers`: for people each under the name of its release; as json {schema,
/// engines: [{release, answer} or {release, refused}]}; as csv with the column "engine" in front and a heading wherever
/// it is another one than before; who is refused has no row.
std::string render_engine_answers(const std::vector<EngineAnswer>& answers, Format format, const Style& style = {});

}  // namespace hybridkv
