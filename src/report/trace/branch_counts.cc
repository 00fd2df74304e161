#include "report/trace/branch_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "profile/perf_data/file_traces.h"
#include "profile/symbols/function_code.h"

namespace zs::report {

using isa::Flow;
using profile::ImageAddress;
using profile::Symbol;

void BranchCounts::take(const profile::Record& record, const Visit& visit) {
  spaces_.apply(record);
  if (const auto* piece = std::get_if<profile::TracedBranches>(&record)) {
    Thread& thread = threads_[piece->tid];
    thread.pid = piece->pid;
    profile::for_each_branch(
        piece->records,
        [&](std::uint64_t from, std::uint64_t to) {
          const Step& step = steps_.take(thread.pid, thread.begin, from, to);
          thread.begin = to;
          if (visit) visit(piece->tid, step);
        },
        [&] { thread.begin = 0; });
  } else if (const auto* fork = std::get_if<profile::Fork>(&record)) {
    threads_.erase(fork->tid);
  } else if (const auto* comm = std::get_if<profile::Comm>(&record); comm != nullptr && comm->exec) {
    threads_.erase(comm->tid);
  }
}

FileBranches branches_of(const TracedSteps& steps, const profile::Dso& dso) {
  FileBranches found{.dso = &dso};
  for (const Step& step : steps.all()) {
    const bool from_here = step.from.location.dso == &dso, to_here = step.to.location.dso == &dso;
    const std::uint64_t from = value(step.from.location.image_address), to = value(step.to.location.image_address);
    if (from_here) found.taken += step.times;
    if (from_here && step.flow == Flow::Syscall) {
      found.calls_to_system[{from, to}] += step.times;
    } else if (from_here && to_here) {
      found.branches[{from, to}] += step.times;
      if (step.flow != Flow::Call && step.flow != Flow::IndirectCall && step.flow != Flow::Return) {
        found.jumps[{from, to}] += step.times;
      }
    } else if (to_here) {
      found.entries[{0, to}] += step.times;
    }
    if (from_here && step.known == Known::Whole) {
      found.stretches[{value(step.begin.location.image_address), from}] += step.times;
    }
  }
  return found;
}

namespace {

/// The functions of a file as BOLT names them: local ones with the how-manieth of their name they are.
class BoltNames {
 public:
  explicit BoltNames(const profile::Dso& dso) : symbols_(dso.symbols()) {
    std::map<std::string_view, unsigned> locals;
    for (const Symbol& symbol : symbols_.symbols()) {
      const bool local = symbol.binding == Symbol::Binding::Local;
      const std::string suffix = local ? fmt::format("/{}", ++locals[symbol.linkage_name]) : "";
      if (symbol.code && !symbol.linkage_name.ends_with("@plt")) names_[&symbol] = symbol.linkage_name + suffix;
    }
  }

  /// Null where BOLT has no function.
  const Symbol* function_at(std::uint64_t address) const {
    const Symbol* const symbol = symbols_.find(ImageAddress{address});
    return symbol != nullptr && names_.contains(symbol) ? symbol : nullptr;
  }

  /// "1 NAME OFFSET"
  std::string place(std::uint64_t address) const {
    const Symbol* const symbol = function_at(address);
    if (symbol == nullptr) return "0 [unknown] 0";
    return fmt::format("1 {} {:x}", names_.at(symbol), address - value(symbol->start));
  }

 private:
  const profile::SymbolTable& symbols_;
  std::unordered_map<const Symbol*, std::string> names_;
};

/// A function's instructions, and where its blocks begin, as far as direct jumps and taken ones say.
struct Blocks {
  struct Place {
    std::uint64_t address = 0;
    bool conditional = false;
  };
  std::vector<Place> instructions;
  std::set<std::uint64_t> beginnings;
};

Blocks blocks_of(const Symbol& symbol, const FileBranches& file) {
  Blocks blocks;
  profile::for_each_insn(*file.dso->image, symbol, [&](const isa::Insn& insn) {
    const bool conditional = insn.flow == Flow::ConditionalJump || insn.flow == Flow::CounterJump;
    if (conditional || insn.flow == Flow::Jump) blocks.beginnings.insert(insn.target);
    blocks.instructions.push_back({insn.pc, conditional});
  });
  for (auto jump = file.jumps.lower_bound({value(symbol.start), 0});
       jump != file.jumps.end() && jump->first.first < value(symbol.end); ++jump) {
    blocks.beginnings.insert(jump->first.second);
  }
  return blocks;
}

/// The edges from a block to the next one that stretches of a function pass, and what a system call returns to.
void add_passed_edges(const FileBranches& file, const BoltNames& names,
                      std::map<FileBranches::Pair, std::uint64_t>& edges) {
  std::unordered_map<const Symbol*, Blocks> known;
  const auto blocks_around = [&](const FileBranches::Pair& ends) -> const Blocks* {
    const Symbol* const symbol = names.function_at(ends.first);
    if (symbol == nullptr || symbol != names.function_at(ends.second)) return nullptr;
    const auto [found, fresh] = known.try_emplace(symbol);
    if (fresh) found->second = blocks_of(*symbol, file);
    return &found->second;
  };
  for (const auto& [call, times] : file.calls_to_system) {
    const Blocks* const around = blocks_around(call);
    if (around != nullptr && around->beginnings.contains(call.second)) edges[call] += times;
  }
  const auto add_passed = [&](const FileBranches::Pair& ends, std::uint64_t times) {
    const Blocks* const around = blocks_around(ends);
    if (around == nullptr) return;
    const Blocks& blocks = *around;
    auto at = std::ranges::lower_bound(blocks.instructions, ends.first, {}, &Blocks::Place::address);
    for (; at != blocks.instructions.end() && at->address < ends.second; ++at) {
      const auto next = std::next(at);
      if (next == blocks.instructions.end()) break;
      if (at->conditional || blocks.beginnings.contains(next->address)) edges[{at->address, next->address}] += times;
    }
  };
  for (const auto& [ends, times] : file.stretches) add_passed(ends, times);
  for (const auto& [ends, times] : file.passed) add_passed(ends, times);
}

}  // namespace

std::string bolt_text(const FileBranches& file) {
  const BoltNames names(*file.dso);
  std::map<FileBranches::Pair, std::uint64_t> edges = file.branches;
  add_passed_edges(file, names, edges);
  std::string text;
  const auto add = [&](const std::string& from, std::uint64_t to, std::uint64_t times) {
    const std::string where = names.place(to);
    // Nothing can be learnt of what has neither end in a function.
    if (from.starts_with('1') || where.starts_with('1')) text += fmt::format("{} {} 0 {}\n", from, where, times);
  };
  for (const auto& [edge, times] : edges) add(names.place(edge.first), edge.second, times);
  for (const auto& [entry, times] : file.entries) add("0 [unknown] 0", entry.second, times);
  return text;
}

std::string autofdo_text(const FileBranches& file) {
  std::string text = fmt::format("{}\n", file.stretches.size());
  for (const auto& [stretch, times] : file.stretches) {
    text += fmt::format("{:x}-{:x}:{}\n", stretch.first, stretch.second, times);
  }
  text += fmt::format("0\n{}\n", file.branches.size());
  for (const auto& [branch, times] : file.branches) {
    text += fmt::format("{:x}->{:x}:{}\n", branch.first, branch.second, times);
  }
  return text;
}

}  // namespace zs::report
