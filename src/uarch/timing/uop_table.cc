#include "uarch/timing/uop_table.h"

#include <algorithm>
#include <array>

namespace zs::uarch {
namespace {

constexpr std::uint16_t kMostMnemonics = 2048;

/// The rows in the order of mnemonic and signature, and where each mnemonic's begin: made once, at the first question.
class FormIndex {
 public:
  FormIndex() : rows_(data::forms().begin(), data::forms().end()) {
    std::ranges::sort(rows_, [](const data::FormRow& a, const data::FormRow& b) {
      return a.mnemonic != b.mnemonic ? a.mnemonic < b.mnemonic : a.signature < b.signature;
    });
    std::size_t row = 0;
    for (std::uint16_t mnemonic = 0; mnemonic <= kMostMnemonics; ++mnemonic) {
      while (row < rows_.size() && rows_[row].mnemonic < mnemonic) ++row;
      first_[mnemonic] = static_cast<std::uint16_t>(row);
    }
  }

  std::span<const data::FormRow> of(std::uint16_t mnemonic) const {
    if (mnemonic >= kMostMnemonics) return {};
    return std::span(rows_).subspan(first_[mnemonic], first_[mnemonic + 1U] - first_[mnemonic]);
  }

 private:
  std::vector<data::FormRow> rows_;
  std::array<std::uint16_t, kMostMnemonics + 1> first_{};
};

const FormIndex& form_index() {
  static const FormIndex index;
  return index;
}

bool has_memory(std::uint16_t signature) {
  constexpr auto memory = static_cast<unsigned>(OperandKind::Memory);
  return (signature & 15U) == memory || (signature >> 4 & 15U) == memory || (signature >> 8 & 15U) == memory;
}

}  // namespace

UopTable::UopTable(UopColumn column) : column_(static_cast<std::size_t>(column)) {}

const UopClass& UopTable::of(const InstructionShape& shape) const {
  const auto classes = data::classes(column_);
  const UopClass* nearest = &classes[0];
  for (const data::FormRow& row : form_index().of(shape.mnemonic)) {
    if (row.classes[column_] == 0) continue;
    if (row.signature == shape.signature) return classes[row.classes[column_]];
    if (has_memory(row.signature) == has_memory(shape.signature)) nearest = &classes[row.classes[column_]];
  }
  return *nearest;
}

}  // namespace zs::uarch
