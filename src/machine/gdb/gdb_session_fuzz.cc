// Any bytes from a debugger, to a PC that runs a short program: each packet gets an answer or none, and nothing else
// happens.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "machine/gdb/packet.h"
#include "machine/gdb/session.h"
#include "machine/memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::machine;
  auto made = Pc::make({.memory_bytes = kLeastMemory});
  CHECK(made.has_value());
  std::vector<std::byte> sector(512);
  constexpr std::uint8_t kCode[] = {0x40, 0xA3, 0x00, 0x80, 0xA1, 0x02, 0x80, 0xEB, 0xF7};  // inc, store, load, again
  for (std::size_t i = 0; i < sizeof(kCode); ++i) sector[i] = static_cast<std::byte>(kCode[i]);
  sector[510] = std::byte{0x55};
  sector[511] = std::byte{0xAA};
  (*made)->boot_disk(*DiskImage::make(std::move(sector), "image"));
  gdb::Session session(**made, 500, size % 2 == 0 ? gdb::Registers::X8664 : gdb::Registers::I386, [] { return true; });
  gdb::PacketReader reader;
  reader.add({reinterpret_cast<const char*>(data), size});
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  while (const auto item = reader.next()) {
    if (item->what == gdb::PacketReader::What::Packet) (void)session.answer(item->data);
  }
  // The same bytes as packets whose checksums are right: what lies between newlines.
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    (void)session.answer(all.substr(at, end - at));
    at = end + 1;
  }
  return 0;
}
