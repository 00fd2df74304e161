// The input is a program for a ByteReader: each byte names an operation, the eight after it an operand. The reader
// must never leave its bytes (the sanitizers watch) and must keep its first error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const zs::Bytes bytes = std::as_bytes(std::span(data, size));
  zs::ByteReader program(bytes);
  zs::ByteReader in(bytes.subspan(size / 2), "fuzz", 0x1000);
  std::string first_error;
  while (program.remaining() >= 9) {
    const auto operation = program.read<std::uint8_t>();
    const auto operand = program.read<std::uint64_t>();
    switch (operation % 8) {
      case 0: in.read<std::uint64_t>(); break;
      case 1: in.read_array<std::uint32_t>(operand); break;
      case 2: in.take(operand % 64); break;
      case 3: in.take_c_string(); break;
      case 4: in.take_padded_string(operand); break;
      case 5: in.seek(0x1000 + operand % (size + 1)); break;
      case 6: in = in.sub(operand); break;
      default: in.skip(operand);
    }
    if (!in.ok()) {
      if (first_error.empty()) first_error = in.error("it").message;
      CHECK(in.error("it").message == first_error);
      CHECK(in.remaining() == 0);
    }
  }
  return 0;
}
