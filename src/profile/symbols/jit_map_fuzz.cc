// The reader of perf-PID.map files on anything: symbols come out sorted and never overlap.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "profile/symbols/jit_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::profile;
  const SymbolTable table = parse_jit_map({reinterpret_cast<const char*>(data), size});
  ImageAddress end{0};
  for (const Symbol& symbol : table.symbols()) {
    CHECK(symbol.start >= end && symbol.end > symbol.start);
    CHECK(table.find(symbol.start) == &symbol);
    end = symbol.end;
  }
  return 0;
}
