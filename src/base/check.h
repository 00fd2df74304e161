// CHECK: for mistakes of our own; on in release builds too. Prints with write(2) only, so it also works where the
// profiled program's thread state is loaded.
#pragma once

namespace zs {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace zs

#define CHECK(condition) ((condition) ? void(0) : ::zs::check_failed(#condition, __FILE__, __LINE__))
