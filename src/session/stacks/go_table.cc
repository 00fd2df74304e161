#include "session/stacks/go_table.h"

#include "arch/records/go_pclntab.h"
#include "base/dwarf_numbers.h"

namespace zs::session {
namespace {

constexpr std::uint8_t kOutermost = 1, kWritesStackPointer = 2;  // funcFlag_TOPFRAME, funcFlag_SPWRITE
constexpr std::size_t kMostDeltaBytes = 4096;  // of one function that are read; longer ones have no rule behind these

}  // namespace

std::optional<GoTable> GoTable::open(TableBytes& bytes, std::uint64_t table) {
  const auto header = bytes.read<arch::GoTableHeader>(table);
  if (!header || !header->known()) return std::nullopt;
  GoTable go(bytes);
  go.functions_ = table + header->functions_at;
  go.function_count_ = header->functions;
  go.deltas_ = table + header->deltas_at;
  go.text_ = header->text;
  go.code_unit_ = header->code_unit;
  go.flags_at_ = header->magic == arch::GoTableHeader::kGo118 ? 37 : 41;
  return go;
}

/// The _func whose code holds the one `offset` bytes behind the start of the text.
std::optional<std::uint64_t> GoTable::function_of(std::uint32_t offset) const {
  std::uint64_t first = 0, last = function_count_;  // the entry behind the last is the end of the text
  const auto end = bytes_->read<std::uint32_t>(functions_ + function_count_ * sizeof(arch::GoPlace));
  if (!end || offset >= *end) return std::nullopt;
  while (last - first > 1) {
    const std::uint64_t middle = first + (last - first) / 2;
    const auto place = bytes_->read<arch::GoPlace>(functions_ + middle * sizeof(arch::GoPlace));
    if (!place) return std::nullopt;
    (place->code <= offset ? first : last) = middle;
  }
  const auto place = bytes_->read<arch::GoPlace>(functions_ + first * sizeof(arch::GoPlace));
  if (!place || place->code > offset) return std::nullopt;
  return functions_ + place->function;
}

/// How far the stack pointer is below the return address at `to`; the function begins at `from`.
std::optional<std::int64_t> GoTable::stack_depth(std::uint64_t deltas, std::uint32_t from, std::uint32_t to) const {
  std::vector<std::byte> bytes(kMostDeltaBytes);
  bytes.resize(bytes_->read(deltas, bytes));
  ByteReader in(bytes);
  std::uint64_t value = ~std::uint64_t{0}, pc = from;  // -1; what a damaged table adds up to wraps
  for (bool first = true; in.ok(); first = false) {
    const std::uint64_t zigzag = read_uleb(in);
    if (zigzag == 0 && !first) break;
    value += (zigzag >> 1) ^ (0 - (zigzag & 1));
    pc += read_uleb(in) * code_unit_;
    if (in.ok() && to < pc) return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

std::optional<FrameRule> GoTable::rule_at(std::uint64_t pc) const {
  if (pc < text_ || pc - text_ > UINT32_MAX) return std::nullopt;
  const auto offset = static_cast<std::uint32_t>(pc - text_);
  const auto at = function_of(offset);
  if (!at) return std::nullopt;
  const auto function = bytes_->read<arch::GoFunction>(*at);
  const auto flags = bytes_->read<std::uint8_t>(*at + flags_at_);
  if (!function || !flags || function->stack_deltas == 0) return std::nullopt;
  const auto depth = stack_depth(deltas_ + function->stack_deltas, function->code, offset);
  if (!depth || *depth < 0 || *depth > INT32_MAX - 8) return std::nullopt;

  using Kind = RegisterRule::Kind;
  FrameRule rule;
  rule.frame_offset = static_cast<std::int32_t>(*depth) + 8;
  const bool ends = (*flags & (kOutermost | kWritesStackPointer)) != 0;
  rule.registers[arch::kDwarfReturnAddress] = {ends ? Kind::Unknown : Kind::AtFrame, ends ? 0 : -8};
  // Functions with a frame keep the caller's frame pointer on top of it.
  if (*depth >= 8) rule.registers[arch::kDwarfBp] = {Kind::AtFrame, -16};
  return rule;
}

}  // namespace zs::session
