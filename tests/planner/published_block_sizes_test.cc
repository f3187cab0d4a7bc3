// Start-up lines of real deployments: every printed figure of a row must come out of the plan.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "planner/capacity.h"
#include "planner/plan.h"
#include "tests/planner/models.h"
#include "test_paths.h"

using namespace hybridkv;

namespace {

using Row = std::map<std::string, std::string>;  // column name -> text; empty = not printed

/// The fields of one line; a field in quotes may hold commas.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char letter : line) {
    if (letter == '"')
      quoted = !quoted;
    else if (letter == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += letter;
  }
  return fields;
}

std::vector<Row> published_rows() {
  std::ifstream file(HYBRIDKV_TEST_DATA "/planner/published_block_sizes.csv");
  REQUIRE(file.is_open());
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = csv_fields(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = csv_fields(line);
    REQUIRE(fields.size() == columns.size());
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) row[columns[i]] = fields[i];
  }
  return rows;
}

std::optional<std::int64_t> printed(const Row& row, const std::string& column) {
  if (row.at(column).empty()) return std::nullopt;
  return std::stoll(row.at(column));
}

/// "(5, 2048)" is five sliding layers with a window of 2048; the note of that row gives the batch, 2048 too.
void add_draft(EngineSpec& engine, const Row& row, const AttentionSpec& attention) {
  int layers = 0;
  int window = 0;
  if (std::sscanf(row.at("sliding_draft_layers_window").c_str(), "(%d, %d)", &layers, &window) != 2) return;
  engine.draft = DraftSpec{layers, attention};
  engine.draft->attention.kind = AttentionKind::sliding_window;
  engine.draft->attention.window_tokens = window;
  engine.max_num_batched_tokens = 2048;
}

EngineSpec engine_of(const Row& row, const ModelSpec& model) {
  EngineSpec engine;
  engine.tensor_parallel = *printed(row, "tp");
  engine.kv_dtype = parse_dtype(row.at("kv_dtype"));
  engine.kv_format = parse_kv_format(row.at("kv_dtype"));
  if (row.at("note").find("hidden-state layer, 5120 x 2 B") != std::string::npos) engine.hidden_state_size = 5120;
  engine.ssm_dtype = parse_dtype(row.at("ssm_dtype"));
  engine.cache_mode = *parse_cache_mode(row.at("mode"));
  engine.speculative_tokens = *printed(row, "spec_tokens");
  engine.mtp_layers = *printed(row, "mtp_layers");
  engine.block_size_tokens = printed(row, "user_block_size");
  engine.kernel_alignment_tokens = *printed(row, "kernel_alignment");
  if (row.at("token_rule") == "floor") engine.token_rule = TokenRule::floor;
  const auto layer = std::find_if(model.layers.begin(), model.layers.end(),
                                  [](const LayerSpec& spec) { return spec.attention.has_value(); });
  add_draft(engine, row, *layer->attention);
  engine.num_blocks = printed(row, "num_blocks").value_or(1000);
  return engine;
}

CachePlan plan_of(const Row& row, const std::optional<std::int64_t>& memory_bytes = std::nullopt) {
  const ModelSpec model = testing::published_model(row.at("model"));
  EngineSpec engine = engine_of(row, model);
  if (memory_bytes) {
    engine.num_blocks.reset();
    engine.memory_bytes = *memory_bytes;
  }
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {printed(row, "max_model_len").value_or(1024)}});
}

std::string groups_text(const CachePlan& plan) {
  int recurrent = 0, attention = 0, sliding = 0;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.specs[group.spec];
    if (spec.attention && spec.auxiliary) continue;  // the hidden states of row 16 are printed as a group of their own
    ++(spec.state ? recurrent : spec.draft ? sliding : attention);
  }
  return sliding > 0 ? fmt::format("{}/{}/{}", recurrent, attention, sliding)
                     : fmt::format("{}/{}", recurrent, attention);
}

/// A number with as many decimals as the printed text has.
std::string as_printed(double value, const std::string& text) {
  const std::size_t point = text.find('.');
  return fmt::format("{:.{}f}", value, point == std::string::npos ? 0 : text.size() - point - 1);
}

