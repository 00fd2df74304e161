#include "machine/ds_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

namespace zs::machine {
namespace {

/// Shown at most per buffer: the log of a run away guest stays readable.
constexpr std::uint64_t kMostRecords = 100000;

struct Field {
  unsigned offset;
  std::string_view name;
};

constexpr std::string_view kBufferWords[] = {"base", "index", "maximum", "threshold"};
constexpr std::string_view kBtsWords[] = {"from", "to", "flags"};
constexpr std::string_view kPebs32Words[] = {"EFLAGS", "EIP", "EAX", "EBX", "ECX", "EDX", "ESI", "EDI", "EBP", "ESP"};
constexpr std::string_view kPebsWords[] = {"RFLAGS",       "RIP",         "RAX",     "RBX",         "RCX", "RDX",
                                           "RSI",          "RDI",         "RBP",     "RSP",         "R8",  "R9",
                                           "R10",          "R11",         "R12",     "R13",         "R14", "R15",
                                           "status",  // from format 3 on: applicable counters
                                           "data_address", "data_source", "latency", "eventing_ip", "tsx", "tsc"};
constexpr unsigned kPebsSizes[] = {0x90, 0xB0, 0xC0, 0xC8};

// Groups of adaptive records, by bit of MSR_PEBS_DATA_CFG.
constexpr std::string_view kBasicWords[] = {"format_size", "eventing_ip", "counters", "tsc"};
constexpr std::string_view kMemoryWords[] = {"data_address", "data_source", "latency", "tsx"};
constexpr std::string_view kGprWords[] = {"RFLAGS", "RIP", "RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI",
                                          "RDI",    "R8",  "R9",  "R10", "R11", "R12", "R13", "R14", "R15"};

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset, unsigned width) {
  std::uint64_t value = 0;
  if (offset + width <= bytes.size()) std::memcpy(&value, bytes.data() + offset, width);
  return value;
}

class Page {
 public:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void field(std::uint64_t offset, std::string_view name, std::uint64_t value, unsigned width) {
    line("  +{:03x} {:<14} {:0{}x}", offset, name, value, width * 2);
  }
  std::string release() { return std::move(text_); }

