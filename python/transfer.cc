#include "ask/transfer/transfer.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>

#include "ask/transfer/transfer_alternatives.h"
#include "ask/transfer/transfer_ids.h"
#include "ask/transfer/transfer_proof.h"
#include "python/answers.h"
#include "python/faults.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/proof/transfer_proof_report.h"
#include "report/transfer/transfer_layouts.h"
#include "report/transfer/transfer_report.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Names = std::vector<std::string>;
using Tables = std::vector<std::vector<std::vector<std::int64_t>>>;

/// What is asked of a transfer beside its sides.
struct TransferWishes {
  std::optional<std::int64_t> tokens;
  std::int64_t present_tokens = 0;
  std::string ids;
  std::optional<Tables> from_ids, to_ids;  ///< [stage][group][position]
  std::string from_ids_file, to_ids_file;
  bool as_prefix = false;
  Names convert;
  bool verify = false;
  bool alternatives = false;
  Names inject;
};

std::optional<GivenIds> given_ids(const char* argument, const std::optional<Tables>& tables, const std::string& file) {
  if (tables) return GivenIds{{*tables}, argument};
  if (file.empty()) return std::nullopt;
  try {
    return GivenIds{read_request_tables(file), fmt::format("{}: {}", argument, file)};
  } catch (const InputError& error) {
    const auto of_argument = [&](const std::string& text) {
      return text.empty() ? text : fmt::format("{}: {}", argument, text);
    };
    throw InputError(of_argument(error.what()), error.place(), of_argument(error.problem()));
  }
}

TransferQuestion transfer_question(const ScenarioFile& from, const ScenarioFile& to, const TransferWishes& wishes) {
  TransferQuestion question{.from = read_scenario(from), .to = read_scenario(to)};
  question.tokens = wishes.tokens;
  question.present_tokens = wishes.present_tokens;
  const auto order = parse_id_order(wishes.ids);
  if (!order) throw unknown_name("ids", wishes.ids, "order", names_of(id_order_names));
  question.ids = *order;
  question.from_ids = given_ids("from_ids", wishes.from_ids, wishes.from_ids_file);
  question.to_ids = given_ids("to_ids", wishes.to_ids, wishes.to_ids_file);
  question.as_prefix = wishes.as_prefix;
  for (const std::string& what : wishes.convert) {
    if (what != "dtype" && what != "axes")
      throw unknown_name("convert", what, "change on the way", {"dtype", "axes"});
    (what == "dtype" ? question.options.converts_dtypes : question.options.exchanges_axes) = true;
  }
  return question;
}

/// A copy with the ranks of its pair, as `transfer --export` lists it.
struct CopyRow {
  std::int64_t from_rank, from, to_rank, to, bytes, to_bytes;
  std::int32_t from_pool, to_pool, content;
};

/// Field of a row: name, NumPy's type, byte; in the order of the list of the program.
std::vector<std::tuple<std::string, std::string, std::size_t>> copy_fields() {
  return {{"from_rank", "i8", offsetof(CopyRow, from_rank)}, {"from_pool", "i4", offsetof(CopyRow, from_pool)},
          {"from", "i8", offsetof(CopyRow, from)},           {"to_rank", "i8", offsetof(CopyRow, to_rank)},
          {"to_pool", "i4", offsetof(CopyRow, to_pool)},     {"to", "i8", offsetof(CopyRow, to)},
          {"bytes", "i8", offsetof(CopyRow, bytes)},         {"to_bytes", "i8", offsetof(CopyRow, to_bytes)},
          {"content", "i4", offsetof(CopyRow, content)}};
}

/// (role, kind, layer, tensor, from_dtype, to_dtype, unique_bytes) of a content.
using ContentRow =
    std::tuple<std::string, std::string, std::int64_t, std::string, std::string, std::string, std::int64_t>;

/// The answer as JSON, and the list that it counts.
struct Transferred {
  JsonAnswer answer;
  std::shared_ptr<const TransferAnswer> transfer;

