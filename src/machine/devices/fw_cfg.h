// The configuration device at ports 510H (selector) and 511H (data, byte by byte) that bare-metal test programs ask for
// the number of processors and the size of memory. Unknown selectors read as zeros.
// source: QEMU's documented "fw_cfg" interface, legacy port form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/port_map.h"

namespace zs::machine {

class FwCfg : public PortDevice {
 public:
  explicit FwCfg(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;
  bool wide_out(std::uint16_t port, unsigned bytes, std::uint32_t value) override;

 private:
  void select(std::uint16_t item);

  std::uint64_t memory_bytes_;
  std::uint16_t selector_ = 0;
  std::vector<std::uint8_t> item_;
  std::size_t at_ = 0;
};

}  // namespace zs::machine
