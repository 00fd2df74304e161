// What each instruction form costs on a modelled core: issue slots, uops, ports, latency, divider. The rows are made
// offline from LLVM's scheduling models and corrections (tools/uop_tables); every class of costs says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "uarch/timing/shape.h"
#include "uarch/timing/uop_columns.h"
#include "uarch/timing/uop_table_data.h"

namespace zs::uarch {

class UopTable {
 public:
  explicit UopTable(UopColumn column);

  /// The cost of an instruction of this form. A form without a row has the cost of the same mnemonic with other
  /// operands, if there is one of as many memory accesses; otherwise the class whose source is Unknown.
  const UopClass& of(const InstructionShape& shape) const;

 private:
  std::size_t column_;
};

}  // namespace zs::uarch
