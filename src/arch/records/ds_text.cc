#include "arch/records/ds_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "arch/records/bts.h"
#include "arch/records/ds_area.h"
#include "arch/records/pebs.h"
#include "arch/records/pebs_decode.h"

namespace zs::arch {
namespace {

// The names of what a Debug Store holds: for each structure of ds_area.h, bts.h and pebs.h its fields, in their order.
// What prints a record, and what reads one, take places and sizes from the same structs.

struct RecordField {
  std::size_t offset;
  std::string_view name;
};

/// Whether the fields are all words of a T, from its first byte to its last.
template <typename T, typename Word = std::uint64_t>
constexpr bool names_every_word(std::span<const RecordField> fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].offset != i * sizeof(Word)) return false;
  }
  return fields.size() * sizeof(Word) == sizeof(T);
}

// clang-format off
inline constexpr RecordField kBufferFields[] = {
    {offsetof(DsBuffer, base),    "base"},    {offsetof(DsBuffer, index),     "index"},
    {offsetof(DsBuffer, maximum), "maximum"}, {offsetof(DsBuffer, threshold), "threshold"}};
inline constexpr RecordField kBtsFields[] = {
    {offsetof(BtsRecord, from), "from"}, {offsetof(BtsRecord, to), "to"}, {offsetof(BtsRecord, flags), "flags"}};

inline constexpr RecordField kPebs32Fields[] = {
    {offsetof(Pebs32, flags), "EFLAGS"}, {offsetof(Pebs32, ip), "EIP"}, {offsetof(Pebs32, ax), "EAX"},
    {offsetof(Pebs32, bx), "EBX"},       {offsetof(Pebs32, cx), "ECX"}, {offsetof(Pebs32, dx), "EDX"},
    {offsetof(Pebs32, si), "ESI"},       {offsetof(Pebs32, di), "EDI"}, {offsetof(Pebs32, bp), "EBP"},
    {offsetof(Pebs32, sp), "ESP"}};

/// Formats 0 to 3: an older record is a prefix. The word at 90H of format 3 is called by kCountersField.
inline constexpr RecordField kPebsFields[] = {
    {offsetof(RegisterFile, flags), "RFLAGS"}, {offsetof(RegisterFile, ip), "RIP"},
    {offsetof(RegisterFile, ax), "RAX"},       {offsetof(RegisterFile, bx), "RBX"},
    {offsetof(RegisterFile, cx), "RCX"},       {offsetof(RegisterFile, dx), "RDX"},
    {offsetof(RegisterFile, si), "RSI"},       {offsetof(RegisterFile, di), "RDI"},
    {offsetof(RegisterFile, bp), "RBP"},       {offsetof(RegisterFile, sp), "RSP"},
    {offsetof(RegisterFile, r8), "R8"},        {offsetof(RegisterFile, r9), "R9"},
    {offsetof(RegisterFile, r10), "R10"},      {offsetof(RegisterFile, r11), "R11"},
    {offsetof(RegisterFile, r12), "R12"},      {offsetof(RegisterFile, r13), "R13"},
    {offsetof(RegisterFile, r14), "R14"},      {offsetof(RegisterFile, r15), "R15"},
    {offsetof(PebsV1, status), "status"},      {offsetof(PebsV1, data_address), "data_address"},
    {offsetof(PebsV1, data_source), "data_source"}, {offsetof(PebsV1, latency), "latency"},
    {offsetof(PebsV2, eventing_ip), "eventing_ip"}, {offsetof(PebsV2, transaction), "tsx"},
    {offsetof(PebsV3, tsc), "tsc"}};
inline constexpr RecordField kCountersField{offsetof(PebsV1, status), "counters"};

// The groups of adaptive records.
inline constexpr RecordField kBasicFields[] = {
    {offsetof(PebsBasic, format_size), "format_size"}, {offsetof(PebsBasic, ip), "eventing_ip"},
    {offsetof(PebsBasic, counters), "counters"},       {offsetof(PebsBasic, tsc), "tsc"}};
inline constexpr RecordField kMemoryFields[] = {
    {offsetof(PebsMemory, address), "data_address"}, {offsetof(PebsMemory, source), "data_source"},
    {offsetof(PebsMemory, latency), "latency"},      {offsetof(PebsMemory, transaction), "tsx"}};