 private:
  std::string text_;
};

unsigned word_bytes(DsLayout layout) { return layout == DsLayout::Bits32 ? 4 : 8; }

std::size_t adaptive_record(Page& page, std::span<const std::byte> bytes) {
  constexpr std::size_t kBasic = 32;
  if (bytes.size() < kBasic) return 0;
  const std::uint64_t format_size = word_at(bytes, 0, 8);
  const std::size_t size = format_size >> 48;
  if (size < kBasic || size > bytes.size()) return 0;
  std::size_t at = 0;
  const auto group = [&](std::span<const std::string_view> names) {
    for (const std::string_view name : names) {
      if (at + 8 > size) return;
      page.field(at, name, word_at(bytes, at, 8), 8);
      at += 8;
    }
  };
  group(kBasicWords);
  if ((format_size & 1) != 0) group(kMemoryWords);
  if ((format_size & 2) != 0) group(kGprWords);
  if ((format_size & 4) != 0) {
    for (unsigned i = 0; i < 16 && at + 16 <= size; ++i, at += 16) {
      page.line("  +{:03x} XMM{:<11} {:016x}{:016x}", at, i, word_at(bytes, at + 8, 8), word_at(bytes, at, 8));
    }
  }
  if ((format_size & 8) != 0) {
    for (unsigned i = 0; at + 24 <= size; ++i, at += 24) {
      page.line("  +{:03x} LBR{:<11} {:016x} -> {:016x} {:016x}", at, i, word_at(bytes, at, 8),
                word_at(bytes, at + 8, 8), word_at(bytes, at + 16, 8));
    }
  }
  return size;
}

std::size_t pebs_record(Page& page, const DsView& view, std::span<const std::byte> bytes) {
  if (view.layout == DsLayout::Bits32) {
    constexpr std::size_t kSize = std::size(kPebs32Words) * 4;
    if (bytes.size() < kSize) return 0;
    for (std::size_t i = 0; i < std::size(kPebs32Words); ++i) {
      page.field(i * 4, kPebs32Words[i], word_at(bytes, i * 4, 4), 4);
    }
    return kSize;
  }
  if (view.pebs_format >= std::size(kPebsSizes)) return adaptive_record(page, bytes);
  const std::size_t size = kPebsSizes[view.pebs_format];
  if (bytes.size() < size) return 0;
  for (std::size_t i = 0; i * 8 < size; ++i) {
    const std::string_view name = i == 18 && view.pebs_format >= 3 ? "counters" : kPebsWords[i];
    page.field(i * 8, name, word_at(bytes, i * 8, 8), 8);
  }
  return size;
}

struct Buffer {
  std::uint64_t base, index, maximum, threshold;
};

void bts_records(Page& page, const DsView& view, const Buffer& buffer) {
  const unsigned width = word_bytes(view.layout), size = 3 * width;
  bool wrapped = false;
  std::uint64_t number = 0;
  for (std::uint64_t at = buffer.base; at + size <= buffer.maximum && at >= buffer.base; at += size, ++number) {
    if (number == kMostRecords) {
      page.line("... more than {} records", kMostRecords);
      return;
    }
    std::byte bytes[24] = {};
    const std::span<std::byte> here(bytes, size);
    if (!view.read(at, here)) {
      page.line("bts {} at {:x}: cannot be read", number, at);
      return;
    }
    if (at == buffer.index && at != buffer.base) {
      wrapped = std::ranges::any_of(here, [](std::byte b) { return b != std::byte{0}; });
      if (wrapped) page.line("(index; older records follow)");
    }
    if (at >= buffer.index && !wrapped) return;
    page.line("bts {} at {:x}", number, at);
    for (unsigned i = 0; i < 3; ++i) page.field(i * width, kBtsWords[i], word_at(here, i * width, width), width);
  }
}

void pebs_records(Page& page, const DsView& view, const Buffer& buffer) {
  std::uint64_t number = 0;
  for (std::uint64_t at = buffer.base; at < buffer.index && at >= buffer.base; ++number) {
    if (number == kMostRecords) {
      page.line("... more than {} records", kMostRecords);
      return;
    }
    constexpr std::uint64_t kLargest = 4096;
    std::vector<std::byte> bytes(std::min(buffer.index - at, kLargest));
    if (!view.read(at, bytes)) {
      page.line("pebs {} at {:x}: cannot be read", number, at);
      return;
    }
    page.line("pebs {} at {:x}", number, at);
    const std::size_t size = pebs_record(page, view, bytes);
    if (size == 0) {
      page.line("  {} bytes up to the index are no record", bytes.size());
      return;
    }
    at += size;
  }
}

}  // namespace

std::string pebs_record_text(const DsView& view, std::span<const std::byte> bytes, std::size_t& used) {
  Page page;
  used = pebs_record(page, view, bytes);
  return page.release();
}

std::string ds_text(const DsView& view, std::uint64_t area) {
  Page page;
  const unsigned width = word_bytes(view.layout);
  const unsigned slot_at = 8 * width;
  std::vector<std::byte> bytes(slot_at + 8 * std::size_t{view.reset_slots});
  page.line("debug store at {:x}, {}-bit layout", area, width * 8);
  if (!view.read(area, bytes)) {
    page.line("  cannot be read");
    return page.release();
  }
  Buffer buffers[2] = {};
  for (unsigned kind = 0; kind < 2; ++kind) {
    std::uint64_t words[4] = {};
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned offset = (kind * 4 + i) * width;
      words[i] = word_at(bytes, offset, width);
      page.field(offset, fmt::format("{}_{}", kind == 0 ? "bts" : "pebs", kBufferWords[i]), words[i], width);
    }
    buffers[kind] = {words[0], words[1], words[2], words[3]};
  }
  for (unsigned i = 0; i < view.reset_slots; ++i) {
    const std::uint64_t value = word_at(bytes, slot_at + 8 * i, 8);
    if (value != 0) page.field(slot_at + 8 * i, fmt::format("reset_{}", i), value, 8);
  }
  bts_records(page, view, buffers[0]);
  pebs_records(page, view, buffers[1]);
  return page.release();
}

}  // namespace zs::machine
