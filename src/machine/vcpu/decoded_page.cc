#include "machine/vcpu/decoded_page.h"

#include <algorithm>

namespace zs::machine::vcpu {

const Insn* DecodedPage::add(unsigned offset, const Insn& insn) {
  if (insns_.size() >= kMost) clear();
  const std::size_t slot = insns_.size() - 1;
  slots_[offset] = static_cast<std::uint16_t>(slot);
  insns_.back() = insn;
  insns_.back().offset = static_cast<std::uint16_t>(offset);
  insns_.push_back({});
  return &insns_[slot];
}

void DecodedPage::drop(unsigned first, unsigned bytes) {
  if (first == 0 && bytes >= kPageBytes) {
    slots_.fill(0);
    for (Insn& insn : insns_) insn.offset = Insn::kNowhere;
    return;
  }
  const unsigned from = first >= 14 ? first - 14 : 0;
  const unsigned end = std::min<unsigned>(first + bytes, kPageBytes);
  for (unsigned offset = from; offset < end; ++offset) {
    const std::uint16_t slot = slots_[offset];
    if (slot != 0 && offset + insns_[slot].length > first) {
      slots_[offset] = 0;
      insns_[slot].offset = Insn::kNowhere;
    }
  }
}

void DecodedPage::clear() {
  slots_.fill(0);
  insns_.assign(2, {});
}

DecodedPage& DecodedPages::page(std::uint64_t physical, Mode mode) {
  auto& here = pages_[physical].modes[static_cast<unsigned>(mode)];
  if (!here) here = std::make_unique<DecodedPage>();
  return *here;
}

namespace {
std::uint64_t lines_of(unsigned offset, unsigned length) {
  const unsigned first = offset / 64, last = std::min<unsigned>(offset + length - 1, kPageBytes - 1) / 64;
  return (~std::uint64_t{0} << first) & (~std::uint64_t{0} >> (63 - last));
}
}  // namespace

void DecodedPages::mark(std::uint64_t physical, unsigned offset, unsigned length) {
  pages_[physical].lines |= lines_of(offset, length);
}

bool DecodedPages::written(std::uint64_t physical, unsigned bytes) {
  const auto found = pages_.find(physical & kPageMask);
  if (found == pages_.end() || bytes == 0) return false;
  const auto offset = static_cast<unsigned>(physical & kPageOffset);
  if ((found->second.lines & lines_of(offset, bytes)) == 0) return false;
  for (auto& mode : found->second.modes) {
    if (mode) mode->drop(offset, bytes);
  }
  if (bytes >= kPageBytes) found->second.lines = 0;
  return true;
}

void DecodedPages::forget() {
  if (pages_.empty()) return;
  forgotten_.push_back(std::move(pages_));
  pages_.clear();
}

}  // namespace zs::machine::vcpu
