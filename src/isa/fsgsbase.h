// Whether RDFSBASE, WRFSBASE, RDGSBASE and WRGSBASE may be used: the kernel decides, and says so (AT_HWCAP2).
#pragma once

namespace zs::isa {

bool has_fsgsbase();

}  // namespace zs::isa
