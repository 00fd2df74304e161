// Prints one example of every instruction form that src/uarch/timing can tell apart: mnemonic, signature, bytes.
// It walks the encodings (legacy, VEX, EVEX; maps, prefixes, opcodes, ModRM) and keeps the first bytes of each new form.
#include <Zydis/Zydis.h>

#include <cstdint>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "uarch/timing/shape.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

std::set<std::pair<unsigned, unsigned>> g_seen;

void offer(const Bytes& code) {
  Bytes padded = code;
  padded.resize(15, 0);
  const auto shape = zs::uarch::shape_of(padded);
  // An idiom is no example of its form: its operands must differ.
  if (!shape || shape->zero_idiom) return;
  if (!g_seen.emplace(shape->mnemonic, shape->signature).second) return;
  std::printf("%s %04x ", ZydisMnemonicGetString(static_cast<ZydisMnemonic>(shape->mnemonic)), shape->signature);
  for (unsigned i = 0; i < shape->length; ++i) std::printf("%02x", padded[i]);
  std::printf("\n");
}

/// Every ModRM that selects another form: registers that differ, plain addresses, and with SIB.
void with_operands(const Bytes& head) {
  for (unsigned field = 0; field < 8; ++field) {
    for (const unsigned rm : {3U, 2U, 1U, 0U}) {
      if (rm == field) continue;
      Bytes code = head;
      code.push_back(static_cast<std::uint8_t>(0xC0 | field << 3 | rm));
      offer(code);
    }
    for (const Bytes& tail : {Bytes{0x06}, Bytes{0x46, 0x08}, Bytes{0x04, 0x3E}, Bytes{0x44, 0x3E, 0x08}}) {
      Bytes code = head;
      code.insert(code.end(), tail.begin(), tail.end());
      code[head.size()] = static_cast<std::uint8_t>(code[head.size()] | field << 3);
      offer(code);
    }
  }
  // x87 has forms without operands in every ModRM from C0H.
  for (unsigned modrm = 0xC0; modrm < 0x100; ++modrm) {
    Bytes code = head;
    code.push_back(static_cast<std::uint8_t>(modrm));
    offer(code);
  }
}

void legacy() {
  const std::vector<Bytes> prefixes = {{}, {0x48}, {0x66}, {0xF3}, {0xF2}, {0xF3, 0x48}, {0xF2, 0x48}, {0x66, 0x48}};
  const std::vector<Bytes> maps = {{}, {0x0F}, {0x0F, 0x38}, {0x0F, 0x3A}};
  for (const Bytes& map : maps) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      for (const Bytes& prefix : prefixes) {
        Bytes code = prefix;
        code.insert(code.end(), map.begin(), map.end());
        code.push_back(static_cast<std::uint8_t>(opcode));
        offer(code);
        with_operands(code);
      }
    }
  }
}

void vex() {
  for (unsigned map = 1; map <= 3; ++map) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      for (unsigned bits = 0; bits < 32; ++bits) {
        const unsigned pp = bits & 3, wide = bits >> 2 & 1, length = bits >> 3 & 1;
        const unsigned vvvv = (bits >> 4 & 1) != 0 ? 0xF : 0xA;  // none, or register 5
        with_operands({0xC4, static_cast<std::uint8_t>(0xE0 | map),
                       static_cast<std::uint8_t>(wide << 7 | vvvv << 3 | length << 2 | pp),
                       static_cast<std::uint8_t>(opcode)});
      }
    }
  }
}

void evex() {
  for (const unsigned map : {1U, 2U, 3U, 5U, 6U}) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      for (unsigned bits = 0; bits < 96; ++bits) {
        const unsigned pp = bits & 3, wide = bits >> 2 & 1, mask = bits >> 3 & 1, length = bits / 32;
        const unsigned vvvv = (bits >> 4 & 1) != 0 ? 0xF : 0xA;
        with_operands({0x62, static_cast<std::uint8_t>(0xF0 | map),
                       static_cast<std::uint8_t>(wide << 7 | vvvv << 3 | 4 | pp),
                       static_cast<std::uint8_t>(length << 5 | 8 | mask), static_cast<std::uint8_t>(opcode)});
      }
    }
  }
}

}  // namespace

int main() {
  legacy();
  vex();
  evex();
}
