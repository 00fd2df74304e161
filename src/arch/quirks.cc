// The list of quirks.
#include "arch/quirks.h"

#include <algorithm>

namespace zs::arch {

namespace {

constexpr QuirkFact kQuirks[] = {
    {Quirk::Ds32, "ds32",
     "no DTES64: outside IA-32e mode the Debug Store has 32-bit fields, 12-byte BTS and 40-byte PEBS records",
     "SDM vol. 3B, \"DS Save Area\", figure \"DS Save Area\" of 32-bit processors",
     "Quirks.Ds32LaysTheDebugStoreOutIn32BitFieldsOutsideIa32e"},
    {Quirk::PebsFormat5, "pebs-format-5",
     "PEBS baseline announces format 5: the Debug Store has 32 reset values for general counters, fixed ones follow",
     "drivers name the format \"4 with 32 general and 16 fixed reset values\"; which processors have it is not agreed",
     "Quirks.PebsFormat5MovesTheFixedCountersResetValues"},
    {Quirk::GlobalCtrlStartsAt0, "global-ctrl-0",
     "IA32_PERF_GLOBAL_CTRL is 0 after RESET, as it was printed before 2023",
     "SDM up to December 2022, table \"IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT\"",
     "Quirks.GlobalCtrl0StartsWithNoCounterEnabled"},
    {Quirk::OutOfBoundsSetsOvfBuf, "pebs-bounds",
     "a PEBS index outside its buffer sets OvfBuf and clears the overflow bits without reloading the counters",
     "SDM vol. 3B, Goldmont: \"PEBS Record Format\" and its text on GLOBAL_STATUS[62]",
     "Quirks.PebsBoundsSetsOvfBufForAnIndexOutsideTheBuffer"},
    {Quirk::FencesCountAsStores, "fence-stores", "CPUID, SFENCE, MFENCE and CLFLUSH each count as one retired store",
     "Weaver, Terpstra, Moore: \"Non-determinism and overcount on modern hardware performance counter "
     "implementations\", Westmere",
     "Quirks.FenceStoresCountsAFenceAsAStore"},
    {Quirk::InterruptsCountOnce, "interrupt-counts",
     "each interrupt and exception counts as one more instruction, branch, load and store; the source found it of "
     "hardware "
     "interrupts and page faults, and the PMU is not told which exception it is",
     "Weaver, Terpstra, Moore, as above", "Quirks.InterruptCountsAddsOneOfEachPerInterrupt"},
    {Quirk::BtsFlagsAreZero, "bts-no-prediction", "the third word of a BTS record is always 0",
     "SDM vol. 3B, \"BTS Buffer\": the predicted flag is not implemented on Core 2 and Atom",
     "Quirks.BtsNoPredictionLeavesTheFlagsWord0"},
    {Quirk::FreezeLbrsClearsTr, "freeze-clears-tr", "FREEZE_LBRS_ON_PMI clears DEBUGCTL.TR too",
     "SDM vol. 3B, \"Last Branch, Interrupt, and Exception Recording\" of 45 nm and 32 nm Atom",
     "Quirks.FreezeClearsTrStopsBtsAtAPmi"},
    {Quirk::InitClearsDsArea, "init-clears-ds", "INIT clears IA32_DS_AREA as well as the enables",
     "SDM vol. 3B, \"DS Save Area\" says that INIT clears the recording mechanism, not which registers",
     "Quirks.InitClearsDsClearsTheAddressToo"},
    {Quirk::DebugExceptionClearsTr, "db-clears-tr", "a #DB clears DEBUGCTL.TR too, as it does LBR and BTF",
     "a reading of the P6 family's DebugCtlMSR; newer text names LBR and BTF only",
     "Quirks.DbClearsTrKeepsTheDebugExceptionOutOfBts"},
};

}  // namespace

std::span<const QuirkFact> quirks() { return kQuirks; }

const QuirkFact* find_quirk(std::string_view name) {
  const auto* row = std::ranges::find(kQuirks, name, &QuirkFact::name);
  return row == std::end(kQuirks) ? nullptr : row;
}

}  // namespace zs::arch
