// Which type, and which of its bytes, a sampled access touched.
//
// A variable that has its own address, or lies in the frame of the function at that instruction, is what debug
// information says lies there. So is a variable of threads, once an access through FS said where the thread's block is.
// Elsewhere it is what the register points to that the address was made of. What that
// leaves unknown in a block of the heap is what other accesses to the block say it holds, or to blocks that were asked
// for at the same place if they all say the same; they also say of a pointer to a member what struct is around it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arch/retired.h"
#include "isa/register_flow.h"
#include "profile/perf_data/address_space.h"
#include "profile/symbols/symbolizer.h"
#include "profile/types/data_objects.h"
#include "profile/types/data_types.h"
#include "profile/types/function_variables.h"
#include "profile/types/pointer_flow.h"

namespace zs::profile {

class PerfDataReader;

struct AccessType {
  enum class Kind : std::uint8_t {
    Unknown,
    StackOperation,  // what PUSH, POP, CALL and RET keep on the stack, which is no variable
    Known
  };
  Kind kind = Kind::Unknown;
  DataTypes* types = nullptr;
  DataTypes::Type type = 0;               // no array
  std::uint64_t offset = 0;               // into it
  const std::string* variable = nullptr;  // null: what a pointer points to

  /// "struct node"; "(unknown)", "(stack operation)"
  std::string type_text() const;
  /// ".next"; "" of all of it
  std::string member_text() const;
};

class AccessTypes {
 public:
  /// What accesses say that a block of the heap is made of.
  struct Vote {
    DataTypes* types = nullptr;
    DataTypes::Type type = 0;
    std::uint64_t start = 0;  // of a value in the block; far into it only of the first one that would be there
    std::uint64_t count = 0;
  };

  /// symbolizer  must outlive this
  explicit AccessTypes(Symbolizer& symbolizer) : symbolizer_(symbolizer) {}

  /// Learns from all samples of a recording what blocks of the heap hold, and where threads have their variables.
  void learn(const PerfDataReader& reader);
  /// spaces  at the time of the sample
  AccessType of(const AddressSpaces& spaces, DataObjects& objects, const session::Sample& sample);

  /// What an instruction says that touched `address`, and nothing else is known of; only where no index is added.
  AccessType told_by(const AddressSpaces& spaces, std::int32_t pid, std::uint64_t instruction, std::uint64_t address);
  DataTypes& types_of(Dso& dso) { return image_of(dso).types; }

 private:
  struct Image {
    explicit Image(ElfImage& image) : types(image), functions(types), flow(types, functions) {}
    DataTypes types;
    FunctionTable functions;
    PointerFlow flow;
  };
  /// An instruction, and what is known of it before any sample.
  struct Instruction {
    isa::FlowInsn code;
    std::optional<OperandPart> parts[2];  // by operand
    std::vector<const VariablePlace*> in_memory;
    FunctionTable::FrameRule frame;
    Image* image = nullptr;
  };
  struct Votes {
    std::vector<Vote> all;
    std::optional<Vote> winner;  // once it was asked for
    std::uint64_t agreed = 0;    // with it
  };

  Image& image_of(Dso& dso);
  const Instruction* instruction_at(const AddressSpaces& spaces, std::int32_t pid, std::uint64_t ip);
  AccessType infer(const AddressSpaces& spaces, DataObjects& objects, const session::Sample& sample);
  static std::optional<AccessType> in_frame(const Instruction& at, const session::Sample& sample);
  static AccessType through_pointer(const Instruction& at, std::size_t operand, const session::Sample& sample);
  static std::optional<std::int64_t> from_thread_pointer(const Instruction& at, std::size_t operand,
                                                         const session::Sample& sample);
  void learn_thread_pointer(const AddressSpaces& spaces, const session::Sample& sample);
  std::optional<AccessType> in_thread_block(DataObjects& objects, const session::Sample& sample);
  void vote(const session::Sample& sample, const AccessType& access);
  static const Vote& winner(Votes& votes);
  const Vote* winner_of(const session::Sample& sample);

  Symbolizer& symbolizer_;
  AddressSpaces learning_;  // while learning; the symbolizer knows their images by address from then on
  std::map<const Dso*, std::unique_ptr<Image>> images_;
  std::map<std::pair<const Dso*, std::uint64_t>, std::unique_ptr<Instruction>> instructions_;
  std::map<std::pair<std::int32_t, std::uint64_t>, Votes> by_block_;
  std::map<std::pair<std::int32_t, std::vector<std::uint64_t>>, Votes> by_site_;
  std::set<std::pair<std::int32_t, std::uint64_t>> thread_pointers_;  // by process
};

}  // namespace zs::profile