  /// The bytes of all rows, as they lie.
  nb::ndarray<nb::numpy, const std::uint8_t> copy_bytes() const {
    auto* const rows = new std::vector<CopyRow>();
    nb::capsule owner(rows, [](void* held) noexcept { delete static_cast<std::vector<CopyRow>*>(held); });
    rows->reserve(static_cast<std::size_t>(transfer->list.descriptors()));
    for (const RankCopies& pair : transfer->list.pairs)
      for (const Copy& copy : pair.copies)
        rows->push_back({pair.from_rank, copy.from, pair.to_rank, copy.to, copy.bytes, copy.to_bytes, copy.from_pool,
                         copy.to_pool, copy.content});
    const std::size_t shape[1] = {rows->size() * sizeof(CopyRow)};
    return nb::ndarray<nb::numpy, const std::uint8_t>(rows->data(), 1, shape, owner);
  }

  std::vector<ContentRow> contents() const {
    std::vector<ContentRow> rows;
    for (const Content& content : transfer->list.contents)
      rows.emplace_back(to_string(content.role), content.kind, content.layer, content.tensor,
                        to_string(content.from_dtype), to_string(content.to_dtype), content.unique_bytes);
    return rows;
  }
};

std::string json_of(const TransferAnswer& answer, const TransferQuestion& question, const TransferWishes& wishes,
                    const Watch& watch) {
  if (!wishes.verify) return render_transfer(answer, Format::json);
  const TransferProofQuestion planted{faults_of<TransferFault>(wishes.inject, all_transfer_faults()),
                                      planted_of(wishes.inject)};
  const TransferProofAnswer proof =
      prove(answer, question.from, planted,
            [&](const std::optional<TransferFault>&, std::string_view step, int done, int total) {
              watch.at(step, done, total);
            });
  return render_transfer_proof(answer, proof.proofs, Format::json);
}

Transferred transfer_between(nb::handle from, nb::handle to, const nb::dict& keys, const nb::dict& to_keys,
                             const TransferWishes& wishes, const nb::object& progress) {
  ScenarioFile destination = to.is_none() ? question_of(from, keys) : question_of(to, nb::dict());
  lay_over(destination, to_keys);
  return watched(progress, [source = question_of(from, keys), destination = std::move(destination),
                            wishes](const Watch& watch) {
    const TransferQuestion question = transfer_question(source, destination, wishes);
    const auto answer = std::make_shared<const TransferAnswer>(transfer(question));
    Names notes = question.from.notes;
    notes.insert(notes.end(), question.to.notes.begin(), question.to.notes.end());
    if (!wishes.alternatives) return Transferred{{json_of(*answer, question, wishes, watch), notes}, answer};
    const std::vector<TransferAlternative> rows = transfer_alternatives(
        question, *answer, [&](int done, int total) { watch.at("layouts", done, total); });
    return Transferred{{render_transfer_layouts(*answer, rows, Format::json), notes}, answer};
  });
}

}  // namespace

void register_transfer(nb::module_& module) {
  using Wishes = TransferWishes;
  nb::class_<Wishes>(module, "TransferWishes")
      .def(nb::init<>())
      .def_rw("tokens", &Wishes::tokens)
      .def_rw("present_tokens", &Wishes::present_tokens)
      .def_rw("ids", &Wishes::ids)
      .def_rw("from_ids", &Wishes::from_ids)
      .def_rw("to_ids", &Wishes::to_ids)
      .def_rw("from_ids_file", &Wishes::from_ids_file)
      .def_rw("to_ids_file", &Wishes::to_ids_file)
      .def_rw("as_prefix", &Wishes::as_prefix)
      .def_rw("convert", &Wishes::convert)
      .def_rw("verify", &Wishes::verify)
      .def_rw("alternatives", &Wishes::alternatives)
      .def_rw("inject", &Wishes::inject);
  nb::class_<Transferred>(module, "Transferred")
      .def_ro("answer", &Transferred::answer)
      .def("copy_bytes", &Transferred::copy_bytes)
      .def("contents", &Transferred::contents)
      .def("from_ids", [](const Transferred& made) { return made.transfer->request.from.ids; })
      .def("to_ids", [](const Transferred& made) { return made.transfer->request.to.ids; });
  module.def("copy_fields", copy_fields);
  module.attr("copy_size") = sizeof(CopyRow);
  module.attr("nobody_holds") = nobody_holds;
  module.def("transfer", transfer_between, nb::arg("source").none(), nb::arg("to").none(), nb::arg("keys"),
             nb::arg("to_keys"), nb::arg("wishes"), nb::arg("progress").none());
}

}  // namespace hybridkv
