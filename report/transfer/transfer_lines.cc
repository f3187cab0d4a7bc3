#include "report/transfer/transfer_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/json_schema.h"
#include "report/json_text.h"

namespace hybridkv {

template <>
inline constexpr auto enum_values<SpecRole> = values_of(spec_role_names);
template <>
inline constexpr auto enum_values<Evidence> = values_of(evidence_names);

template <class Archive, Is<Content> T>
static void fields(Archive& archive, T& content) {
  archive.named("content", "One tensor of one layer, whole.");
  archive("role", content.role, "What the layer is to its model.");
  archive("kind", content.kind, "full_attention, gdn, ...");
  archive("layer", content.layer, "Of the model; of a draft in its own list.");
  archive("tensor", content.tensor, "kv, conv, ssm, ...");
  archive("from_dtype", content.from_dtype, "Element type.");
  archive("to_dtype", content.to_dtype, "Element type.");
  archive("unique_bytes", content.unique_bytes, "At the destination, each element once.");
}

namespace {

using nlohmann::ordered_json;

constexpr std::size_t written_piece_bytes = 1 << 16;

/// (stage, pool), or (group, position) of one stage.
template <class Number>
using Nested = std::vector<std::vector<Number>>;

struct TransferLineSide {
  const TransferSideFacts* facts = nullptr;
  const TransferSide* side = nullptr;
  const RequestTables* tables = nullptr;

  Nested<std::int64_t> pool_bytes() const {
    Nested<std::int64_t> stages;
    for (const CachePlan& plan : side->stages)
      for (stages.emplace_back(); const PoolPlan& pool : plan.pools) stages.back().push_back(pool.bytes);
    return stages;
  }
  std::vector<Nested<std::optional<std::int64_t>>> ids() const {
    std::vector<Nested<std::optional<std::int64_t>>> stages;
    for (const auto& groups : tables->ids)
      for (stages.emplace_back(); const auto& ids : groups)
        for (stages.back().emplace_back(); const std::int64_t id : ids)
          stages.back().back().push_back(id == nobody_holds ? std::nullopt : std::optional(id));
    return stages;
  }
};

template <class Archive, Is<TransferLineSide> T>
void fields(Archive& archive, T& of) {
  archive.named("side", "One deployment. Rank r of stage p is number p * tensor_parallel + r.");
  archive.derived("scenario", [&of] { return of.facts->scenario; }, "Name of the scenario.");
  archive.derived("release", [&of] { return std::string(of.facts->engine.rules->name); },
                  "Whose rules the layout follows.");
  archive.derived("evidence", [&of] { return of.facts->evidence; },
                  "How it is known that the engine arranges memory like this.");
  archive.derived("tensor_parallel", [&of] { return of.side->tensor_parallel; }, {"Ranks of a stage.", 1});
  archive.derived("pipeline_parallel", [&of] { return std::int64_t{std::ssize(of.side->stages)}; }, {"Stages.", 1});
  archive.derived("pool_bytes", [&of] { return of.pool_bytes(); }, {"(stage, pool) of each of its ranks.", 1});
  archive.derived("ids", [&of] { return of.ids(); },
                  {"(stage, group, position) of the request, as --from-ids and --to-ids read them; null where an entry "
                   "holds no token of use any more.", 1});
}

struct TransferLineHeader {
  const TransferAnswer* answer = nullptr;
};

template <class Archive, Is<TransferLineHeader> T>
void fields(Archive& archive, T& of) {
  archive.named("header", "What is moved from where to where, and what follows in numbers.");
  archive.derived("schema", [] { return std::string(transfer_schema_id); },
                  {"This format.", [] { return std::vector<std::string>{transfer_schema_id}; }});
  archive.derived("model", [&of] { return of.answer->model; }, "As published.");
  archive.derived("tokens", [&of] { return of.answer->request.tokens; }, {"Of the request.", 1});
  archive.derived("present_tokens", [&of] { return of.answer->request.present_tokens; },
                  "Of these, from the first on, K and V are at the destination already.");
  archive.derived("converts_dtypes", [&of] { return of.answer->options.converts_dtypes; },
                  "Elements may be rounded to the destination's type on the way.");
  archive.derived("exchanges_axes", [&of] { return of.answer->options.exchanges_axes; },
                  "Convolution states may be turned on the way.");
  archive.derived("from", [&of] {
    return TransferLineSide{&of.answer->from, &of.answer->map->from(), &of.answer->request.from};
  });
  archive.derived("to", [&of] {
    return TransferLineSide{&of.answer->to, &of.answer->map->to(), &of.answer->request.to};
  });
  archive.derived("contents", [&of] { return of.answer->list.contents; },
                  {"What descriptors begin in, by position.", 1});
  archive.derived("unique_bytes", [&of] { return of.answer->counts.unique_bytes; },
                  "Of the contents, each element once.");
  archive.derived("bytes", [&of] { return of.answer->counts.all.bytes; },
                  "Sum over the descriptors, read at the sources.");
  archive.derived("written_bytes", [&of] { return of.answer->counts.all.written_bytes; },
                  "The same at the destinations.");
  archive.derived("descriptors", [&of] { return of.answer->counts.all.descriptors; }, "Lines that follow.");
}

struct TransferLine {
  const RankCopies* pair = nullptr;
  const Copy* copy = nullptr;
  const Content* content = nullptr;
};

template <class Archive, Is<TransferLine> T>
void fields(Archive& archive, T& of) {
  archive.named("descriptor", "One run, in one piece at the source and at the destination.");
  archive.derived("from_rank", [&of] { return of.pair->from_rank; }, "Rank that has it.");
  archive.derived("from_pool", [&of] { return of.copy->from_pool; }, "Its pool.");
  archive.derived("from", [&of] { return of.copy->from; }, "First byte in it.");
  archive.derived("to_rank", [&of] { return of.pair->to_rank; }, "Rank that gets it.");
  archive.derived("to_pool", [&of] { return of.copy->to_pool; }, "Its pool.");
  archive.derived("to", [&of] { return of.copy->to; }, "First byte in it.");
  archive.derived("bytes", [&of] { return of.copy->bytes; }, {"Read at the source.", 1});
  archive.derived_if_any("to_bytes", [&of] {
    return of.copy->to_bytes == of.copy->bytes ? std::nullopt : std::optional(of.copy->to_bytes);
  }, {"Written at the destination, where it is another number: elements are converted.", 1});
  archive.derived("content", [&of] { return of.copy->content; },
                  "Position in the header's contents that it begins with; it may go on into others.");
  archive.derived("layer", [&of] { return of.content->layer; }, "Of that content.");
  archive.derived("tensor", [&of] { return std::string_view(of.content->tensor); }, "Of that content.");
}

/// Appends flat structs as they stand in JSON, for lines by the million.
class LineWriter : public JsonNotes {
 public:
  explicit LineWriter(std::string& lines) : lines_(lines) {}

