#include "report/exact/callgrind_text.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "isa/decode.h"
#include "profile/symbols/demangle.h"

namespace zs::report {
namespace {

using arch::BranchKind;
using profile::ImageAddress;
using profile::Location;
using Place = CallGraph::Place;

Place place_of(const Location& location) {
  if (location.dso == nullptr) return {.address = location.address};
  return {.file = location.dso->number + 1ULL, .address = value(location.image_address), .dso = location.dso};
}

/// Nothing where the code is not there.
std::optional<isa::Insn> insn_at(const Place& place) {
  if (place.dso == nullptr || place.dso->image == nullptr) return std::nullopt;
  const Bytes code = place.dso->image->code(ImageAddress{place.address}, isa::kLongestInstruction);
  return isa::decode(place.address, {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()});
}

/// Of C++ with the parameters, which tell overloads apart.
std::string full_name(const profile::Symbol& symbol) {
  const std::unique_ptr<char, void (*)(void*)> text{
      abi::__cxa_demangle(symbol.linkage_name.c_str(), nullptr, nullptr, nullptr), std::free};
  return text && profile::without_parameters(text.get()) == symbol.name() ? text.get() : symbol.name();
}

/// A name cannot leave its line, nor be taken for none.
std::string on_one_line(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return name.find_first_not_of(' ') != std::string::npos ? name : "???";
}

/// Names of one kind: in full where they come first, by number from then on.
class Names {
 public:
  std::string operator()(const std::string& name) {
    const std::string shown = on_one_line(name);
    const auto [known, fresh] = numbers_.try_emplace(shown, numbers_.size() + 1);
    return fresh ? fmt::format("({}) {}", known->second, shown) : fmt::format("({})", known->second);
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

class Writer {
 public:
  explicit Writer(profile::Symbolizer& symbolizer) : symbolizer_(symbolizer) {}

  void write_cost(const Place& place, const profile::Symbol* symbol, std::uint64_t times) {
    enter(place, symbol);
    const profile::SourceLine at = line_of(place, symbol);
    if (at.file != file_) {
      text_ += (at.file == own_file_ ? "fe=" : "fi=") + files_(at.file) + "\n";
      file_ = at.file;
    }
    text_ += fmt::format("{:#x} {} {}\n", place.address, at.line, times);
  }

  /// After the cost of the instruction that it leaves.
  void write_edge(const Place& from, const profile::Symbol* in, const Place& to, const profile::Symbol* callee,
                  const CallGraph::Edge& edge) {
    const profile::SourceLine begin = first_line_of(to, callee);
    text_ += "cob=" + objects_(object_of(to)) + "\n";
    if (begin.file != file_ || file_ != own_file_) text_ += "cfi=" + files_(begin.file) + "\n";
    text_ += "cfn=" + functions_(name_of(callee)) +
             fmt::format("\ncalls={} {:#x} {}\n{:#x} {} {}\n", edge.times, to.address, line_of(to, callee).line,
                         from.address, line_of(from, in).line, edge.inside);
  }

  const std::string& text() const { return text_; }

 private:
  static std::string object_of(const Place& place) { return place.dso != nullptr ? place.dso->path : ""; }

  const std::string& name_of(const profile::Symbol* symbol) {
    const auto [known, fresh] = names_.try_emplace(symbol);
    if (fresh && symbol != nullptr) known->second = full_name(*symbol);
    return known->second;
  }

  profile::SourceLine line_of(const Place& place, const profile::Symbol* symbol) {
    Location location;
    location.image_address = ImageAddress{place.address};
    location.dso = place.dso;
    location.symbol = symbol;
    return symbolizer_.line_of(location).value_or(profile::SourceLine{});
  }

  profile::SourceLine first_line_of(Place place, const profile::Symbol* symbol) {
    if (symbol == nullptr) return {};
    place.address = value(symbol->start);
    return line_of(place, symbol);
  }

  void enter(const Place& place, const profile::Symbol* symbol) {
    if (!text_.empty() && place.file == object_ && symbol == symbol_) return;
    if (text_.empty() || place.file != object_) text_ += "\nob=" + objects_(object_of(place)) + "\n";
    object_ = place.file;
    symbol_ = symbol;
    own_file_ = file_ = first_line_of(place, symbol).file;
    text_ += "\nfl=" + files_(file_) + "\nfn=" + functions_(name_of(symbol)) + "\n";
  }

  profile::Symbolizer& symbolizer_;
  Names objects_, files_, functions_;
  std::unordered_map<const profile::Symbol*, std::string> names_;
  std::uint64_t object_ = 0;
  const profile::Symbol* symbol_ = nullptr;
  std::string own_file_, file_;
  std::string text_;
};

}  // namespace

const profile::Symbol* CallGraph::symbol_of(const Place& place) {
  return place.dso != nullptr ? place.dso->symbols().find(ImageAddress{place.address}) : nullptr;
}

void CallGraph::add(const profile::PerfDataReader& reader) {
  if (version_.empty()) {
    version_ = reader.description().version;
    for (const std::string& word : reader.description().command_line) command_ += (command_.empty() ? "" : " ") + word;
  }
  profile::AddressSpaces& spaces = spaces_.emplace_back();
  Edges branches;
  for_each_sample(reader, spaces, [&](const profile::SampleRecord& told) {
    const session::Sample& sample = told.sample;
    if (sample.event == session::kRanInContexts) return;
    const Place at = place_of(symbolizer_.locate(spaces, sample.pid, sample.ip));
    if (sample.event == session::kRanInstructions)
      times_[at] += sample.period;
    else
      branches[{at, place_of(symbolizer_.locate(spaces, sample.pid, sample.address))}].times += sample.period;
  });
  add_edges(branches);
  add_contexts(reader);
}

/// Calls, and jumps into other functions.
void CallGraph::add_edges(const Edges& branches) {
  for (const auto& [ends, branch] : branches) {
    const auto insn = insn_at(ends.first);
    const BranchKind kind = insn ? insn->facts.branch : BranchKind::None;
    const bool is_call = kind == BranchKind::RelativeCall || kind == BranchKind::IndirectCall;
    const bool is_jump =
        kind == BranchKind::Conditional || kind == BranchKind::RelativeJump || kind == BranchKind::IndirectJump;
    if (!is_call && (!is_jump || function_of(ends.first) == function_of(ends.second))) continue;
    const auto [edge, fresh] = edges_.try_emplace(ends);
    edge->second.times += branch.times;
    edge->second.is_call = is_call;
    if (fresh && is_jump) jumps_[function_of(ends.first)].push_back(edge);
  }
  ways_.clear();
}

void CallGraph::add_contexts(const profile::PerfDataReader& reader) {
  profile::AddressSpaces& spaces = spaces_.emplace_back();
  for_each_sample(reader, spaces, [&](const profile::SampleRecord& told) {
    const session::Sample& sample = told.sample;
    if (sample.event != session::kRanInContexts) return;
    ++contexts_;
    Place inner = place_of(symbolizer_.locate(spaces, sample.pid, sample.ip));
    for (std::size_t i = 1; i < sample.callchain.size(); ++i) {
      const Place caller = place_of(symbolizer_.locate(spaces, sample.pid, sample.callchain[i] - 1));
      for (Edge* const edge : way(caller, inner)) {
        if (edge->last_context != contexts_) edge->inside += sample.period;
        edge->last_context = contexts_;
      }
      inner = caller;
    }
  });
}

/// returns_to  the byte before a return address
/// inner       in what was called, or what that jumped to
const CallGraph::Way& CallGraph::way(const Place& returns_to, const Place& inner) {
  const auto [known, fresh] = ways_.try_emplace({returns_to, function_of(inner)});
  if (!fresh) return known->second;
  auto at = times_.upper_bound(returns_to);  // behind the instruction that ran there
  const bool ran = at != times_.begin() && (--at)->first.file == returns_to.file &&
                   returns_to.address - at->first.address < isa::kLongestInstruction;
  return known->second = find_way(ran ? at->first : returns_to, inner);
}

/// The call at `site`, and the fewest jumps from there on. A context has each return address once, so in recursion what
/// was called may be hidden behind what ran later: then the call that was made most often.
CallGraph::Way CallGraph::find_way(const Place& site, const Place& inner) {
  std::deque<std::pair<Way, Function>> steps;
  std::set<Function> seen;
  const auto take = [&](Way way, Edges::iterator edge) {
    const Function at = function_of(edge->first.second);
    if (!seen.insert(at).second) return;
    way.push_back(&edge->second);
    steps.emplace_back(std::move(way), at);
  };
  Edge* most = nullptr;
  for (auto edge = edges_.lower_bound({site, Place{}}); edge != edges_.end() && !(site < edge->first.first); ++edge) {
    if (!edge->second.is_call) continue;
    take({}, edge);
    if (most == nullptr || edge->second.times > most->times) most = &edge->second;
  }
  for (; !steps.empty(); steps.pop_front()) {
    const auto [way, at] = steps.front();
    if (at == function_of(inner)) return way;
    for (const Edges::iterator& jump : jumps_[at]) take(way, jump);
  }
  if (most != nullptr) return {most};
  times_.try_emplace(site);  // a signal's handler returns there, or the code is not there
  const profile::Symbol* const symbol = symbol_of(inner);
  return {&edges_[{site, {inner.file, symbol != nullptr ? value(symbol->start) : inner.address, inner.dso}}]};
}

std::string CallGraph::text() const {
  Writer writer(symbolizer_);
  std::uint64_t total = 0;
  auto edge = edges_.begin();
  for (const auto& [place, times] : times_) {
    total += times;
    const profile::Symbol* const symbol = symbol_of(place);
    writer.write_cost(place, symbol, times);
    for (; edge != edges_.end() && !(place < edge->first.first); ++edge) {
      const auto& [from, to] = edge->first;
      if (from < place) continue;
      writer.write_edge(from, symbol, to, symbol_of(to), edge->second);
    }
  }
  return fmt::format(
      "# callgrind format\nversion: 1\ncreator: zeroskid {}\ncmd: {}\npositions: instr line\nevents: Ir\nsummary: {}\n"
      "{}\ntotals: {}\n",
      on_one_line(version_), on_one_line(command_), total, writer.text(), total);
}

}  // namespace zs::report
