#include "machine/vcpu/lower.h"
namespace zs::machine::vcpu {
std::span<const LowerRow> x87_rows() { return {}; }
}  // namespace zs::machine::vcpu
