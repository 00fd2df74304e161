// Names what lies in a line that threads fought over: variables and their members by debug information, blocks of the
// heap by who asked for them; where neither tells, what accesses show to be one piece.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "profile/symbols/symbolizer.h"
#include "profile/types/access_types.h"
#include "profile/types/data_objects.h"
#include "profile/types/data_types.h"
#include "report/c2c/shared_line.h"
#include "session/recording/process_sharing.h"

namespace zs::cli {

class SharedFields {
 public:
  /// All must outlive this; objects has learnt from the recording's samples, and spaces are those after its last
  /// record.
  SharedFields(const profile::AddressSpaces& spaces, profile::Symbolizer& symbolizer, profile::DataObjects& objects)
      : spaces_(spaces), symbolizer_(symbolizer), objects_(objects), types_(symbolizer) {}

  /// The fields of a line's used bytes and which of them each use is of; what its instructions are called.
  void name(std::int32_t pid, const session::ProcessSharing& process, report::SharedLine& line);

 private:
  report::SharedField field_at(std::int32_t pid, const session::ProcessSharing& process, std::uint64_t address,
                               std::uint64_t bytes);
  report::SharedField field_of_block(std::int32_t pid, const session::HeapBlock& block, std::uint64_t address,
                                     std::uint64_t bytes);
  /// What lies in a block from `start` on, by an instruction that has a pointer to it in a register.
  struct BlockType {
    profile::DataTypes* types = nullptr;
    profile::DataTypes::Type type = 0;
    std::uint64_t start = 0;
  };
  void learn_block_type(std::int32_t pid, const session::HeapBlock& block, std::uint64_t instruction,
                        std::uint64_t address);
  std::string place_of(std::int32_t pid, std::uint64_t instruction);

  const profile::AddressSpaces& spaces_;
  profile::Symbolizer& symbolizer_;
  profile::DataObjects& objects_;
  profile::AccessTypes types_;
  std::map<const session::HeapBlock*, BlockType> block_types_;
};

}  // namespace zs::cli