/// The columns that a plan decides, as it would print them.
Row planned_figures(const CachePlan& plan, const Row& row) {
  Row figures{{"layers_per_group", std::to_string(plan.pools.size())},
              {"groups_rec_attn_swa", groups_text(plan)},
              {"page_bytes", std::to_string(plan.page_bytes())},
              {"blocks_per_request", std::to_string(plan.capacity.front().blocks_per_request)},
              {"kv_cache_tokens", std::to_string(plan.capacity.front().kv_cache_tokens)},
              {"max_concurrency", as_printed(plan.capacity.front().max_concurrency, row.at("max_concurrency"))}};
  for (const SpecPlan& spec : plan.specs) {
    if (spec.auxiliary) continue;
    if (spec.attention) figures["block_size"] = std::to_string(spec.block_size_tokens);
    if (!spec.state) continue;
    figures["state_bytes"] = std::to_string(spec.state->bytes);
    figures["padding_percent"] = as_printed(spec.padding_percent, row.at("padding_percent"));
  }
  return figures;
}

/// The number of blocks of the memory nearest to the printed GiB (two decimals) that gives the printed number;
/// where no memory within the rounding does, that of the printed value itself.
std::string blocks_of_memory(const CachePlan& plan, const Row& row) {
  const double text = std::stod(row.at("kv_memory_gib"));
  const auto bytes = [](double size) { return static_cast<std::int64_t>(size * static_cast<double>(testing::gib)); };
  const std::int64_t wanted = *printed(row, "num_blocks") * plan.arenas.front().bytes_per_id;
  const std::int64_t memory = std::clamp(wanted, bytes(text - 0.005) + 1, bytes(text + 0.005));
  return std::to_string(plan_of(row, memory).num_blocks());
}

/// Every printed figure of the row that the plan does not reproduce.
std::vector<std::string> differences(const Row& row) try {
  const CachePlan plan = plan_of(row);
  Row figures = planned_figures(plan, row);
  if (printed(row, "num_blocks"))
    figures["num_blocks"] =
        row.at("kv_memory_gib").empty() ? std::to_string(plan.num_blocks()) : blocks_of_memory(plan, row);
  std::vector<std::string> found;
  for (const auto& [column, figure] : figures)
    if (!row.at(column).empty() && row.at(column) != figure)
      found.push_back(fmt::format("row {} {}: printed {}, planned {}", row.at("id"), column, row.at(column), figure));
  return found;
} catch (const SpecError& error) {
  return {fmt::format("row {}: {}", row.at("id"), error.what())};
}

const std::vector<std::string> figure_columns{
    "block_size",       "padding_percent",     "kv_cache_tokens",    "max_concurrency", "state_bytes", "page_bytes",
    "layers_per_group", "groups_rec_attn_swa", "blocks_per_request", "num_blocks"};

}  // namespace

TEST_CASE("golden: every printed figure of 28 published deployments") {
  const std::vector<Row> rows = published_rows();
  CHECK(rows.size() == 28);
  int figures = 0;
  for (const Row& row : rows) {
    for (const std::string& difference : differences(row)) FAIL_CHECK(difference);
    for (const std::string& column : figure_columns) figures += row.at(column).empty() ? 0 : 1;
  }
  CHECK(figures == 217);
}

TEST_CASE("golden: where no padding line was printed the state fills its page exactly") {
  for (const Row& row : published_rows()) {
    if (!row.at("padding_percent").empty() || row.at("state_bytes") != row.at("page_bytes")) continue;
    CAPTURE(row.at("id"));
    for (const SpecPlan& spec : plan_of(row).specs) CHECK(spec.padding_percent == 0.0);
  }
}

TEST_CASE("fault: any digit of any printed figure changed is reported") {
  int changed = 0;
  for (const Row& row : published_rows()) {
    for (const std::string& column : figure_columns) {
      for (std::size_t i = 0; i < row.at(column).size(); ++i) {
        Row wrong = row;
        char& letter = wrong[column][i];
        if (letter < '0' || letter > '9') continue;
        letter = letter == '9' ? '1' : static_cast<char>(letter + 1);
        CAPTURE(row.at("id"));
        CAPTURE(column);
        CAPTURE(wrong[column]);
        CHECK(!differences(wrong).empty());
        ++changed;
      }
    }
  }
  CHECK(changed == 846);
}
