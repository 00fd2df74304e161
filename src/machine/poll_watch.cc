#include "machine/poll_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace zs::machine {
namespace {

struct PortFact {
  std::uint16_t first, last;
  const char* name;
  const char* why;
  bool of_ide = false;
};
constexpr char kNoIde[] = "this PC has no IDE disk; INT 13H works";
constexpr char kIdeWaits[] = "the IDE disk answers reads and writes by programmed I/O alone, at once";
constexpr char kNoKeys[] = "nobody types on this PC's keyboard (--keys does)";
constexpr char kNoFloppy[] = "this PC has no floppy controller; INT 13H works";
constexpr char kNothingComes[] = "nobody sends to COM1 (--serial-in does)";
constexpr char kNotThere[] = "this PC has none";
// clang-format off
constexpr PortFact kFacts[] = {
    {0x060, 0x060, "keyboard data", kNoKeys},
    {0x064, 0x064, "keyboard status", kNoKeys},
    {0x170, 0x176, "second IDE channel", kNoIde},
    {0x177, 0x177, "second IDE channel's status", kNoIde},
    {0x1F0, 0x1F6, "IDE", kNoIde, true},
    {0x1F7, 0x1F7, "IDE status", kNoIde, true},
    {0x2F8, 0x2FF, "COM2", kNotThere},
    {0x376, 0x376, "second IDE channel's status", kNoIde},
    {0x378, 0x37A, "printer", kNotThere},
    {0x3F0, 0x3F5, "floppy controller", kNoFloppy},
    {0x3F6, 0x3F6, "IDE status", kNoIde, true},
    {0x3F7, 0x3F7, "floppy controller", kNoFloppy},
    {0x3F8, 0x3FF, "COM1", kNothingComes},
    {0xCF8, 0xCFF, "PCI configuration", "this PC has no PCI"},
};
// clang-format on

}  // namespace

std::string endless_poll(std::uint16_t port, bool has_ide) {
  const auto* const fact = std::find_if(std::begin(kFacts), std::end(kFacts),
                                        [=](const PortFact& f) { return port >= f.first && port <= f.last; });
  if (fact == std::end(kFacts)) return fmt::format("polls port {:X}h: what it reads does not change", port);
  return fmt::format("polls port {:X}h ({}): {}", port, fact->name, fact->of_ide && has_ide ? kIdeWaits : fact->why);
}

}  // namespace zs::machine
