#include "simulator/trace_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdlib>
#include <filesystem>
#include <new>

#include "base/bytes_text.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/line_reader.h"

namespace hybridkv {

namespace {

constexpr std::size_t batch_runs = 1 << 17;
// Lengths beyond this are a damaged line, not a prompt; sums over a trace then stay far from 64 bits.
constexpr std::int64_t longest_length = std::int64_t{1} << 40;

/// A line that cannot be read as a request; skipped where the user allows it.
struct DamagedLine {
  std::string what;
};

using simdjson::dom::element;

std::int64_t integer(const element& object, const char* field, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  if (const auto error = object[field].get(value)) {
    throw DamagedLine{error == simdjson::NO_SUCH_FIELD ? fmt::format("no field {}", field)
                                                       : fmt::format("{} is no integer", field)};
  }
  if (value < least || value > most)
    throw DamagedLine{fmt::format("{} is {}, outside {} .. {}", field, value, least, most)};
  return value;
}

double seconds(const element& object, double per_unit) {
  double value = 0;
  if (object["timestamp"].get(value)) throw DamagedLine{"timestamp is missing or no number"};
  if (!(value >= 0)) throw DamagedLine{fmt::format("timestamp is {}, below 0", value)};
  return value * per_unit;
}

}  // namespace

std::int64_t id_tokens(TraceForm form) { return form == TraceForm::qwen ? 16 : 512; }

struct TraceFile::Parser {
  explicit Parser(const std::string& path) : lines(open_bytes(path)) {}

  // Appends one request to the batch, or nothing at all where it throws.
  void parse(std::string_view line, std::optional<TraceForm>& form, std::int64_t index, TraceBatch& batch) {
    element object;
    const auto error = json.parse(line.data(), line.size(), false).get(object);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS)
      throw DamagedLine{fmt::format("no JSON object: {}", simdjson::error_message(error))};
    if (!object.is_object()) throw DamagedLine{"no JSON object"};
    if (!form) form = object["chat_id"].error() ? TraceForm::mooncake : TraceForm::qwen;
    TraceRequest request{.index = index};
    request.arrival_seconds = seconds(object, *form == TraceForm::qwen ? 1 : 1e-3);
    request.input_length = integer(object, "input_length", 1, longest_length);
    request.output_length = integer(object, "output_length", 0, longest_length);
    if (*form == TraceForm::qwen) {
      request.chat_id = integer(object, "chat_id", 0, INT64_MAX);
      request.parent_chat_id = integer(object, "parent_chat_id", -1, INT64_MAX);
      request.turn = integer(object, "turn", 1, INT64_MAX);
    }
    simdjson::dom::array ids;
    if (object["hash_ids"].get(ids)) throw DamagedLine{"hash_ids is missing or no list"};
    ids_.clear();
    for (const element id : ids) {
      std::int64_t value = 0;
      std::uint64_t large = 0;
      if (!id.get(value)) {
        large = static_cast<std::uint64_t>(value);
      } else if (id.get(large)) {
        throw DamagedLine{fmt::format("hash_ids[{}] is no 64-bit integer", ids_.size())};
      }
      ids_.push_back(large);
    }
    append(request, id_tokens(*form), batch);
  }

  void append(TraceRequest& request, std::int64_t run_tokens, TraceBatch& batch) {
    const std::int64_t expected = ceil_div(request.input_length, run_tokens);
    if (static_cast<std::int64_t>(ids_.size()) != expected)
      throw InputError(fmt::format("the trace contradicts itself: input_length {} makes {} ids of {} tokens, "
                                   "hash_ids has {}", request.input_length, expected, run_tokens, ids_.size()));
    request.first_run = static_cast<std::int64_t>(batch.runs.size());
    request.num_runs = expected;
    std::uint64_t chain = empty_chain;
    std::int64_t start = 0;
    for (const std::uint64_t id : ids_) {
      chain = extend_chain(chain, id, start);
      start = std::min(start + run_tokens, request.input_length);
      batch.runs.push_back({start, chain});
    }
    batch.requests.push_back(request);
  }

  LineReader lines;
  simdjson::dom::parser json;
  std::vector<std::uint64_t> ids_;
};

TraceFile::TraceFile(TraceFileSpec spec) : spec_(std::move(spec)), parser_(std::make_unique<Parser>(spec_.path)) {}
TraceFile::~TraceFile() = default;

bool TraceFile::next(TraceBatch& batch) {
  batch.clear();
  while (batch.requests.size() < batch_requests && batch.runs.size() < batch_runs) {
    if (spec_.max_requests && requests_ >= *spec_.max_requests) break;
    const std::optional<std::string_view> line = parser_->lines.next();
    if (!line) {
      require_requests();
      break;
    }
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto place = [&](const std::string& what) {
      return fmt::format("{}:{}: {}", input_name(spec_.path), parser_->lines.line_number(), what);
    };
    try {
      parser_->parse(*line, spec_.form, requests_, batch);
      ++requests_;
    } catch (const DamagedLine& damaged) {
      if (!spec_.skip_bad_lines) throw InputError(place(damaged.what + "; skip such lines with --skip-bad-lines"));
      ++bad_lines_;
    } catch (const std::bad_alloc&) {
      throw ResourceError(place(fmt::format("the line has {}, which are too many for the memory there is",
                                            bytes_text(std::ssize(*line)))));
    } catch (const InputError& contradiction) {
      throw InputError(place(contradiction.what()));
    }
  }
  return !batch.requests.empty();
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
