#include "engine/memory/shown_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace zs::engine {

// The ranges [first, last) give way to `count` others.
void ShownCode::replace(std::size_t first, std::size_t last, const ShownRange* with, std::size_t count) {
  const std::size_t behind = code_count_ - last;
  if (first + count + behind > kMostCode) count = 0;
  ++version_;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memmove(code_ + first + count, code_ + last, behind * sizeof *code_);
  std::copy_n(with, count, code_ + first);
  code_count_ = static_cast<std::uint32_t>(first + count + behind);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++version_;
}

void ShownCode::set(AddressRange range, std::uint32_t prot) {
  const ShownRange* const end = code_ + code_count_;
  const bool executable = (prot & PROT_EXEC) != 0;
  // Neighbours with the same protection count as touched: they become one with it.
  const auto* first = std::partition_point(code_, const_cast<ShownRange*>(end),
                                           [&](const ShownRange& each) { return each.end < range.start; });
  const auto* last = std::partition_point(first, end, [&](const ShownRange& each) { return each.start <= range.end; });
  if (first == last && !executable) return;
  ShownRange with[3];
  std::size_t count = 0;
  const auto add = [&](ShownRange piece) {
    if (piece.start >= piece.end) return;
    if (count != 0 && with[count - 1].end == piece.start && with[count - 1].prot == piece.prot)
      with[count - 1].end = piece.end;
    else
      with[count++] = piece;
  };
  if (first != last) add({.start = first->start, .end = std::min(first->end, range.start), .prot = first->prot});
  if (executable) add({.start = range.start, .end = range.end, .prot = prot});
  if (first != last) {
    const ShownRange& back = last[-1];
    add({.start = std::max(back.start, range.end), .end = back.end, .prot = back.prot});
  }
  replace(static_cast<std::size_t>(first - code_), static_cast<std::size_t>(last - code_), with, count);
}

void ShownCode::add_engine(AddressRange range) {
  if (engine_count_ == kMostEngine || range.empty()) return;
  engine_[engine_count_] = {.start = range.start, .end = range.end};
  ++engine_count_;
}

void ShownCode::drop_engine(AddressRange range) {
  const auto* const end = engine_ + engine_count_;
  auto* const found =
      std::find_if(engine_, engine_ + engine_count_, [&](const ShownRange& each) { return each.start == range.start; });
  if (found == end) return;
  std::copy(const_cast<const ShownRange*>(found) + 1, end, found);
  --engine_count_;
}

ShownCode& shown_code() {
  static constinit ShownCode shown;
  return shown;
}

}  // namespace zs::engine
