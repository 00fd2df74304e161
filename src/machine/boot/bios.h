// The BIOS that the interrupt vector table points to: for vector nn an IRET at F000:00nn, before which the machine runs
// service nn. So boot code that hooks a vector and chains to the old one works: the INT instruction itself is nobody's.
// Vector 8 leads to F000:0100, where the tick is counted, INT 1CH follows, and the interrupt ends; vector 16H to
// F000:0103, where a HLT with interrupts on is repeated while a key is waited for.
//
//   08H, 09H-0FH, 70H-77H  interrupts of the 8259 pair: tick counter and INT 1CH, keys into their buffer, end of
//   interrupt
//   10H  video (bios_video.cc): modes 0 to 7 and 13H, cursor, scroll, characters, teletype, strings, palette; no VBE
//   11H 12H  equipment, 639 KiB         14H  COM1         16H  keys                 17H  no printer
//   13H  disk (bios_disk.cc): reset, read, write, verify, geometry, type; extensions for hard disks and CDs; El Torito
//   15H  system (bios_system.cc): memory map and sizes, A20, block move, wait, configuration
//   18H 19H  nothing more to boot: the PC resets                  1AH  ticks since midnight, real-time clock
//   F000:FFF0 after INIT             goes where the far pointer at 0040:0067 says
// Everything else returns as it came, with carry set where the service is known to report errors so; the first call of
// each such function is told to BiosHost::note.
// source: IBM PS/2 and PC BIOS Interface Technical Reference; Enhanced Disk Drive Specification 3.0; Ralf Brown's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "machine/boot/key_buffer.h"

namespace zs::machine {

class DiskImage;
class PhysicalMemory;
class PortMap;
class Vga;

/// Registers of the caller, and the FLAGS that its INT pushed.
struct BiosCall {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0, esi = 0, edi = 0, ebp = 0;
  std::uint16_t ds = 0, es = 0, flags = 0;

  std::uint16_t ax() const { return static_cast<std::uint16_t>(eax); }
  std::uint16_t bx() const { return static_cast<std::uint16_t>(ebx); }
  std::uint16_t cx() const { return static_cast<std::uint16_t>(ecx); }
  std::uint16_t dx() const { return static_cast<std::uint16_t>(edx); }
  std::uint16_t si() const { return static_cast<std::uint16_t>(esi); }
  std::uint16_t di() const { return static_cast<std::uint16_t>(edi); }
  std::uint8_t ah() const { return static_cast<std::uint8_t>(eax >> 8); }
  std::uint8_t al() const { return static_cast<std::uint8_t>(eax); }
  static void set_word(std::uint32_t& reg, std::uint64_t value) { reg = (reg & 0xFFFF0000) | (value & 0xFFFF); }
  void set_ax(std::uint64_t value) { set_word(eax, value); }
  void set_bx(std::uint64_t value) { set_word(ebx, value); }
  void set_cx(std::uint64_t value) { set_word(ecx, value); }
  void set_dx(std::uint64_t value) { set_word(edx, value); }
  void set_di(std::uint64_t value) { set_word(edi, value); }
  void set_ah(unsigned value) { eax = (eax & 0xFFFF00FF) | (value & 0xFF) << 8; }
  void set_al(unsigned value) { eax = (eax & 0xFFFFFF00) | (value & 0xFF); }
  void set_carry(bool on) { flags = static_cast<std::uint16_t>(on ? flags | 1 : flags & ~1); }
  void set_zero(bool on) { flags = static_cast<std::uint16_t>(on ? flags | 0x40 : flags & ~0x40); }
};

/// What services ask of the PC.
class BiosHost {
 public:
  virtual ~BiosHost() = default;
  /// A service wrote this range.
  virtual void memory_written(std::uint64_t physical, std::uint64_t bytes) = 0;
  /// The clock (machine/clock.h), and that the service took so many ticks of it.
  virtual std::uint64_t ticks() const = 0;
  virtual void pass_time(std::uint64_t ticks) = 0;
  virtual bool a20() const = 0;
  virtual void set_a20(bool open) = 0;
  /// For the log: what a guest asked for and this BIOS has not.
  virtual void note(const std::string& text) = 0;
  /// Whether somebody still types.
  virtual bool keys_to_come() const = 0;
  /// The guest waits for a key, which will never come.
  virtual void waits_for_a_key() = 0;
  virtual void reset() = 0;
};

class Bios {
 public:
  static constexpr unsigned kServices = 0x10A;  // with those of F000:0100
  static constexpr unsigned kTickService = 0x100, kTickEnd = 0x102;
  static constexpr unsigned kKeyEntry = 0x103, kKeyWait = 0x104, kKeyService = 0x109;

