#include "cli/linux/btf.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/units.h"

namespace zs::cli {
namespace {

struct Header {
  std::uint16_t magic;
  std::uint8_t version, flags;
  std::uint32_t header_bytes, types, types_bytes, strings, strings_bytes;
};
static_assert(WireLayout<Header> && sizeof(Header) == 24);

enum Kind : std::uint8_t { kStruct = 4, kUnion = 5, kTypedef = 8, kVolatile, kConst, kRestrict, kTypeTag = 18 };
/// What follows a type, by its kind: so many words, and so many for each of its `vlen` elements.
struct Tail {
  std::uint8_t words, each;
};
constexpr std::array<Tail, 20> kTails{{{0, 0}, {1, 0}, {0, 0}, {3, 0}, {0, 3}, {0, 3}, {0, 2}, {0, 0}, {0, 0}, {0, 0},
                                       {0, 0}, {0, 0}, {0, 0}, {0, 2}, {1, 0}, {0, 3}, {0, 0}, {1, 0}, {0, 0}, {0, 3}}};
constexpr std::size_t kTypeWords = 3, kMemberWords = 3;

}  // namespace

std::optional<Btf> Btf::find_in(Bytes memory) {
  constexpr std::array<std::uint8_t, 12> kBegin{0x9F, 0xEB, 1, 0, sizeof(Header)};  // and types directly behind it
  const auto* const text = reinterpret_cast<const char*>(memory.data());
  const std::string_view all(text, memory.size()), begin(reinterpret_cast<const char*>(kBegin.data()), kBegin.size());
  Bytes types, strings;
  for (std::size_t at = all.find(begin); at != std::string_view::npos; at = all.find(begin, at + 1)) {
    ByteReader in(memory.subspan(at));
    const auto header = in.read<Header>();
    const Bytes found = in.take(header.types_bytes);
    const Bytes names = in.take(header.strings_bytes);
    if (!in.ok() || header.strings != header.types_bytes || found.size() <= types.size()) continue;
    types = found;
    strings = names;
  }
  if (types.empty() || strings.empty()) return std::nullopt;
  return Btf(types, strings);
}

Btf::Btf(Bytes types, Bytes strings) : types_(types), strings_(strings), starts_{0} {
  std::size_t words = types.size() / 4;
  for (std::size_t at = 0; at + kTypeWords <= words;) {
    starts_.push_back(static_cast<std::uint32_t>(at));
    const std::uint32_t info = word(static_cast<std::uint32_t>(starts_.size() - 1), 1);
    const unsigned kind = info >> 24 & 31;
    if (kind >= kTails.size()) break;
    at += kTypeWords + kTails[kind].words + std::size_t{kTails[kind].each} * (info & 0xFFFF);
  }
}

std::uint32_t Btf::word(std::uint32_t type, std::size_t index) const {
  const std::size_t at = type == 0 || type >= starts_.size() ? types_.size() : 4 * (starts_[type] + index);
  std::uint32_t value = 0;
  if (at + sizeof value <= types_.size()) std::memcpy(&value, types_.data() + at, sizeof value);
  return value;
}

std::string_view Btf::name_at(std::uint32_t offset) const {
  if (offset >= strings_.size()) return {};
  const auto* const name = reinterpret_cast<const char*>(strings_.data()) + offset;
  return {name, strnlen(name, strings_.size() - offset)};
}

std::optional<Btf::Member> Btf::member_of(std::uint32_t structure, std::string_view name, unsigned depth) const {
  constexpr unsigned kDeepest = 16;
  for (unsigned n = 0; n < kDeepest; ++n) {
    const unsigned is = kind(structure);
    if (is != kTypeTag && (is < kTypedef || is > kRestrict)) break;
    structure = word(structure, 2);
  }
  if ((kind(structure) != kStruct && kind(structure) != kUnion) || depth > kDeepest) return std::nullopt;
  const std::uint32_t info = word(structure, 1);
  const bool has_bit_fields = info >> 31 != 0;
  for (std::size_t i = 0; i < (info & 0xFFFF); ++i) {
    const std::size_t at = kTypeWords + kMemberWords * i;
    const std::string_view is = name_at(word(structure, at));
    const std::uint32_t type = word(structure, at + 1), place = word(structure, at + 2);
    const std::uint64_t offset = (has_bit_fields ? place & 0xFF'FFFF : place) / 8;
    if (is == name) return Member{offset, type};
    if (!is.empty()) continue;
    if (const auto inner = member_of(type, name, depth + 1)) return Member{offset + inner->offset, inner->type};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Btf::offset_of(std::string_view structure, std::string_view path) const {
  std::uint32_t type = 1;
  while (type < starts_.size() && !(kind(type) == kStruct && name_at(word(type, 0)) == structure)) ++type;
  Member at{0, type};
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto found = member_of(at.type, path.substr(0, dot));
    if (!found) return std::nullopt;
    at = {at.offset + found->offset, found->type};
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at.offset;
}

}  // namespace zs::cli
