// Cutting a demangled name down, on anything: what remains is a piece of it, or all.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "profile/symbols/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view kept = zs::profile::without_parameters(text);
  CHECK(kept.data() >= text.data() && kept.data() + kept.size() <= text.data() + text.size());
  (void)zs::profile::demangle(std::string(text));
  return 0;
}