inline constexpr RecordField kGprFields[] = {
    {offsetof(PebsGprs, flags), "RFLAGS"}, {offsetof(PebsGprs, ip), "RIP"},
    {offsetof(PebsGprs, ax), "RAX"},  {offsetof(PebsGprs, cx), "RCX"},  {offsetof(PebsGprs, dx), "RDX"},
    {offsetof(PebsGprs, bx), "RBX"},  {offsetof(PebsGprs, sp), "RSP"},  {offsetof(PebsGprs, bp), "RBP"},
    {offsetof(PebsGprs, si), "RSI"},  {offsetof(PebsGprs, di), "RDI"},  {offsetof(PebsGprs, r8), "R8"},
    {offsetof(PebsGprs, r9), "R9"},   {offsetof(PebsGprs, r10), "R10"}, {offsetof(PebsGprs, r11), "R11"},
    {offsetof(PebsGprs, r12), "R12"}, {offsetof(PebsGprs, r13), "R13"}, {offsetof(PebsGprs, r14), "R14"},
    {offsetof(PebsGprs, r15), "R15"}};
// clang-format on

static_assert(names_every_word<DsBuffer>(kBufferFields) && names_every_word<BtsRecord>(kBtsFields));
static_assert(names_every_word<Pebs32, std::uint32_t>(kPebs32Fields) && names_every_word<PebsV3>(kPebsFields));
static_assert(names_every_word<PebsBasic>(kBasicFields) && names_every_word<PebsMemory>(kMemoryFields));
static_assert(names_every_word<PebsGprs>(kGprFields));

/// Shown at most per buffer: the log of a run away guest stays readable.
constexpr std::uint64_t kMostRecords = 100000;

std::uint64_t word_at(Bytes bytes, std::size_t offset, std::size_t width) {
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
  void field(std::uint64_t offset, std::string_view name, std::uint64_t value, std::size_t width) {
    line("  +{:03x} {:<14} {:0{}x}", offset, name, value, width * 2);
  }
  /// Words of 64 bits that begin at `at`.
  void fields(std::span<const RecordField> fields, Bytes bytes, std::size_t at = 0) {
    for (const RecordField& f : fields) field(at + f.offset, f.name, word_at(bytes, at + f.offset, 8), 8);
  }
  std::string release() { return std::move(text_); }

 private:
  std::string text_;
};

/// returns its size, 0 if `bytes` are none
std::size_t adaptive_record(Page& page, Bytes bytes) {
  const auto places = adaptive_places(bytes);
  if (!places) return 0;
  page.fields(kBasicFields, bytes);
  if (places->groups.has(PebsDataCfg::memory)) page.fields(kMemoryFields, bytes, places->memory);
  if (places->groups.has(PebsDataCfg::gprs)) page.fields(kGprFields, bytes, places->gprs);
  if (places->groups.has(PebsDataCfg::xmms)) {
    for (std::size_t i = 0; i < sizeof(PebsXmms) / 16; ++i) {
      const std::size_t at = places->xmms + 16 * i;
      page.line("  +{:03x} XMM{:<11} {:016x}{:016x}", at, i, word_at(bytes, at + 8, 8), word_at(bytes, at, 8));
    }
  }
  for (unsigned i = 0; i < places->lbr_count; ++i) {
    const std::size_t at = places->lbrs + i * sizeof(PebsLbr);
    page.line("  +{:03x} LBR{:<11} {:016x} -> {:016x} {:016x}", at, i, word_at(bytes, at + offsetof(PebsLbr, from), 8),
              word_at(bytes, at + offsetof(PebsLbr, to), 8), word_at(bytes, at + offsetof(PebsLbr, info), 8));
  }
  return places->size;
}

/// returns its size, 0 if `bytes` are none
std::size_t pebs_record(Page& page, const DsShape& shape, Bytes bytes) {
  if (shape.layout == DsLayout::Words32) {
    if (bytes.size() < sizeof(Pebs32)) return 0;
    for (const RecordField& f : kPebs32Fields) page.field(f.offset, f.name, word_at(bytes, f.offset, 4), 4);
    return sizeof(Pebs32);
  }
  if (is_adaptive(shape.format)) return adaptive_record(page, bytes);
  const std::size_t size = traits(shape.format).record_bytes;
  if (bytes.size() < size) return 0;
  for (const RecordField& f : kPebsFields) {
    if (f.offset >= size) break;
    const bool counters = f.offset == kCountersField.offset && traits(shape.format).names_counters;
    page.field(f.offset, counters ? kCountersField.name : f.name, word_at(bytes, f.offset, 8), 8);
  }
  return size;
}

DsBuffer buffer_at(const DsShape& shape, Bytes area, std::size_t offset) {
  const auto width = static_cast<std::size_t>(ds_word_bytes(shape.layout));
  const auto word = [&](std::size_t i) { return word_at(area, offset + i * width, width); };
  return {.base = word(0), .index = word(1), .maximum = word(2), .threshold = word(3)};
}