  /// disk     what INT 13H reads and writes; may be null
  Bios(PhysicalMemory& memory, PortMap& ports, Vga& vga, DiskImage* disk, BiosHost& host);

  /// Power-up: vectors, stubs, BIOS data area, and devices as a BIOS leaves them.
  void install();
  void service(unsigned vector, BiosCall& call);
  /// At kKeyWait: whether the processor is to halt until the next interrupt, and to ask again.
  bool must_wait_for_key(const BiosCall& call);

  /// Whether a timer tick leads to this BIOS and to nobody else: vectors 8 and 1CH are its own.
  bool owns_the_tick() const;

  /// Whether the video mode is a graphics mode that a call has set.
  bool draws() const { return !text_mode(); }
  unsigned columns() const;
  /// In graphics modes characters are not drawn, since there is no font: they are kept as the cells of a text screen.
  std::span<const std::uint8_t> drawn_text() const { return drawn_text_; }

 private:
  // bios_video.cc
  void video(BiosCall& call);
  void set_video_mode(std::uint8_t mode);
  void teletype(std::uint8_t character);
  void put_characters(BiosCall& call, bool with_attribute);
  void put_string(BiosCall& call);
  void palette(BiosCall& call);
  void pixel(BiosCall& call, bool write);
  void scroll(unsigned top, unsigned left, unsigned bottom, unsigned right, unsigned lines, std::uint8_t attribute,
              bool down);
  bool text_mode() const;
  std::uint16_t cell(unsigned row, unsigned column) const;
  void set_cell(unsigned row, unsigned column, std::uint16_t value);
  // bios_disk.cc
  void disk(BiosCall& call);
  std::uint8_t disk_function(BiosCall& call);
  std::uint8_t by_address(BiosCall& call);
  std::uint8_t by_packet(BiosCall& call);
  std::uint8_t drive_parameters(BiosCall& call);
  std::uint8_t extended_parameters(BiosCall& call);
  std::uint8_t cd_emulation(BiosCall& call);
  std::uint8_t transfer(unsigned what, std::uint64_t first, std::uint64_t count, std::uint64_t physical);
  // bios_system.cc
  void system(BiosCall& call);
  void memory_range(BiosCall& call);
  void move_block(BiosCall& call);
  void time(BiosCall& call);
  std::uint32_t ticks();
  void count_tick();
  // bios_keyboard.cc
  void keyboard(BiosCall& call);
  void key_interrupt();

  void install_tables();
  bool store(std::uint64_t physical, std::span<const std::byte> bytes);
  std::uint8_t cmos(std::uint8_t index);
  void set_cmos(std::uint8_t index, std::uint8_t value);
  void not_here(unsigned vector, const BiosCall& call);

  PhysicalMemory& memory_;
  PortMap& ports_;
  Vga& vga_;
  DiskImage* disk_;
  BiosHost& host_;
  KeyBuffer keys_{memory_};
  std::uint8_t disk_status_ = 0;
  std::uint64_t tick_base_ = 0;  // ticks of the 8254's period that had passed when the count was 0
  bool counted_ahead_ = false;   // ticks() has counted one whose interrupt is still to come
  std::uint64_t key_polls_ = 0;  // in a row: no video, disk or system service between them
  std::set<std::uint32_t> noted_;
  std::vector<std::uint8_t> drawn_text_;
};

}  // namespace zs::machine
