#include "web/comparison.h"

#include "ask/compare/compare.h"
#include "report/compare_report.h"
#include "web/question.h"
#include "web/value_text.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string compare_answer(const Json& question) {
  const auto replay = question.find("replay");
  const CompareAnswer comparison =
      compare(PageQuestion(question).settings(),
              {.wanted = replay != question.end() && *replay == true, .on_progress = {}});
  Json answer = Json::parse(render_compare(comparison, Format::json));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedRow& row = comparison.rows[i];
    Json texts = Json::array();
    for (const ComparedValue& value : row.values) texts.push_back(value_text(value, row.unit));
    answer["rows"][i]["texts"] = std::move(texts);
    answer["rows"][i]["symbols"] = row.symbols;
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hybridkv
