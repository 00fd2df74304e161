#include "report/text/disassembly.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include "base/check.h"

namespace zs::report {
namespace {

ZydisFormatter formatter_of(Syntax syntax) {
  ZydisFormatter formatter;
  const auto style = syntax == Syntax::Att ? ZYDIS_FORMATTER_STYLE_ATT : ZYDIS_FORMATTER_STYLE_INTEL;
  CHECK(ZYAN_SUCCESS(ZydisFormatterInit(&formatter, style)));
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
  // %rip stays in sight; what it leads to stands behind the instruction
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
  return formatter;
}

}  // namespace

std::vector<Instruction> disassemble(Bytes code, profile::ImageAddress start, Syntax syntax, const NameOf& name_of) {
  ZydisDecoder decoder;
  CHECK(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
  const ZydisFormatter formatter = formatter_of(syntax);

  std::vector<Instruction> instructions;
  for (std::size_t at = 0; at < code.size();) {
    Instruction out{.address = start + at, .length = 1, .text = "(bad)"};
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data() + at, code.size() - at, &decoded, operands))) {
      out.length = decoded.length;
      char text[256];
      if (ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &decoded, operands, decoded.operand_count_visible,
                                                       text, sizeof text, value(out.address), nullptr))) {
        out.text = text;
      }
      for (std::size_t i = 0; i < decoded.operand_count_visible; ++i) {
        const ZydisDecodedOperand& operand = operands[i];
        const bool branch = operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative;
        const bool memory = operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP;
        ZyanU64 target = 0;
        if ((!branch && !memory) ||
            !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &operand, value(out.address), &target))) {
          continue;
        }
        const std::string name = name_of(profile::ImageAddress{target});
        if (memory) out.text += fmt::format("  # {:#x}", target);
        if (!name.empty()) out.text += fmt::format(" <{}>", name);
      }
    }
    at += out.length;
    instructions.push_back(std::move(out));
  }
  return instructions;
}

}  // namespace zs::report
