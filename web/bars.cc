#include "web/bars.h"

#include "ask/full_memory.h"
#include "base/number_text.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const FullMemory& memory) {
  Json parts = Json::array();
  for (const MemoryPart& part : memory.parts)
    parts.push_back({{"name", part.name}, {"title", part.title}, {"bytes", part.bytes},
                     {"text", human_bytes(part.bytes)}, {"symbols", part.symbols}});
  return {{"name", memory.name}, {"refused", memory.refused}, {"evidence", to_string(memory.evidence)},
          {"requests", memory.requests()}, {"tokens", memory.tokens}, {"bytes", memory.bytes()},
          {"text", human_bytes(memory.bytes())}, {"parts", std::move(parts)}};
}

}  // namespace

std::string bars_answer(const Json& question) {
  Json settings = Json::array();
  for (const CompareSetting& setting : PageQuestion(question).settings())
    settings.push_back(json_of(full_memory(setting)));
  return Json{{"settings", std::move(settings)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hybridkv
