#include "report/engine_answers.h"

#include <fmt/format.h>

#include "report/document.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

/// The lines of a text without their ends.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string csv_of(const std::vector<EngineAnswer>& answers) {
  std::string text, heading;
  for (const EngineAnswer& answer : answers) {
    const std::vector<std::string> lines = lines_of(answer.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) {
        text += fmt::format("{},{}\n", answer.release, lines[i]);
      } else if (lines[i] != heading) {
        heading = lines[i];
        text += fmt::format("engine,{}\n", heading);
      }
    }
  }
  return text;
}

std::string json_of(const std::vector<EngineAnswer>& answers) {
  std::string text = fmt::format("{{\"schema\":{},\"engines\":[", json_text_within(engine_answers_schema_id, 0));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const EngineAnswer& answer = answers[i];
    text += fmt::format("{}\n{{\"release\":{},", i == 0 ? "" : ",", json_text_within(answer.release, 0));
    if (answer.refused.empty())
      text += "\"answer\":\n" + answer.text + "}";
    else
      text += fmt::format("\"refused\":{}}}", json_text_within(answer.refused, 0));
  }
  return text + "\n]}\n";
}

}  // namespace

std::string render_engine_answers(const std::vector<EngineAnswer>& answers, Format format, const Style& style) {
  if (format == Format::csv) return csv_of(answers);
  if (format == Format::json) return json_of(answers);
  std::string text;
  for (const EngineAnswer& answer : answers) {
    Document document{{Heading{"Under " + answer.release, 1}}};
    if (!answer.refused.empty()) document.blocks.emplace_back(Listing{{"refused: " + answer.refused}, true});
    const std::string head = render_people(document, format, style);
    text += (text.empty() ? "" : "\n") + head + "\n" + answer.text;
  }
  return text;
}

}  // namespace hybridkv
