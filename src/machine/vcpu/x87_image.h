// The x87 state between its two shapes, an FXSAVE image to execute on and plain data to look at, and its second life as
// MMX registers.
#pragma once

#include "machine/vcpu/cpu_state.h"
#include "machine/vcpu/host_x87.h"

namespace zs::machine::vcpu {

struct Core;

X87 x87_state(const FxImage& image);
FxImage x87_image(const X87& state);
/// Sets ES and B to what status and control say, so that the host can load any image.
void fix_summary(FxImage& image);
/// #MF if an unmasked exception is pending.
void check_x87_pending(const Core& core);

/// An MMX instruction makes TOP zero and all registers valid.
void enter_mmx(FxImage& image);
std::uint64_t mmx_register(const FxImage& image, unsigned number);
/// What mmx_register would give after enter_mmx.
std::uint64_t mmx_register_after_entry(const FxImage& image, unsigned number);
void set_mmx_register(FxImage& image, unsigned number, std::uint64_t value);
/// EMMS.
void empty_x87(FxImage& image);

}  // namespace zs::machine::vcpu
