#include "profile/symbols/symbol_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "profile/symbols/demangle.h"

namespace zs::profile {
namespace {

/// Which of two symbols at one address is shown: the greater.
auto rank(const Symbol& symbol) {
  const std::string& name = symbol.linkage_name;
  const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
  return std::tuple(symbol.end != symbol.start, symbol.binding != Symbol::Binding::Weak,
                    symbol.binding == Symbol::Binding::Global, -static_cast<long>(underscores), name.size());
}

}  // namespace

std::string_view Symbol::whole_function() const {
  const std::string_view linked = linkage_name;
  constexpr std::string_view kCold = ".cold";
  const std::size_t cold = linked.rfind(kCold);
  if (cold == std::string_view::npos || cold == 0) return linked;
  const std::string_view behind = linked.substr(cold + kCold.size());
  const bool is_part = behind.empty() || (behind[0] == '.' && behind.size() > 1 &&
                                          behind.find_first_not_of("0123456789", 1) == std::string_view::npos);
  return is_part ? linked.substr(0, cold) : linked;
}

const std::string& Symbol::name() const {
  if (name_.empty()) name_ = demangle(linkage_name);
  return name_;
}

void SymbolTable::add(ImageAddress start, std::uint64_t size, std::string linkage_name, Symbol::Binding binding,
                      bool code) {
  if (linkage_name.empty() || value(start) + size < value(start)) return;
  Symbol symbol;
  symbol.start = start;
  symbol.end = start + size;
  symbol.linkage_name = std::move(linkage_name);
  if (names_ == Names::AsLinked) symbol.name_ = symbol.linkage_name;
  symbol.binding = binding;
  symbol.code = code;
  symbols_.push_back(std::move(symbol));
}

void SymbolTable::add_without_symbol(ImageAddress start, std::uint64_t size, std::string name) {
  without_symbol_.push_back({start, size, std::move(name)});
}

void SymbolTable::sort() {
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return a.start != b.start ? a.start < b.start : rank(a) > rank(b);
  });
  const auto same_start = [](const Symbol& a, const Symbol& b) { return a.start == b.start; };
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same_start), symbols_.end());
}

void SymbolTable::take_without_symbol() {
  std::erase_if(without_symbol_, [this](const WithoutSymbol& function) {
    return find(function.start) != nullptr || std::ranges::binary_search(symbols_, function.start, {}, &Symbol::start);
  });
  if (without_symbol_.empty()) return;  // of most files, which are not stripped
  for (WithoutSymbol& function : without_symbol_) {
    if (function.name.empty()) function.name = fmt::format("func@{:#x}", value(function.start));
    add(function.start, function.size, std::move(function.name), Symbol::Binding::Local, true);
  }
  without_symbol_ = {};
  sort();
}

void SymbolTable::finish(ImageAddress limit) {
  sort();
  take_without_symbol();
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    Symbol& symbol = symbols_[i];
    if (symbol.end != symbol.start) continue;
    const ImageAddress next = i + 1 < symbols_.size() ? symbols_[i + 1].start : limit;
    symbol.end = std::max(symbol.start, next);
  }
  symbols_.shrink_to_fit();
}

const Symbol* SymbolTable::find(ImageAddress address) const {
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](ImageAddress wanted, const Symbol& symbol) { return wanted < symbol.start; });
  // A symbol may lie inside a longer one (an entry point, a label of assembly): behind its end the longer one goes on.
  for (int steps = 0; steps < 16 && at != symbols_.begin(); ++steps) {
    --at;
    if (address < at->end) return &*at;
  }
  return nullptr;
}

}  // namespace zs::profile
