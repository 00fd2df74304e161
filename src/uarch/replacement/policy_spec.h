// Which replacement policy a cache has: a value that a CPU model writes down and that a user can name.
//   lru  tree-plru  three-plru4  bit-plru  srrip  qlru_h11_m1_r0_u0
// The rules themselves are in the other files of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zs::uarch {

enum class PolicyKind : std::uint8_t {
  Lru,         // exact least recently used
  TreePlru,    // one bit per inner node of a binary tree over the ways
  ThreePlru4,  // three trees of four ways, the trees in LRU order
  BitPlru,     // one bit per way ("MRU")
  Srrip,       // re-reference interval prediction, two bits per way
  Qlru,        // the family QLRU_Hxy_Mz_Rr_Uu
};

/// The four choices that name a member of the QLRU family; every way has an age of two bits.
/// source: vocabulary of the nanoBench papers.
struct QlruRule {
  std::uint8_t hit_age_3 = 0;    // Hx.: age 3 becomes x on a hit
  std::uint8_t hit_age_2 = 0;    // H.y: age 2 becomes y; ages 1 and 0 become 0
  std::uint8_t insert_age = 0;   // Mz
  std::uint8_t replacement = 0;  // Rr: which way is filled
  std::uint8_t update = 0;       // Uu: who ages after the access

  constexpr bool operator==(const QlruRule&) const = default;
};

/// Whether the rule says what happens in every state: R0 and R2 name a way of age 3, which only U0 and U1 always leave.
constexpr bool is_complete(const QlruRule& rule) {
  return rule.hit_age_3 <= 3 && rule.hit_age_2 <= 3 && rule.insert_age <= 3 && rule.replacement <= 2 &&
         rule.update <= 3 && (rule.replacement == 1 || rule.update <= 1);
}

struct PolicySpec {
  PolicyKind kind = PolicyKind::Lru;
  QlruRule rule{};  // of PolicyKind::Qlru

  constexpr bool operator==(const PolicySpec&) const = default;
};

constexpr PolicySpec lru() { return {PolicyKind::Lru}; }
constexpr PolicySpec tree_plru() { return {PolicyKind::TreePlru}; }
constexpr PolicySpec three_plru4() { return {PolicyKind::ThreePlru4}; }
constexpr PolicySpec bit_plru() { return {PolicyKind::BitPlru}; }
constexpr PolicySpec srrip() { return {PolicyKind::Srrip}; }

/// The policy as people write it, in lower case; nothing if there is none of that name or its rule is incomplete.
constexpr std::optional<PolicySpec> parse_policy(std::string_view name) {
  if (name == "lru") return lru();
  if (name == "tree-plru") return tree_plru();
  if (name == "three-plru4") return three_plru4();
  if (name == "bit-plru") return bit_plru();
  if (name == "srrip") return srrip();
  constexpr std::string_view kShape = "qlru_h00_m0_r0_u0";  // a 0 stands for a digit
  if (name.size() != kShape.size()) return std::nullopt;
  std::uint8_t digits[5] = {};
  unsigned found = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (kShape[i] == '0') {
      if (name[i] < '0' || name[i] > '9') return std::nullopt;
      digits[found++] = static_cast<std::uint8_t>(name[i] - '0');
    } else if (name[i] != kShape[i]) {
      return std::nullopt;
    }
  }
  const QlruRule rule{digits[0], digits[1], digits[2], digits[3], digits[4]};
  if (!is_complete(rule)) return std::nullopt;
  return PolicySpec{PolicyKind::Qlru, rule};
}

/// policy("qlru_h11_m1_r0_u0") in a CPU model: a name that is none does not compile.
consteval PolicySpec policy(std::string_view name) { return parse_policy(name).value(); }

/// Whether the policy can keep the order of `ways` ways in the 64 bits that a set has for it.
constexpr bool serves(const PolicySpec& spec, unsigned ways) {
  switch (spec.kind) {
    case PolicyKind::Lru: return ways >= 1 && ways <= 16;
    case PolicyKind::TreePlru: return ways >= 2 && ways <= 32 && (ways & (ways - 1)) == 0;
    case PolicyKind::ThreePlru4: return ways == 12;
    case PolicyKind::BitPlru: return ways >= 2 && ways <= 32;
    case PolicyKind::Srrip:
    case PolicyKind::Qlru: return ways >= 1 && ways <= 32;
  }
  return false;
}

/// Whether touching the line that was touched last changes nothing, so that a filter may skip it.
constexpr bool second_touch_is_idle(PolicyKind kind) { return kind != PolicyKind::Qlru; }

/// Whether a way without a line is filled before any other; a tree follows its nodes instead.
constexpr bool prefers_empty_ways(PolicyKind kind) { return kind != PolicyKind::TreePlru; }

}  // namespace zs::uarch
