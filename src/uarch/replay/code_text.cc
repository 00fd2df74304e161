#include "uarch/replay/code_text.h"

#include <bit>

namespace zs::uarch {
namespace {

constexpr bool same(const CodeText::Access& a, const CodeText::Access& b) {
  return a.kind == b.kind && a.form == b.form && a.bytes == b.bytes;
}

}  // namespace

std::uint32_t CodeText::shape_number(const InstructionShape& shape) {
  const std::array<std::uint32_t, 8> words{shape.mnemonic,
                                           shape.signature,
                                           static_cast<std::uint32_t>(shape.reads),
                                           static_cast<std::uint32_t>(shape.reads >> 32),
                                           static_cast<std::uint32_t>(shape.address),
                                           static_cast<std::uint32_t>(shape.writes),
                                           static_cast<std::uint32_t>(shape.writes >> 32),
                                           shape.length};
  const std::uint64_t hash = hash_of(words);
  const std::uint32_t known = shapes_by_.find(hash, [&](std::uint32_t number) { return shapes_[number] == shape; });
  if (known != HashIndex::kNone) return known;
  shapes_.push_back(shape);
  const auto number = static_cast<std::uint32_t>(shapes_.size() - 1);
  shapes_by_.add(hash, number);
  return number;
}

template <typename MakeShape>
std::uint32_t CodeText::find_or_add(Code code, const MakeShape& make) {
  std::array<std::uint32_t, 5> words{};
  std::memcpy(words.data(), code.bytes.data(), code.bytes.size());
  words[4] = (code.merges ? 1U : 0U) << 16 | std::uint32_t{code.length} << 8 | static_cast<std::uint32_t>(code.branch);
  const std::uint64_t hash = hash_of(words);
  const std::uint32_t known = codes_by_.find(hash, [&](std::uint32_t number) {
    const Code& other = codes_[number];
    return other.bytes == code.bytes && other.length == code.length && other.branch == code.branch &&
           other.merges == code.merges;
  });
  if (known != HashIndex::kNone) return known;
  code.shape = shape_number(make());
  codes_.push_back(code);
  const auto number = static_cast<std::uint32_t>(codes_.size() - 1);
  codes_by_.add(hash, number);
  return number;
}

std::uint32_t CodeText::code_of(const arch::PathInstruction& told) {
  Code code{.length = told.length, .branch = told.facts.branch};
  CHECK(told.length <= code.bytes.size(), told.length);
  std::memcpy(code.bytes.data(), told.bytes, told.length);
  return find_or_add(code, [&] {
    // What cannot be decoded here is as long as the runner says and does nothing.
    InstructionShape shape = shape_of({told.bytes, told.length}).value_or(InstructionShape{});
    shape.length = told.length;
    shape.branch = told.facts.branch;
    return shape;
  });
}

std::uint32_t CodeText::merging_code(std::uint32_t code) {
  Code other = codes_[code];
  other.merges = shape(code).upper == UpperHalves::Kept;
  return find_or_add(other, [&] { return merging(shape(code)); });
}

std::uint32_t CodeText::merging_instruction(std::uint32_t instruction) {
  const std::span<const Access> now = accesses(instruction);
  wanted_.assign(now.begin(), now.end());
  return find_or_add(merging_code(code(instruction)), wanted_);
}

std::uint32_t CodeText::find_or_add(std::uint32_t code, std::span<const Access> wanted) {
  std::uint64_t hash = std::uint64_t{code} + 1;
  for (const Access& access : wanted) {
    const std::array<std::uint32_t, 3> words{
        static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(hash),
        static_cast<std::uint32_t>(access.kind) << 24 | static_cast<std::uint32_t>(access.form) << 16 | access.bytes};
    hash = hash_of(words);
  }
  hash *= 0x9E37'79B9'7F4A'7C15;
  const std::uint32_t known = instructions_by_.find(hash, [&](std::uint32_t number) {
    return instructions_[number].code == code && std::ranges::equal(accesses(number), wanted, same);
  });
  if (known != HashIndex::kNone) return known;
  const auto number = static_cast<std::uint32_t>(instructions_.size());
  CHECK(number < CodeWord::kNumber, number);
  // Nearly all have the same few accesses.
  const auto at = std::search(accesses_.begin(), accesses_.end(), wanted.begin(), wanted.end(), same);
  instructions_.push_back({.code = code,
                           .accesses_at = static_cast<std::uint32_t>(at - accesses_.begin()),
                           .accesses = static_cast<std::uint32_t>(wanted.size())});
  if (at == accesses_.end()) accesses_.insert(accesses_.end(), wanted.begin(), wanted.end());
  instructions_by_.add(hash, number);
  return number;
}

std::uint32_t CodeText::instruction_of(std::uint32_t code, std::span<const arch::PathAccess> accesses) {
  wanted_.clear();
  for (const arch::PathAccess& access : accesses) wanted_.push_back({access.kind, access.form, access.address.bytes});
  return find_or_add(code, wanted_);
}

std::uint32_t CodeText::copy_code(std::uint32_t code, CodeText& to) const {
  return to.find_or_add(codes_[code], [&] { return shape(code); });
}

}  // namespace zs::uarch
