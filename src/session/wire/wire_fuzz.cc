// The collector's decoder against arbitrary bytes; what it accepts must survive writing and reading again.
#include <cstdint>
#include <cstdlib>

#include "session/wire/wire.h"

namespace {

class Datagrams : public zs::session::Channel {
 public:
  void send(std::span<const std::byte> datagram) override {
    const auto again = zs::session::decode_datagram(datagram, [](zs::session::Message&&) {});
    if (!again) std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Datagrams channel;
  zs::session::MessageWriter writer{channel, 1};
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)zs::session::decode_datagram(bytes, [&](zs::session::Message&& message) { writer.write(message); }).has_value();
  writer.flush();
  return 0;
}
