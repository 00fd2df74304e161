// The instructions that compiled code consists of, laid out as the manual's opcode maps are: what each one reads,
// writes and does to control. fast_decode.cc turns these lines into its tables at compile time.
// source: SDM vol. 2, appendix "Opcode Map", and the pages of the instructions.
//
// An instruction that is not here is no error: Zydis decodes it (decode.cc). Left out, as rare or full of exceptions:
// x87, MMX, string and port instructions, far transfers, segment and control registers, system instructions, moffs
// forms, VSIB, EVEX.
#pragma once

#include <cstdint>
#include <string_view>

#include "isa/decode.h"

namespace zs::isa::opcodes {

enum Map : std::uint8_t { One, Of, Of38, Of3A };

/// Columns of an opcode map: the mandatory prefix a line is for. With general registers 66h is the operand size
/// instead, so that such a line stands in both of the first two columns (Sized).
enum Columns : std::uint8_t {
  None = 1,
  P66 = 2,
  F3 = 4,
  F2 = 8,
  Sized = None | P66,
  Packed = None | P66,
  Scalar = F3 | F2,
  All = Packed | Scalar,
  Bnd = None | F3 | F2,  // branches: BND, and the REP RET that an old branch predictor wanted
};

enum class Vex : std::uint8_t { No, L0, L1, Both };

/// What FP_ARITH_INST_RETIRED makes of a line's instructions.
enum class Fp : std::uint8_t {
  No,
  ByColumn,    // PS, PD, SS, SD in the order of the columns
  Horizontal,  // 66: PD, F2: PS
  DotSingle,   // DPPS and DPPD count twice
  DotDouble,
  FmaPacked,  // fused multiply-add counts twice; VEX.W tells D from S
  FmaScalar,
};

/// Values of ModRM.reg, for the lines of a group.
constexpr std::uint8_t regs(unsigned first, unsigned last) {
  return static_cast<std::uint8_t>((2u << last) - (1u << first));
}
constexpr std::uint8_t reg(unsigned value) { return regs(value, value); }

struct More {
  std::uint8_t group = 0;  // regs(...)
  std::uint8_t step = 1;   // between the opcodes of the line
  bool lock = false;       // may carry LOCK, on memory
  Flow flow = Flow::Plain;
  Vex vex = Vex::No;   // also in these VEX forms
  bool legacy = true;  // false: in VEX forms only
  int w = -1;          // VEX.W, where only one value will do
  Fp fp = Fp::No;
  bool nop = false;
  bool prefetch = false;
  bool always_locked = false;  // XCHG, on memory
  bool no_rex = false;         // with REX it is another instruction
  bool bit_string = false;     // ModRM.reg reaches beyond the memory operand
  bool endbr = false;          // ModRM is a fourth opcode byte, FAH
};

/// One instruction, or several that differ in nothing the engine asks about.
///
/// operands are words: where the operand is encoded, its size, what happens to it if it is memory.
///   E ModRM.rm  general register or memory      G ModRM.reg general register
///   W ModRM.rm  vector register or memory       V ModRM.reg vector register
///   M ModRM.rm  memory only                     U ModRM.rm  vector register only, or no operand at all
///   R ModRM.rm  general register only           Z low bits of the opcode, general register
///   H VEX.vvvv  vector register                 h the same, in the register form only
///   B VEX.vvvv  general register                D as E, but no byte register whatever the size
///   I immediate                                 J branch displacement
/// sizes (vectors and branches leave theirs out where nothing depends on it):
///   b w d q o   1 2 4 8 16 bytes                v operand size: 2, 4, 8
///   y           4, or 8 with W                  z operand size, but at most 4
///   s           stack: 8, or 2 with 66h         c two of y
///   x           16, or 32 with VEX.L            2 4 8  that part of x
///   p           by column: x x d q              m as 2, but 32 bytes for 32 (MOVDDUP)
/// memory:       nothing: read      = written      + read and written      ? neither
/// Words of two small letters are general registers used without being encoded; push and pop happen to the stack.
struct OpcodeLine {
  Map map;
  unsigned columns;
  std::uint8_t first, last;
  std::string_view operands;
  More more = {};
};

// clang-format off
inline constexpr OpcodeLine kLines[] = {
    // ---- one-byte opcodes ----
    {One, Sized, 0x00, 0x30, "Eb+ Gb",       {.step = 8, .lock = true}},  // ADD OR ADC SBB AND SUB XOR
    {One, Sized, 0x01, 0x31, "Ev+ Gv",       {.step = 8, .lock = true}},
    {One, Sized, 0x02, 0x3A, "Gb Eb",        {.step = 8}},                // likewise, and CMP
    {One, Sized, 0x03, 0x3B, "Gv Ev",        {.step = 8}},
    {One, Sized, 0x04, 0x3C, "ax Ib",        {.step = 8}},
    {One, Sized, 0x05, 0x3D, "ax Iz",        {.step = 8}},
    {One, Sized, 0x38, 0x38, "Eb Gb"},                                    // CMP
    {One, Sized, 0x39, 0x39, "Ev Gv"},
    {One, Sized, 0x50, 0x57, "Zs push"},
    {One, Sized, 0x58, 0x5F, "Zs pop"},
    {One, None,  0x63, 0x63, "Gv Ed"},                                    // MOVSXD
    {One, Sized, 0x68, 0x68, "Iz push"},
    {One, Sized, 0x69, 0x69, "Gv Ev Iz"},                                 // IMUL
    {One, Sized, 0x6A, 0x6A, "Ib push"},
    {One, Sized, 0x6B, 0x6B, "Gv Ev Ib"},
    {One, Bnd,   0x70, 0x7F, "Jb",           {.flow = Flow::ConditionalJump}},
    {One, Sized, 0x80, 0x80, "Eb+ Ib",       {.group = regs(0, 6), .lock = true}},
    {One, Sized, 0x80, 0x80, "Eb Ib",        {.group = reg(7)}},
    {One, Sized, 0x81, 0x81, "Ev+ Iz",       {.group = regs(0, 6), .lock = true}},
    {One, Sized, 0x81, 0x81, "Ev Iz",        {.group = reg(7)}},
    {One, Sized, 0x83, 0x83, "Ev+ Ib",       {.group = regs(0, 6), .lock = true}},
    {One, Sized, 0x83, 0x83, "Ev Ib",        {.group = reg(7)}},
    {One, Sized, 0x84, 0x84, "Eb Gb"},                                    // TEST
    {One, Sized, 0x85, 0x85, "Ev Gv"},
    {One, Sized, 0x86, 0x86, "Eb+ Gb",       {.lock = true, .always_locked = true}},  // XCHG
    {One, Sized, 0x87, 0x87, "Ev+ Gv",       {.lock = true, .always_locked = true}},
    {One, Sized, 0x88, 0x88, "Eb= Gb"},                                   // MOV
    {One, Sized, 0x89, 0x89, "Ev= Gv"},
    {One, Sized, 0x8A, 0x8A, "Gb Eb"},
    {One, Sized, 0x8B, 0x8B, "Gv Ev"},
    {One, Sized, 0x8D, 0x8D, "Gv Mv?"},                                   // LEA
    {One, Sized, 0x8F, 0x8F, "Es= pop",      {.group = reg(0)}},
    {One, Sized, 0x90, 0x90, "",             {.nop = true, .no_rex = true}},
    {One, Sized, 0x91, 0x97, "Zv ax"},                                    // XCHG
    {One, Sized, 0x98, 0x98, "ax"},                                       // CBW CWDE CDQE
    {One, Sized, 0x99, 0x99, "ax dx"},                                    // CWD CDQ CQO
    {One, None,  0x9E, 0x9F, "ax"},                                       // SAHF LAHF
    {One, Sized, 0xA8, 0xA8, "ax Ib"},                                    // TEST
    {One, Sized, 0xA9, 0xA9, "ax Iz"},
    {One, Sized, 0xB0, 0xB7, "Zb Ib"},                                    // MOV
    {One, Sized, 0xB8, 0xBF, "Zv Iv"},
    {One, Sized, 0xC0, 0xC0, "Eb+ Ib",       {.group = regs(0, 7)}},      // ROL ROR RCL RCR SHL SHR SAL SAR
    {One, Sized, 0xC1, 0xC1, "Ev+ Ib",       {.group = regs(0, 7)}},
    {One, Bnd,   0xC2, 0xC2, "Iw pop",       {.flow = Flow::Return}},
    {One, Bnd,   0xC3, 0xC3, "pop",          {.flow = Flow::Return}},
    {One, Sized, 0xC6, 0xC6, "Eb= Ib",       {.group = reg(0)}},          // MOV
    {One, Sized, 0xC7, 0xC7, "Ev= Iz",       {.group = reg(0)}},
    {One, None,  0xC9, 0xC9, "leave"},
    {One, Sized, 0xD0, 0xD0, "Eb+",          {.group = regs(0, 7)}},
    {One, Sized, 0xD1, 0xD1, "Ev+",          {.group = regs(0, 7)}},
    {One, Sized, 0xD2, 0xD2, "Eb+ cx",       {.group = regs(0, 7)}},
    {One, Sized, 0xD3, 0xD3, "Ev+ cx",       {.group = regs(0, 7)}},
    {One, Bnd,   0xE8, 0xE8, "Jd push",      {.flow = Flow::Call}},
    {One, Bnd,   0xE9, 0xE9, "Jd",           {.flow = Flow::Jump}},
    {One, Bnd,   0xEB, 0xEB, "Jb",           {.flow = Flow::Jump}},
    {One, None,  0xF5, 0xF5, ""},                                         // CMC
    {One, Sized, 0xF6, 0xF6, "Eb Ib",        {.group = regs(0, 1)}},      // TEST
    {One, Sized, 0xF6, 0xF6, "Eb+",          {.group = regs(2, 3), .lock = true}},  // NOT NEG
    {One, Sized, 0xF6, 0xF6, "Eb ax",        {.group = regs(4, 7)}},      // MUL IMUL DIV IDIV
    {One, Sized, 0xF7, 0xF7, "Ev Iz",        {.group = regs(0, 1)}},
    {One, Sized, 0xF7, 0xF7, "Ev+",          {.group = regs(2, 3), .lock = true}},
    {One, Sized, 0xF7, 0xF7, "Ev ax dx",     {.group = regs(4, 7)}},
    {One, None,  0xF8, 0xF9, ""},                                         // CLC STC
    {One, None,  0xFC, 0xFD, ""},                                         // CLD STD
    {One, Sized, 0xFE, 0xFE, "Eb+",          {.group = regs(0, 1), .lock = true}},  // INC DEC
    {One, Sized, 0xFF, 0xFF, "Ev+",          {.group = regs(0, 1), .lock = true}},
    {One, Bnd,   0xFF, 0xFF, "Es push",      {.group = reg(2), .flow = Flow::IndirectCall}},
    {One, Bnd,   0xFF, 0xFF, "Es",           {.group = reg(4), .flow = Flow::IndirectJump}},
    {One, Sized, 0xFF, 0xFF, "Es push",      {.group = reg(6)}},

    // ---- 0F: general registers ----
    {Of, None,  0x05, 0x05, "cx r11",        {.flow = Flow::Syscall}},
    {Of, None,  0x0B, 0x0B, "",              {.flow = Flow::Stop}},       // UD2
    {Of, None,  0x0D, 0x0D, "Mb?",           {.group = reg(1), .prefetch = true}},     // PREFETCHW
    {Of, None,  0x18, 0x18, "Mb?",           {.group = regs(0, 3), .prefetch = true}},  // PREFETCHh
    {Of, F3,    0x1E, 0x1E, "U",             {.group = reg(7), .endbr = true}},
    {Of, Sized, 0x1F, 0x1F, "Ev? Gv",        {.nop = true}},
    {Of, Sized, 0x40, 0x4F, "Gv Ev"},                                     // CMOVcc
    {Of, Bnd,   0x80, 0x8F, "Jd",            {.flow = Flow::ConditionalJump}},
    {Of, None,  0x90, 0x9F, "Eb="},                                       // SETcc
    {Of, Sized, 0xA3, 0xA3, "Ev Gv",         {.bit_string = true}},       // BT
    {Of, Sized, 0xA4, 0xA4, "Ev+ Gv Ib"},                                 // SHLD
    {Of, Sized, 0xA5, 0xA5, "Ev+ Gv cx"},
    {Of, Sized, 0xAB, 0xAB, "Ev+ Gv",        {.lock = true, .bit_string = true}},  // BTS
    {Of, Sized, 0xAC, 0xAC, "Ev+ Gv Ib"},                                 // SHRD
    {Of, Sized, 0xAD, 0xAD, "Ev+ Gv cx"},
    {Of, None,  0xAE, 0xAE, "Md",            {.group = reg(2), .vex = Vex::L0}},  // LDMXCSR
    {Of, None,  0xAE, 0xAE, "Md=",           {.group = reg(3), .vex = Vex::L0}},  // STMXCSR
    {Of, None,  0xAE, 0xAE, "U",             {.group = regs(5, 6)}},      // LFENCE MFENCE
    {Of, None,  0xAE, 0xAE, "Wb?",           {.group = reg(7)}},          // SFENCE, CLFLUSH
    {Of, Sized, 0xAF, 0xAF, "Gv Ev"},                                     // IMUL
    {Of, Sized, 0xB0, 0xB0, "Eb+ Gb ax",     {.lock = true}},             // CMPXCHG
    {Of, Sized, 0xB1, 0xB1, "Ev+ Gv ax",     {.lock = true}},
    {Of, Sized, 0xB3, 0xB3, "Ev+ Gv",        {.lock = true, .bit_string = true}},  // BTR
    {Of, Sized, 0xB6, 0xB6, "Gv Eb"},                                     // MOVZX
    {Of, Sized, 0xB7, 0xB7, "Gv Ew"},
    {Of, F3,    0xB8, 0xB8, "Gv Ev"},                                     // POPCNT
    {Of, Sized, 0xBA, 0xBA, "Ev Ib",         {.group = reg(4)}},          // BT
    {Of, Sized, 0xBA, 0xBA, "Ev+ Ib",        {.group = regs(5, 7), .lock = true}},  // BTS BTR BTC
    {Of, Sized, 0xBB, 0xBB, "Ev+ Gv",        {.lock = true, .bit_string = true}},  // BTC
    {Of, Sized, 0xBC, 0xBD, "Gv Ev"},                                     // BSF BSR
    {Of, F3,    0xBC, 0xBD, "Gv Ev"},                                     // TZCNT LZCNT
    {Of, Sized, 0xBE, 0xBE, "Gv Eb"},                                     // MOVSX
    {Of, Sized, 0xBF, 0xBF, "Gv Ew"},
    {Of, Sized, 0xC0, 0xC0, "Eb+ Gb",        {.lock = true}},             // XADD
    {Of, Sized, 0xC1, 0xC1, "Ev+ Gv",        {.lock = true}},
    {Of, None,  0xC3, 0xC3, "My= Gy"},                                    // MOVNTI
    {Of, None,  0xC7, 0xC7, "Mc+ ax cx dx bx", {.group = reg(1), .lock = true}},  // CMPXCHG8B CMPXCHG16B
    {Of, None,  0xC8, 0xCF, "Zy"},                                        // BSWAP

    // ---- 0F: vectors ----
    {Of, Packed, 0x10, 0x10, "V Wx",         {.vex = Vex::Both}},         // MOVUPS MOVUPD
    {Of, Packed, 0x11, 0x11, "Wx= V",        {.vex = Vex::Both}},
    {Of, Scalar, 0x10, 0x10, "V h Wp",       {.vex = Vex::Both}},         // MOVSS MOVSD
    {Of, Scalar, 0x11, 0x11, "Wp= h V",      {.vex = Vex::Both}},
    {Of, None,   0x12, 0x12, "V H Wq",       {.vex = Vex::L0}},           // MOVLPS MOVHLPS
    {Of, P66,    0x12, 0x12, "V H Mq",       {.vex = Vex::L0}},           // MOVLPD
    {Of, F3,     0x12, 0x12, "V Wx",         {.vex = Vex::Both}},         // MOVSLDUP
    {Of, F2,     0x12, 0x12, "V Wm",         {.vex = Vex::Both}},         // MOVDDUP
    {Of, Packed, 0x13, 0x13, "Mq= V",        {.vex = Vex::L0}},
    {Of, Packed, 0x14, 0x15, "V H Wx",       {.vex = Vex::Both}},         // UNPCKLPS UNPCKHPS
    {Of, None,   0x16, 0x16, "V H Wq",       {.vex = Vex::L0}},           // MOVHPS MOVLHPS
    {Of, P66,    0x16, 0x16, "V H Mq",       {.vex = Vex::L0}},           // MOVHPD
    {Of, F3,     0x16, 0x16, "V Wx",         {.vex = Vex::Both}},         // MOVSHDUP
    {Of, Packed, 0x17, 0x17, "Mq= V",        {.vex = Vex::L0}},
    {Of, Packed, 0x28, 0x28, "V Wx",         {.vex = Vex::Both}},         // MOVAPS MOVAPD
    {Of, Packed, 0x29, 0x29, "Wx= V",        {.vex = Vex::Both}},
    {Of, Scalar, 0x2A, 0x2A, "V H Ey",       {.vex = Vex::Both}},         // CVTSI2SS CVTSI2SD
    {Of, Packed, 0x2B, 0x2B, "Mx= V",        {.vex = Vex::Both}},         // MOVNTPS MOVNTPD
    {Of, Scalar, 0x2C, 0x2D, "Gy Wp",        {.vex = Vex::Both}},         // CVTTSS2SI CVTSS2SI ...
    {Of, None,   0x2E, 0x2F, "V Wd",         {.vex = Vex::Both}},         // UCOMISS COMISS
    {Of, P66,    0x2E, 0x2F, "V Wq",         {.vex = Vex::Both}},         // UCOMISD COMISD
    {Of, Packed, 0x50, 0x50, "Gy U",         {.vex = Vex::Both}},         // MOVMSKPS MOVMSKPD
    {Of, Packed, 0x51, 0x51, "V Wx",         {.vex = Vex::Both, .fp = Fp::ByColumn}},  // SQRTPS
    {Of, Scalar, 0x51, 0x51, "V H Wp",       {.vex = Vex::Both, .fp = Fp::ByColumn}},
    {Of, None,   0x52, 0x53, "V Wx",         {.vex = Vex::Both, .fp = Fp::ByColumn}},  // RSQRTPS RCPPS
    {Of, F3,     0x52, 0x53, "V H Wp",       {.vex = Vex::Both, .fp = Fp::ByColumn}},
    {Of, Packed, 0x54, 0x57, "V H Wx",       {.vex = Vex::Both}},         // ANDPS ANDNPS ORPS XORPS
    {Of, All,    0x58, 0x59, "V H Wp",       {.vex = Vex::Both, .fp = Fp::ByColumn}},  // ADD MUL
    {Of, None,   0x5A, 0x5A, "V W2",         {.vex = Vex::Both}},         // CVTPS2PD
    {Of, P66,    0x5A, 0x5A, "V Wx",         {.vex = Vex::Both}},         // CVTPD2PS
    {Of, Scalar, 0x5A, 0x5A, "V H Wp",       {.vex = Vex::Both}},         // CVTSS2SD CVTSD2SS
    {Of, None | P66 | F3, 0x5B, 0x5B, "V Wx", {.vex = Vex::Both}},        // CVTDQ2PS CVTPS2DQ CVTTPS2DQ
    {Of, All,    0x5C, 0x5F, "V H Wp",       {.vex = Vex::Both, .fp = Fp::ByColumn}},  // SUB MIN DIV MAX
    {Of, P66,    0x60, 0x6D, "V H Wx",       {.vex = Vex::Both}},         // PUNPCK.. PACK.. PCMPGT..
    {Of, P66,    0x6E, 0x6E, "V Ey",         {.vex = Vex::L0}},           // MOVD MOVQ
    {Of, P66 | F3, 0x6F, 0x6F, "V Wx",       {.vex = Vex::Both}},         // MOVDQA MOVDQU
    {Of, P66 | Scalar, 0x70, 0x70, "V Wx Ib", {.vex = Vex::Both}},        // PSHUFD PSHUFHW PSHUFLW
    {Of, P66,    0x71, 0x72, "H U Ib",       {.group = reg(2) | reg(4) | reg(6), .vex = Vex::Both}},  // PSRLW ...
    {Of, P66,    0x73, 0x73, "H U Ib",       {.group = regs(2, 3) | regs(6, 7), .vex = Vex::Both}},
    {Of, P66,    0x74, 0x76, "V H Wx",       {.vex = Vex::Both}},         // PCMPEQ..
    {Of, None,   0x77, 0x77, "",             {.vex = Vex::Both, .legacy = false}},  // VZEROUPPER VZEROALL
    {Of, P66 | F2, 0x7C, 0x7D, "V H Wx",     {.vex = Vex::Both, .fp = Fp::Horizontal}},  // HADDPD HSUBPD
    {Of, P66,    0x7E, 0x7E, "Ey= V",        {.vex = Vex::L0}},           // MOVD MOVQ
    {Of, F3,     0x7E, 0x7E, "V Wq",         {.vex = Vex::L0}},           // MOVQ
    {Of, P66 | F3, 0x7F, 0x7F, "Wx= V",      {.vex = Vex::Both}},         // MOVDQA MOVDQU
    {Of, All,    0xC2, 0xC2, "V H Wp Ib",    {.vex = Vex::Both}},         // CMPPS
    {Of, P66,    0xC4, 0xC4, "V H Ew Ib",    {.vex = Vex::L0}},           // PINSRW
    {Of, P66,    0xC5, 0xC5, "Gy U Ib",      {.vex = Vex::L0}},           // PEXTRW
    {Of, Packed, 0xC6, 0xC6, "V H Wx Ib",    {.vex = Vex::Both}},         // SHUFPS SHUFPD
    {Of, P66 | F2, 0xD0, 0xD0, "V H Wx",     {.vex = Vex::Both, .fp = Fp::Horizontal}},  // ADDSUBPD
    {Of, P66,    0xD1, 0xD3, "V H Wo",       {.vex = Vex::Both}},         // PSRLW PSRLD PSRLQ
    {Of, P66,    0xD4, 0xD5, "V H Wx",       {.vex = Vex::Both}},         // PADDQ PMULLW
    {Of, P66,    0xD6, 0xD6, "Wq= V",        {.vex = Vex::L0}},           // MOVQ
    {Of, P66,    0xD7, 0xD7, "Gy U",         {.vex = Vex::Both}},         // PMOVMSKB
    {Of, P66,    0xD8, 0xE0, "V H Wx",       {.vex = Vex::Both}},         // PSUBUSB ... PAVGB
    {Of, P66,    0xE1, 0xE2, "V H Wo",       {.vex = Vex::Both}},         // PSRAW PSRAD
    {Of, P66,    0xE3, 0xE5, "V H Wx",       {.vex = Vex::Both}},         // PAVGW PMULHUW PMULHW
    {Of, P66 | F2, 0xE6, 0xE6, "V Wx",       {.vex = Vex::Both}},         // CVTTPD2DQ CVTPD2DQ
    {Of, F3,     0xE6, 0xE6, "V W2",         {.vex = Vex::Both}},         // CVTDQ2PD
    {Of, P66,    0xE7, 0xE7, "Mx= V",        {.vex = Vex::Both}},         // MOVNTDQ
    {Of, P66,    0xE8, 0xEF, "V H Wx",       {.vex = Vex::Both}},         // PSUBSB ... PXOR
    {Of, F2,     0xF0, 0xF0, "V Mx",         {.vex = Vex::Both}},         // LDDQU
    {Of, P66,    0xF1, 0xF3, "V H Wo",       {.vex = Vex::Both}},         // PSLLW PSLLD PSLLQ
    {Of, P66,    0xF4, 0xF6, "V H Wx",       {.vex = Vex::Both}},         // PMULUDQ PMADDWD PSADBW
    {Of, P66,    0xF8, 0xFE, "V H Wx",       {.vex = Vex::Both}},         // PSUBB ... PADDD

    // ---- 0F 38 ----
    {Of38, P66,  0x00, 0x0B, "V H Wx",       {.vex = Vex::Both}},         // PSHUFB ... PMULHRSW
    {Of38, P66,  0x16, 0x16, "V H Wx",       {.vex = Vex::L1, .legacy = false, .w = 0}},  // VPERMPS
    {Of38, P66,  0x17, 0x17, "V Wx",         {.vex = Vex::Both}},         // PTEST
    {Of38, P66,  0x18, 0x18, "V Wd",         {.vex = Vex::Both, .legacy = false, .w = 0}},  // VBROADCASTSS
    {Of38, P66,  0x19, 0x19, "V Wq",         {.vex = Vex::L1, .legacy = false, .w = 0}},    // VBROADCASTSD
    {Of38, P66,  0x1A, 0x1A, "V Mo",         {.vex = Vex::L1, .legacy = false, .w = 0}},    // VBROADCASTF128
    {Of38, P66,  0x1C, 0x1E, "V Wx",         {.vex = Vex::Both}},         // PABSB PABSW PABSD
    {Of38, P66,  0x20, 0x30, "V W2",         {.step = 16, .vex = Vex::Both}},  // PMOVSXBW PMOVZXBW
    {Of38, P66,  0x21, 0x31, "V W4",         {.step = 16, .vex = Vex::Both}},  // PMOVSXBD
    {Of38, P66,  0x22, 0x32, "V W8",         {.step = 16, .vex = Vex::Both}},  // PMOVSXBQ
    {Of38, P66,  0x23, 0x33, "V W2",         {.step = 16, .vex = Vex::Both}},  // PMOVSXWD
    {Of38, P66,  0x24, 0x34, "V W4",         {.step = 16, .vex = Vex::Both}},  // PMOVSXWQ
    {Of38, P66,  0x25, 0x35, "V W2",         {.step = 16, .vex = Vex::Both}},  // PMOVSXDQ
    {Of38, P66,  0x28, 0x29, "V H Wx",       {.vex = Vex::Both}},         // PMULDQ PCMPEQQ
    {Of38, P66,  0x2A, 0x2A, "V Mx",         {.vex = Vex::Both}},         // MOVNTDQA
    {Of38, P66,  0x2B, 0x2B, "V H Wx",       {.vex = Vex::Both}},         // PACKUSDW
    {Of38, P66,  0x36, 0x36, "V H Wx",       {.vex = Vex::L1, .legacy = false, .w = 0}},  // VPERMD
    {Of38, P66,  0x37, 0x40, "V H Wx",       {.vex = Vex::Both}},         // PCMPGTQ PMINSB ... PMULLD
    {Of38, P66,  0x45, 0x45, "V H Wx",       {.vex = Vex::Both, .legacy = false}},         // VPSRLVD VPSRLVQ
    {Of38, P66,  0x46, 0x46, "V H Wx",       {.vex = Vex::Both, .legacy = false, .w = 0}}, // VPSRAVD
    {Of38, P66,  0x47, 0x47, "V H Wx",       {.vex = Vex::Both, .legacy = false}},         // VPSLLVD VPSLLVQ
    {Of38, P66,  0x58, 0x58, "V Wd",         {.vex = Vex::Both, .legacy = false, .w = 0}}, // VPBROADCASTD
    {Of38, P66,  0x59, 0x59, "V Wq",         {.vex = Vex::Both, .legacy = false, .w = 0}}, // VPBROADCASTQ
    {Of38, P66,  0x5A, 0x5A, "V Mo",         {.vex = Vex::L1, .legacy = false, .w = 0}},   // VBROADCASTI128
    {Of38, P66,  0x78, 0x78, "V Wb",         {.vex = Vex::Both, .legacy = false, .w = 0}}, // VPBROADCASTB
    {Of38, P66,  0x79, 0x79, "V Ww",         {.vex = Vex::Both, .legacy = false, .w = 0}}, // VPBROADCASTW
    {Of38, P66,  0x96, 0x98, "V H Wx",       {.vex = Vex::Both, .legacy = false, .fp = Fp::FmaPacked}},
    {Of38, P66,  0x99, 0x9F, "V H Wy",       {.step = 2, .vex = Vex::Both, .legacy = false, .fp = Fp::FmaScalar}},
    {Of38, P66,  0x9A, 0x9E, "V H Wx",       {.step = 2, .vex = Vex::Both, .legacy = false, .fp = Fp::FmaPacked}},
    {Of38, P66,  0xA6, 0xA8, "V H Wx",       {.vex = Vex::Both, .legacy = false, .fp = Fp::FmaPacked}},
    {Of38, P66,  0xA9, 0xAF, "V H Wy",       {.step = 2, .vex = Vex::Both, .legacy = false, .fp = Fp::FmaScalar}},
    {Of38, P66,  0xAA, 0xAE, "V H Wx",       {.step = 2, .vex = Vex::Both, .legacy = false, .fp = Fp::FmaPacked}},
    {Of38, P66,  0xB6, 0xB8, "V H Wx",       {.vex = Vex::Both, .legacy = false, .fp = Fp::FmaPacked}},
    {Of38, P66,  0xB9, 0xBF, "V H Wy",       {.step = 2, .vex = Vex::Both, .legacy = false, .fp = Fp::FmaScalar}},
    {Of38, P66,  0xBA, 0xBE, "V H Wx",       {.step = 2, .vex = Vex::Both, .legacy = false, .fp = Fp::FmaPacked}},
    {Of38, P66,  0xDC, 0xDF, "V H Wx",       {.vex = Vex::L0}},           // AESENC ... AESDECLAST
    {Of38, None, 0xF0, 0xF0, "Gv Mv"},                                    // MOVBE
    {Of38, None, 0xF1, 0xF1, "Mv= Gv"},
    {Of38, F2,   0xF0, 0xF0, "Gy Eb"},                                    // CRC32
    {Of38, F2,   0xF1, 0xF1, "Gy Ey"},
    {Of38, None, 0xF2, 0xF2, "Gy By Ey",     {.vex = Vex::L0, .legacy = false}},  // ANDN
    {Of38, None, 0xF3, 0xF3, "By Ey",        {.group = regs(1, 3), .vex = Vex::L0, .legacy = false}},  // BLSR ...
    {Of38, None, 0xF5, 0xF5, "Gy Ey By",     {.vex = Vex::L0, .legacy = false}},  // BZHI
    {Of38, Scalar, 0xF5, 0xF5, "Gy By Ey",   {.vex = Vex::L0, .legacy = false}},  // PEXT PDEP
    {Of38, P66 | F3, 0xF6, 0xF6, "Gy Ey"},                                // ADCX ADOX
    {Of38, F2,   0xF6, 0xF6, "Gy By Ey dx",  {.vex = Vex::L0, .legacy = false}},  // MULX
    {Of38, All,  0xF7, 0xF7, "Gy Ey By",     {.vex = Vex::L0, .legacy = false}},  // BEXTR SHLX SARX SHRX

    // ---- 0F 3A ----
    {Of3A, P66,  0x00, 0x01, "V Wx Ib",      {.vex = Vex::L1, .legacy = false, .w = 1}},    // VPERMQ VPERMPD
    {Of3A, P66,  0x02, 0x02, "V H Wx Ib",    {.vex = Vex::Both, .legacy = false, .w = 0}},  // VPBLENDD
    {Of3A, P66,  0x06, 0x46, "V H Wx Ib",    {.step = 64, .vex = Vex::L1, .legacy = false, .w = 0}},  // VPERM2F128
    {Of3A, P66,  0x08, 0x09, "V Wx Ib",      {.vex = Vex::Both}},         // ROUNDPS ROUNDPD
    {Of3A, P66,  0x0A, 0x0A, "V H Wd Ib",    {.vex = Vex::Both}},         // ROUNDSS
    {Of3A, P66,  0x0B, 0x0B, "V H Wq Ib",    {.vex = Vex::Both}},         // ROUNDSD
    {Of3A, P66,  0x0C, 0x0F, "V H Wx Ib",    {.vex = Vex::Both}},         // BLENDPS BLENDPD PBLENDW PALIGNR
    {Of3A, P66,  0x14, 0x14, "Db= V Ib",     {.vex = Vex::L0}},           // PEXTRB
    {Of3A, P66,  0x15, 0x15, "Ew= V Ib",     {.vex = Vex::L0}},           // PEXTRW
    {Of3A, P66,  0x16, 0x16, "Ey= V Ib",     {.vex = Vex::L0}},           // PEXTRD PEXTRQ
    {Of3A, P66,  0x17, 0x17, "Ed= V Ib",     {.vex = Vex::L0}},           // EXTRACTPS
    {Of3A, P66,  0x18, 0x38, "V H Wo Ib",    {.step = 32, .vex = Vex::L1, .legacy = false, .w = 0}},  // VINSERTF128
    {Of3A, P66,  0x19, 0x39, "Wo= V Ib",     {.step = 32, .vex = Vex::L1, .legacy = false, .w = 0}},  // VEXTRACTF128
    {Of3A, P66,  0x20, 0x20, "V H Db Ib",    {.vex = Vex::L0}},           // PINSRB
    {Of3A, P66,  0x21, 0x21, "V H Wd Ib",    {.vex = Vex::L0}},           // INSERTPS
    {Of3A, P66,  0x22, 0x22, "V H Ey Ib",    {.vex = Vex::L0}},           // PINSRD PINSRQ
    {Of3A, P66,  0x40, 0x40, "V H Wx Ib",    {.vex = Vex::Both, .fp = Fp::DotSingle}},
    {Of3A, P66,  0x41, 0x41, "V H Wx Ib",    {.vex = Vex::L0, .fp = Fp::DotDouble}},
    {Of3A, P66,  0x44, 0x44, "V H Wx Ib",    {.vex = Vex::L0}},           // PCLMULQDQ
    {Of3A, P66,  0x4A, 0x4C, "V H Wx Ib",    {.vex = Vex::Both, .legacy = false, .w = 0}},  // VBLENDVPS ...
    {Of3A, P66,  0x60, 0x60, "V Wo Ib ax dx"},                            // PCMPESTRM
    {Of3A, P66,  0x61, 0x61, "V Wo Ib ax cx dx"},                         // PCMPESTRI
    {Of3A, P66,  0x62, 0x62, "V Wo Ib"},                                  // PCMPISTRM
    {Of3A, P66,  0x63, 0x63, "V Wo Ib cx"},                               // PCMPISTRI
};
// clang-format on

}  // namespace zs::isa::opcodes