void management(Page& page, const DsShape& shape, std::uint64_t address, Bytes area) {
  const auto width = static_cast<std::size_t>(ds_word_bytes(shape.layout));
  page.line("debug store at {:x}, {}-bit layout", address, width * 8);
  const auto buffer = [&](std::string_view kind, std::size_t offset) {
    for (std::size_t i = 0; i < std::size(kBufferFields); ++i) {
      const std::size_t at = offset + i * width;
      page.field(at, fmt::format("{}_{}", kind, kBufferFields[i].name), word_at(area, at, width), width);
    }
  };
  buffer("bts", ds_bts_offset(shape.layout));
  buffer("pebs", ds_pebs_offset(shape.layout));
  const auto reset = [&](unsigned slot, std::string_view kind, unsigned n) {
    const std::size_t at = ds_reset_slot_offset(slot, shape.layout);
    if (const std::uint64_t value = word_at(area, at, 8); value != 0) {
      page.field(at, fmt::format("reset_{}{}", kind, n), value, 8);
    }
  };
  for (unsigned n = 0; n < shape.general_slots; ++n) reset(n, "", n);
  for (unsigned n = 0; n < shape.fixed_slots; ++n) reset(shape.fixed_slot + n, "fixed_", n);
}

void bts_records(Page& page, const DsShape& shape, const ReadLinear& read, const DsBuffer& buffer) {
  const auto width = static_cast<std::size_t>(ds_word_bytes(shape.layout));
  const std::size_t size = bts_record_size(shape.layout);
  bool wrapped = false;
  std::uint64_t number = 0;
  for (std::uint64_t at = buffer.base; at + size <= buffer.maximum && at >= buffer.base; at += size, ++number) {
    if (number == kMostRecords) {
      page.line("... more than {} records", kMostRecords);
      return;
    }
    std::byte bytes[sizeof(BtsRecord)] = {};
    const std::span<std::byte> here(bytes, size);
    if (!read(at, here)) {
      page.line("bts {} at {:x}: cannot be read", number, at);
      return;
    }
    if (at == buffer.index && at != buffer.base) {
      wrapped = std::ranges::any_of(here, [](std::byte b) { return b != std::byte{0}; });
      if (wrapped) page.line("(index; older records follow)");
    }
    if (at >= buffer.index && !wrapped) return;
    page.line("bts {} at {:x}", number, at);
    for (std::size_t i = 0; i < std::size(kBtsFields); ++i) {
      page.field(i * width, kBtsFields[i].name, word_at(here, i * width, width), width);
    }
  }
}

void pebs_records(Page& page, const DsShape& shape, const ReadLinear& read, const DsBuffer& buffer) {
  std::uint64_t number = 0;
  for (std::uint64_t at = buffer.base; at < buffer.index && at >= buffer.base; ++number) {
    if (number == kMostRecords) {
      page.line("... more than {} records", kMostRecords);
      return;
    }
    std::vector<std::byte> bytes(std::min<std::uint64_t>(buffer.index - at, kMaxPebsRecord));
    if (!read(at, bytes)) {
      page.line("pebs {} at {:x}: cannot be read", number, at);
      return;
    }
    page.line("pebs {} at {:x}", number, at);
    const std::size_t size = pebs_record(page, shape, bytes);
    if (size == 0) {
      page.line("  {} bytes up to the index are no record", bytes.size());
      return;
    }
    at += size;
  }
}

}  // namespace

std::string ds_area_text(const DsShape& shape, std::uint64_t address, Bytes area) {
  Page page;
  management(page, shape, address, area);
  return page.release();
}

std::string pebs_record_text(const DsShape& shape, std::uint64_t address, Bytes bytes) {
  Page page;
  page.line("pebs at {:x}", address);
  if (pebs_record(page, shape, bytes) == 0) page.line("  {} bytes are no record", bytes.size());
  return page.release();
}

std::string ds_text(const DsShape& shape, const ReadLinear& read, std::uint64_t address) {
  Page page;
  std::vector<std::byte> area(ds_area_bytes(shape));
  if (!read(address, area)) {
    page.line("debug store at {:x}, {}-bit layout", address, ds_word_bytes(shape.layout) * 8);
    page.line("  cannot be read");
    return page.release();
  }
  management(page, shape, address, area);
  bts_records(page, shape, read, buffer_at(shape, area, ds_bts_offset(shape.layout)));
  pebs_records(page, shape, read, buffer_at(shape, area, ds_pebs_offset(shape.layout)));
  return page.release();
}

}  // namespace zs::arch