  template <class Function>
  void derived(const char* name, Function value, const Meaning&) {
    put(name, value());
  }
  template <class Function>
  void derived_if_any(const char* name, Function value, const Meaning&) {
    if (const auto held = value()) put(name, *held);
  }
  void finish() { lines_ += "}\n"; }

 private:
  void key(const char* name) {
    lines_ += is_first_ ? "{\"" : ",\"";
    lines_ += name;
    lines_ += "\":";
    is_first_ = false;
  }
  void put(const char* name, std::int64_t value) {
    key(name);
    const fmt::format_int digits(value);
    lines_.append(digits.data(), digits.size());
  }
  void put(const char* name, std::string_view value) {
    key(name);
    const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
    if (std::all_of(value.begin(), value.end(), is_plain))
      lines_.append("\"").append(value).append("\"");
    else
      lines_ += ordered_json(value).dump();
  }

  std::string& lines_;
  bool is_first_ = true;
};

std::string header_line(const TransferAnswer& answer) {
  const ordered_json json = JsonWriter::encode(TransferLineHeader{&answer});
  return printable_json(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) + "\n";
}

}  // namespace

ordered_json transfer_schema() {
  return JsonSchema::of_one<TransferLineHeader, TransferLine>(
      "urn:hybridkv:transfer:1", "A line of the list that hybridkv transfer --export writes",
      "JSON Lines: the first line is a header, every other one a descriptor. Bytes count from the front of a pool.");
}

void write_transfer_lines(const TransferAnswer& answer, const std::function<bool(std::string_view)>& write) {
  std::string lines = header_line(answer);
  for (const RankCopies& pair : answer.list.pairs)
    for (const Copy& copy : pair.copies) {
      const TransferLine line{&pair, &copy, &answer.list.contents[static_cast<std::size_t>(copy.content)]};
      LineWriter writer(lines);
      fields(writer, line);
      writer.finish();
      if (lines.size() < written_piece_bytes) continue;
      if (!write(lines)) return;
      lines.clear();
    }
  if (!lines.empty()) write(lines);
}

bool begins_transfer_lines(std::string_view text) {
  return text.starts_with(fmt::format(R"({{"schema":"{}")", transfer_schema_id));
}

}  // namespace hybridkv
