#include "report/trace/steps.h"

#include <span>
#include <string_view>

namespace zs::report {
namespace {

using isa::Flow;
using profile::ImageAddress;

std::span<const std::uint8_t> code_at(const profile::Location& location, std::uint64_t behind, std::size_t size) {
  const profile::Dso* const dso = location.dso;
  if (dso == nullptr || dso->image == nullptr) return {};
  const Bytes code = dso->image->code(location.image_address + behind, size);
  return {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()};
}

/// Control never goes on behind it.
bool always_leaves(Flow flow) {
  return flow == Flow::Jump || flow == Flow::Call || flow == Flow::IndirectJump || flow == Flow::IndirectCall ||
         flow == Flow::Return || flow == Flow::FarReturn || flow == Flow::Syscall;
}

}  // namespace

Step& TracedSteps::take(std::int32_t pid, std::uint64_t begin, std::uint64_t from, std::uint64_t to) {
  const Key key{.generation = spaces_.generation(pid), .begin = begin, .from = from, .to = to};
  Recent& recent = recent_[Hash()(key) % kRecent];
  if (recent.step == nullptr || recent.key != key) {
    const auto [found, fresh] = known_.try_emplace(key, nullptr);
    if (fresh) found->second = &make(key, pid);
    recent = {.key = key, .step = found->second};
  }
  ++recent.step->times;
  return *recent.step;
}

Step& TracedSteps::make(const Key& key, std::int32_t pid) {
  Step& step = steps_.emplace_back();
  step.from = place(pid, key.from);
  step.to = place(pid, key.to);
  if (key.begin != 0) step.begin = place(pid, key.begin);
  decode(step);
  return step;
}

TracedPlace TracedSteps::place(std::int32_t pid, std::uint64_t address) {
  TracedPlace place{.address = address, .location = symbolizer_.locate(spaces_, pid, address)};
  place.function = function_of(place.location);
  const profile::Symbol* const symbol = place.location.symbol;
  place.begins_function = symbol != nullptr && symbol->start == place.location.image_address && !symbol->is_split_off();
  return place;
}

const TracedFunction* TracedSteps::function_of(const profile::Location& location) {
  const void* const what = location.symbol != nullptr ? static_cast<const void*>(location.symbol) : location.dso;
  const auto [of_symbol, fresh] = function_of_symbol_.try_emplace(what, nullptr);
  if (!fresh) return of_symbol->second;
  const profile::Symbol* const symbol = location.symbol;
  const bool split_off = symbol != nullptr && symbol->is_split_off();
  const std::string_view linked = symbol != nullptr ? symbol->whole_function() : std::string_view("[unknown]");
  std::string_view name = symbol != nullptr ? std::string_view(symbol->name()) : linked;
  if (split_off && name == symbol->linkage_name) name = linked;  // in C++ it has the whole one's name
  // A file may have several functions of one name; what was split off is of the first that has it.
  const std::string file = location.dso != nullptr ? std::to_string(location.dso->number) : "";
  TracedFunction*& of_name = function_of_name_[file + " " + std::string(linked)];
  const bool joins = of_name != nullptr && (split_off || of_name->symbol == nullptr);
  TracedFunction* const function =
      joins ? of_name
            : &functions_.emplace_back(TracedFunction{.name = std::string(name),
                                                      .dso = location.dso,
                                                      .is_plt = name.ends_with("@plt"),
                                                      .number = static_cast<std::uint32_t>(functions_.size())});
  if (!split_off) function->symbol = symbol;
  if (of_name == nullptr) of_name = function;
  of_symbol->second = function;
  return function;
}

/// Goes through the instructions from the step's beginning to its branch.
void TracedSteps::decode(Step& step) const {
  constexpr std::uint64_t kLongestStretch = 1 << 20;  // chosen: no compiler writes a mebibyte without a branch
  if (const auto last = isa::decode(step.from.address, code_at(step.from.location, 0, isa::kLongestInstruction))) {
    step.flow = last->flow;
    step.length = last->length;
  }
  if (step.length == 0 || step.begin.address == 0) return;
  step.known = Known::Interrupted;
  if (step.from.address < step.begin.address || step.from.location.dso != step.begin.location.dso) return;
  const std::uint64_t size = step.from.address - step.begin.address;
  if (size > kLongestStretch) return;
  std::span<const std::uint8_t> code = code_at(step.begin.location, 0, size);
  if (code.size() < size) return;
  std::uint32_t instructions = 1;
  for (std::uint64_t at = 0; at < size; ++instructions) {
    const auto insn = isa::decode(step.begin.address + at, code.subspan(at));
    if (!insn || always_leaves(insn->flow)) return;
    at += insn->length;
  }
  step.known = Known::Whole;
  step.instructions = instructions;
}

}  // namespace zs::report
