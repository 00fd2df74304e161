#include "machine/vcpu/lower.h"
namespace zs::machine::vcpu {
void lower_sse(Decoded&) {}
std::span<const LowerRow> sse_rows() { return {}; }
}  // namespace zs::machine::vcpu
