#include "simulator/trace/trace_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/line_reader.h"
#include "simulator/trace/agentic_trace.h"
#include "simulator/trace/trace_row.h"

namespace hybridkv {

namespace {

constexpr std::size_t batch_runs = 1 << 17;
// Of a session that is spread over lines.
constexpr std::size_t most_document_bytes = std::size_t{1} << 28;

/// The form of a trace that begins with this object.
TraceForm form_of(const JsonElement& object) {
  const auto has = [&](const char* field) { return !object[field].error(); };
  if (has("requests")) return TraceForm::agentic;
  if (has("schema") || has("dependencies")) return TraceForm::agentic_v2;
  if (has("chunk_hashes")) return TraceForm::lookups;
  if (has("input_tokens")) return TraceForm::tokens;
  if (has("chat_id")) return TraceForm::qwen;
  return has("block_size") ? TraceForm::blocks : TraceForm::mooncake;
}

bool is_held(TraceForm form) { return form == TraceForm::agentic || form == TraceForm::agentic_v2; }

std::string_view trimmed(std::string_view line) {
  constexpr const char* blank = " \t\r";
  const std::size_t begin = line.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(blank) - begin + 1);
}

}  // namespace

struct TraceFile::Parser {
  explicit Parser(const std::string& path) : lines(open_bytes(path)) {}

  // The next line that is not blank. The first one, where it only opens an object: that object, all lines of the file.
  std::optional<std::string_view> next_line() {
    while (const std::optional<std::string_view> line = lines.next()) {
      const std::string_view text = trimmed(*line);
      if (text.empty()) continue;
      first_line = lines.line_number();
      if (std::exchange(at_start, false) && text == "{") return whole_document();
      return line;
    }
    return std::nullopt;
  }

  std::string_view whole_document() {
    document.assign(1, '{');
    while (const std::optional<std::string_view> line = lines.next()) {
      too_long = document.size() + line->size() >= most_document_bytes;
      if (too_long) break;
      document.append("\n").append(*line);
    }
    const std::size_t size = document.size();
    document.resize(size + LineReader::padding);
    return std::string_view(document).substr(0, size);
  }

  JsonElement object_of(std::string_view line) {
    if (too_long)
      throw InputError(fmt::format("the object that begins here has more than {}; write one session a line, say by "
                                   "jq -c . FILE", bytes_text(most_document_bytes)));
    JsonElement object;
    const auto error = json.parse(line.data(), line.size(), false).get(object);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS)
      throw DamagedLine{fmt::format("no JSON object: {}", simdjson::error_message(error))};
    if (object.is_array() && first_line == 1)
      throw InputError("a list, where a trace has an object a line; write it so, say by jq -c '.[]' FILE");
    if (!object.is_object()) throw DamagedLine{"no JSON object"};
    return object;
  }

  // Appends one request to the batch, or nothing at all where it throws.
  void parse_row(const JsonElement& object, TraceForm form, std::int64_t index, TraceBatch& batch) {
    const TraceRow& row = rows.read(object, form);
    TraceRequest request = row.request;
    request.index = index;
    request.first_run = std::ssize(batch.runs);
    uncovered_tokens += append_runs(row, TraceRowReader::id_count(form), index, batch.runs);
    request.num_runs = std::ssize(batch.runs) - request.first_run;
    batch.requests.push_back(request);
  }

  void parse_agentic(const JsonElement& object, TraceForm form) {
    if (form == TraceForm::agentic) return agentic.read_session(object);
    if (!agentic.has_header()) return agentic.read_header(object);
    agentic.read_request(object, first_line);
  }

  LineReader lines;
  simdjson::dom::parser json;
  TraceRowReader rows;
  AgenticReader agentic;
  bool holds_all = false;
  bool at_start = true;
  std::int64_t first_line = 0;  // of what is being parsed
  std::string document;
  bool too_long = false;
  std::int64_t uncovered_tokens = 0;
};

TraceFile::TraceFile(TraceFileSpec spec) : spec_(std::move(spec)), parser_(std::make_unique<Parser>(spec_.path)) {}
TraceFile::~TraceFile() = default;

std::int64_t TraceFile::uncovered_tokens() const {
  return parser_->uncovered_tokens + parser_->agentic.uncovered_tokens();
}

std::string TraceFile::place(std::int64_t line, const std::string& what) const {
  return fmt::format("{}:{}: {}", input_name(spec_.path), line, what);
}

bool TraceFile::read_line(TraceBatch& batch) {
  std::optional<std::string_view> line;
  try {
    line = parser_->next_line();
    if (!line) return false;
    const JsonElement object = parser_->object_of(*line);
    if (!spec_.form) spec_.form = form_of(object);
    if (is_held(*spec_.form)) {
      parser_->parse_agentic(object, *spec_.form);
      parser_->holds_all = true;
    } else {
      parser_->parse_row(object, *spec_.form, requests_, batch);
      ++requests_;
    }
  } catch (const DamagedLine& damaged) {
    if (!spec_.skip_bad_lines)
      throw InputError(place(parser_->first_line, damaged.what + "; skip such lines with --skip-bad-lines"));
    ++bad_lines_;
  } catch (const std::bad_alloc&) {
    throw ResourceError(place(parser_->first_line,
                              fmt::format("the line has {}, which are too many for the memory there is",
                                          bytes_text(line ? std::ssize(*line) : 0))));
  } catch (const InputError& contradiction) {
    if (!line) throw;
    throw InputError(place(parser_->first_line, contradiction.what()));
  }
  return true;
}

bool TraceFile::next(TraceBatch& batch) {
  batch.clear();
  while (batch.requests.size() < batch_requests && batch.runs.size() < batch_runs) {
    if (spec_.max_requests && requests_ >= *spec_.max_requests) break;
    if (parser_->holds_all) {
      if (!parser_->agentic.next(batch)) break;
      ++requests_;
    } else if (!read_line(batch)) {
      require_requests();
      break;
    } else if (parser_->holds_all) {
      hold_rest(batch);
    }
  }
  return !batch.requests.empty();
}

void TraceFile::hold_rest(TraceBatch& batch) {
  while (read_line(batch)) continue;
  AgenticReader& agentic = parser_->agentic;
  if (const auto fault = agentic.finish()) throw InputError(place(fault->line, fault->what));
  if (agentic.num_requests() == 0) require_requests();
}

void TraceFile::require_requests() const {
  if (requests_ > 0) return;
  const std::string skipped = bad_lines_ > 0 ? fmt::format("; {} damaged lines were skipped", bad_lines_) : "";
  throw InputError(fmt::format("{}: the trace holds no request{}", input_name(spec_.path), skipped));
}

TraceProgress TraceFile::progress() const {
  double fraction = parser_->lines.fraction();
  if (spec_.max_requests && *spec_.max_requests > 0)
    fraction = std::max(fraction, static_cast<double>(requests_) / static_cast<double>(*spec_.max_requests));
  return {requests_, fraction};
}

std::optional<std::string> find_trace(const std::string& name, const std::string& checkout) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (const char* directory = std::getenv("HYBRIDKV_TRACE_DIR")) {
    const fs::path path = fs::path(directory) / name;
    if (fs::exists(path, error)) return path.string();
  }
  const fs::path beside = fs::path(checkout) / "../shared/traces" / name;
  if (fs::exists(beside, error)) return beside.string();
  return std::nullopt;
}

}  // namespace hybridkv
