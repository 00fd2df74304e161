// Zydis' functions that zeroskid calls, in the library that it carries. Debian has it as a shared object alone:
// loading and relocating it would be a fifth of the start of zeroskid-run, which needs it for an instruction that
// isa/opcode_table.h does not know, and mostly never does.
#include <Zydis/Zydis.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "zydis/library_image.h"

extern "C" {
extern const std::byte zs_zydis[], zs_zydis_end[];
// NOLINTBEGIN(readability-identifier-naming): names of libc's
void __assert_fail(const char*, const char*, unsigned, const char*) noexcept;
void __stack_chk_fail(void);
// NOLINTEND(readability-identifier-naming)
}

namespace zs::zydis {
namespace {

const LibraryImage& library() {
  static const LibraryImage image = [] {
    const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
    const Import imports[] = {
        {"memcpy", address(static_cast<void* (*)(void*, const void*, std::size_t)>(std::memcpy))},
        {"memset", address(static_cast<void* (*)(void*, int, std::size_t)>(std::memset))},
        {"strlen", address(static_cast<std::size_t (*)(const char*)>(std::strlen))},
        {"__assert_fail", address(__assert_fail)},
        {"__stack_chk_fail", address(__stack_chk_fail)},
    };
    return LibraryImage({zs_zydis, zs_zydis_end}, imports);
  }();
  return image;
}

template <typename Function>
Function* entry(const char* name) {
  return reinterpret_cast<Function*>(library().find(name));
}

}  // namespace
}  // namespace zs::zydis

using zs::zydis::entry;

ZyanStatus ZydisDecoderInit(ZydisDecoder* decoder, ZydisMachineMode mode, ZydisStackWidth width) {
  static auto* const real = entry<decltype(ZydisDecoderInit)>("ZydisDecoderInit");
  return real(decoder, mode, width);
}

ZyanStatus ZydisDecoderEnableMode(ZydisDecoder* decoder, ZydisDecoderMode mode, ZyanBool enabled) {
  static auto* const real = entry<decltype(ZydisDecoderEnableMode)>("ZydisDecoderEnableMode");
  return real(decoder, mode, enabled);
}

ZyanStatus ZydisDecoderDecodeFull(const ZydisDecoder* decoder, const void* buffer, ZyanUSize length,
                                  ZydisDecodedInstruction* instruction, ZydisDecodedOperand* operands) {
  static auto* const real = entry<decltype(ZydisDecoderDecodeFull)>("ZydisDecoderDecodeFull");
  return real(decoder, buffer, length, instruction, operands);
}

const char* ZydisMnemonicGetString(ZydisMnemonic mnemonic) {
  static auto* const real = entry<decltype(ZydisMnemonicGetString)>("ZydisMnemonicGetString");
  return real(mnemonic);
}

const char* ZydisISAExtGetString(ZydisISAExt extension) {
  static auto* const real = entry<decltype(ZydisISAExtGetString)>("ZydisISAExtGetString");
  return real(extension);
}

ZydisRegisterClass ZydisRegisterGetClass(ZydisRegister reg) {
  static auto* const real = entry<decltype(ZydisRegisterGetClass)>("ZydisRegisterGetClass");
  return real(reg);
}

ZyanI8 ZydisRegisterGetId(ZydisRegister reg) {
  static auto* const real = entry<decltype(ZydisRegisterGetId)>("ZydisRegisterGetId");
  return real(reg);
}

ZydisRegisterWidth ZydisRegisterGetWidth(ZydisMachineMode mode, ZydisRegister reg) {
  static auto* const real = entry<decltype(ZydisRegisterGetWidth)>("ZydisRegisterGetWidth");
  return real(mode, reg);
}

ZydisRegister ZydisRegisterGetLargestEnclosing(ZydisMachineMode mode, ZydisRegister reg) {
  static auto* const real = entry<decltype(ZydisRegisterGetLargestEnclosing)>("ZydisRegisterGetLargestEnclosing");
  return real(mode, reg);
}

ZyanStatus ZydisCalcAbsoluteAddress(const ZydisDecodedInstruction* instruction, const ZydisDecodedOperand* operand,
                                    ZyanU64 runtime_address, ZyanU64* result) {
  static auto* const real = entry<decltype(ZydisCalcAbsoluteAddress)>("ZydisCalcAbsoluteAddress");
  return real(instruction, operand, runtime_address, result);
}

ZyanStatus ZydisFormatterInit(ZydisFormatter* formatter, ZydisFormatterStyle style) {
  static auto* const real = entry<decltype(ZydisFormatterInit)>("ZydisFormatterInit");
  return real(formatter, style);
}

ZyanStatus ZydisFormatterSetProperty(ZydisFormatter* formatter, ZydisFormatterProperty property, ZyanUPointer value) {
  static auto* const real = entry<decltype(ZydisFormatterSetProperty)>("ZydisFormatterSetProperty");
  return real(formatter, property, value);
}

ZyanStatus ZydisFormatterFormatInstruction(const ZydisFormatter* formatter, const ZydisDecodedInstruction* instruction,
                                           const ZydisDecodedOperand* operands, ZyanU8 operand_count, char* buffer,
                                           ZyanUSize length, ZyanU64 runtime_address, void* user_data) {
  static auto* const real = entry<decltype(ZydisFormatterFormatInstruction)>("ZydisFormatterFormatInstruction");
  return real(formatter, instruction, operands, operand_count, buffer, length, runtime_address, user_data);
}
