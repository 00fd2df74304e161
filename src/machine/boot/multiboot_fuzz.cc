// Any bytes as a kernel, with a module and a command line: they load or are refused, and never reach past memory.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "machine/boot/multiboot.h"
#include "machine/memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::machine;
  auto memory = PhysicalMemory::make(kLeastMemory);
  CHECK(memory.has_value());
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  MultibootInput input{.kernel = std::vector<std::byte>(bytes, bytes + size),
                       .kernel_name = "kernel",
                       .command_line = std::string(size * 16 % 70000, 'x'),
                       .modules = {}};
  if (size % 2 == 1) input.modules.push_back({input.kernel, "module"});
  const auto loaded = load_multiboot(input, *memory);
  if (!loaded) CHECK(!loaded.error().message.empty());
  return 0;
}
