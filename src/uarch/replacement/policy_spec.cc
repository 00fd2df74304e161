#include "uarch/replacement/policy_spec.h"

namespace zs::uarch {

std::string policy_name(const PolicySpec& spec) {
  switch (spec.kind) {
    case PolicyKind::Lru: return "lru";
    case PolicyKind::TreePlru: return "tree-plru";
    case PolicyKind::ThreePlru4: return "three-plru4";
    case PolicyKind::BitPlru: return "bit-plru";
    case PolicyKind::Srrip: return "srrip";
    case PolicyKind::Qlru: break;
  }
  const auto digit = [](std::uint8_t n) { return static_cast<char>('0' + n); };
  const QlruRule& r = spec.rule;
  return std::string("qlru_h") + digit(r.hit_age_3) + digit(r.hit_age_2) + "_m" + digit(r.insert_age) + "_r" +
         digit(r.replacement) + "_u" + digit(r.update);
}

}  // namespace zs::uarch
