// The pair of 8259 interrupt controllers, cascaded through IRQ2. Masked at power-up, with the vectors that a PC's BIOS
// gives them (08H and 70H). Edge-triggered; fully nested, automatic end of interrupt, specific and non-specific EOI,
// rotation left out.
// source: Intel 8259A data sheet, "Initialization Command Words" and "Operation Command Words".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "machine/devices/irq_lines.h"
#include "machine/port_map.h"

namespace zs::machine {

class Pic : public PortDevice, public IrqLines {
 public:
  Pic();
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

  /// A rising edge requests.
  void set_line(unsigned irq, bool up) override;
  /// INTR of the pair.
  bool requesting() const { return master().pending().has_value(); }
  /// Interrupt acknowledge: the vector. Without a request any more it is the spurious one, IRQ7's.
  std::uint8_t acknowledge();
  bool enabled(unsigned irq) const override;
  /// The vector that this line leads to.
  std::uint8_t vector(unsigned irq) const { return static_cast<std::uint8_t>(chips_[irq / 8].vector + irq % 8); }

 private:
  struct Chip {
    std::uint8_t requests = 0, in_service = 0, mask = 0xFF, vector = 0, lines = 0;
    std::uint8_t init_step = 0;  // the ICW that comes next; 0: initialised
    bool icw4_comes = false, single = false, auto_eoi = false, read_in_service = false;

    std::optional<unsigned> pending() const;  // highest-priority request that may interrupt
    std::uint8_t acknowledge();
    void command(std::uint8_t value);
    void data(std::uint8_t value);
  };
  static constexpr unsigned kCascade = 2;
  const Chip& master() const { return chips_[0]; }
  void cascade();

  std::array<Chip, 2> chips_;
};

}  // namespace zs::machine
