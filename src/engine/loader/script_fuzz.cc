// Any bytes as the head of a #! script: no crash, and a line that is accepted has no blank inside its interpreter.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "engine/loader/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::engine;
  const std::string_view head(reinterpret_cast<const char*>(data), size);
  const auto line = parse_script_line(head);
  if (!line) return 0;
  constexpr std::string_view kEnds("\n \t\0", 4);
  CHECK(is_script(head));
  CHECK(!line->interpreter.empty() && line->interpreter.find_first_of(kEnds) == line->interpreter.npos);
  CHECK(line->interpreter.size() < kScriptHeadBytes);
  if (line->argument) CHECK(line->argument->find('\n') == line->argument->npos);
  return 0;
}
