#include "report/exact/mix_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/units.h"
#include "isa/decode.h"
#include "isa/kind.h"

namespace zs::report {
namespace {

using isa::Kind;
using Rows = std::map<std::pair<Kind, std::string>, std::uint64_t>;

/// Of all, or of a function.
struct Mix {
  std::uint64_t all = 0, loads = 0, stores = 0, branches = 0, calls = 0, floating = 0, vectors = 0;

  void add(const isa::Insn& insn, Kind kind, std::uint64_t times) {
    all += times;
    const auto add_if = [&](std::uint64_t& sum, bool it_is) { sum += it_is ? times : 0; };
    add_if(loads, insn.facts.loads != 0);
    add_if(stores, insn.facts.stores != 0);
    add_if(branches, insn.facts.branch != arch::BranchKind::None);
    add_if(calls, kind == Kind::Call || kind == Kind::IndirectCall);
    add_if(floating, kind == Kind::FloatingPoint || kind == Kind::X87);
    add_if(vectors, kind == Kind::Vector);
  }
};

std::string row(std::uint64_t times, std::uint64_t all, const std::string& name) {
  return fmt::format("{:>18} {:>6.2f} %  {}\n", with_thousands(times),
                     all == 0 ? 0.0 : 100.0 * static_cast<double>(times) / static_cast<double>(all), name);
}

class Counted {
 public:
  explicit Counted(bool by_mnemonic) : by_mnemonic_(by_mnemonic) {}

  void add(const profile::Dso& dso, const FileCounts& counts) {
    for (const auto& [address, times] : counts.times) {
      const Bytes code =
          dso.image != nullptr ? dso.image->code(profile::ImageAddress{address}, isa::kLongestInstruction) : Bytes();
      const auto insn = isa::decode(address, {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()});
      const profile::Symbol* const symbol = dso.symbols().find(profile::ImageAddress{address});
      Mix& function = functions_[{symbol != nullptr ? symbol->name() : "???", dso.short_name}];
      if (!insn) {
        unread_ += times;
        total_.all += times;
        function.all += times;
        continue;
      }
      const isa::KindOf what = isa::kind_of(*insn);
      total_.add(*insn, what.kind, times);
      function.add(*insn, what.kind, times);
      rows_[by_mnemonic_ ? std::pair(Kind::Integer, what.mnemonic) : std::pair(what.kind, what.name)] += times;
    }
  }
  void add_unread(std::uint64_t times) {
    unread_ += times;
    total_.all += times;
  }

  std::string rows_text() const {
    std::string text = row(total_.all, total_.all, "instructions");
    if (!by_mnemonic_)
      text += row(total_.loads, total_.all, "read memory") + row(total_.stores, total_.all, "write memory") + "\n";
    std::vector<std::pair<std::string, std::uint64_t>> rows;
    for (const auto& [key, times] : rows_) rows.emplace_back(key.second, times);
    if (by_mnemonic_) std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second; });
    for (const auto& [name, times] : rows) text += row(times, total_.all, name);
    return text + (unread_ != 0 ? row(unread_, total_.all, "of code that is not there to be read") : "");
  }

  std::string functions_text() const {
    std::vector<std::pair<std::pair<std::string, std::string>, Mix>> rows(functions_.begin(), functions_.end());
    std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.all; });
    std::string text;
    const auto add = [&](const std::array<std::string, 7>& columns, const std::string& name) {
      for (const std::string& column : columns) text += fmt::format("{:>15} ", column);
      text += " " + name + "\n";
    };
    add({"Instructions", "Read memory", "Write memory", "Branches", "Calls", "Floating point", "Vector"}, "Function");
    const auto add_mix = [&](const Mix& mix, const std::string& name) {
      add({with_thousands(mix.all), with_thousands(mix.loads), with_thousands(mix.stores), with_thousands(mix.branches),
           with_thousands(mix.calls), with_thousands(mix.floating), with_thousands(mix.vectors)},
          name);
    };
    add_mix(total_, "(all)");
    for (const auto& [name, mix] : rows) add_mix(mix, name.first + "  " + name.second);
    return text;
  }

 private:
  bool by_mnemonic_;
  Rows rows_;
  Mix total_;
  std::uint64_t unread_ = 0;
  std::map<std::pair<std::string, std::string>, Mix> functions_;  // by name and file
};

}  // namespace

std::string mix_text(const ExactCounts& counts, MixRows rows) {
  Counted counted(rows == MixRows::Opcodes);
  for (const auto& [dso, of_file] : counts.files()) counted.add(*dso, of_file);
  if (counts.in_no_file() != 0) counted.add_unread(counts.in_no_file());
  return "# class: exact\n" + (rows == MixRows::Functions ? counted.functions_text() : counted.rows_text());
}

}  // namespace zs::report
