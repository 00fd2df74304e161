// What translations of short pieces of code look like: bytes of the program, how they are translated, what is emitted.
// Lines with a semicolon are the program. Names stand for addresses: the fields of the Context (slot_r11 is where the
// program's r11 lies, which is the stolen register), the stubs, `guest` for where the piece begins, `guard` for the end
// of the trace, `slots[n]` for where registers are stored that addresses are made of. The direct table begins at 0.
// Side exits of Variant::Full lie apart, behind `cold`. Exits are numbered from 1 (BlockStore::kFirstExit); in a spaced
// trace a record is that number times 64, and words.
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

#include "engine/translate/block.h"
#include "engine/translate/trace_record.h"

namespace zs::engine {

/// How a case departs from what is usual.
enum EmittedSetup : std::uint16_t {
  kDirect = 1,     // with the direct table, which covers the piece
  kFar = 2,        // the piece lies out of reach of 32-bit displacements
  kBrakes = 4,     // TranslationOptions::brakes
  kAddresses = 8,  // TranslationOptions::addresses
  kElements = 16,  // TranslationOptions::count_elements
  kUnseen = 32,    // the piece may change without notice
  kProbed = 64,    // its first instruction is probed
  kRisky = 128,    // any instruction may have the event
  kWatched = 256,  // TranslationOptions::watched: instructions in the first eight bytes
};

struct EmittedCase {
  const char* name;
  TraceForm form;
  unsigned setup;
  Variant variant;
  unsigned most;  // instructions in a block
  std::string_view guest;
  std::string_view emitted;
};
/// How GoogleTest shows a case.
inline std::ostream& operator<<(std::ostream& out, const EmittedCase& of) { return out << of.guest; }

// clang-format off
inline constexpr EmittedCase kEmittedCases[] = {
{"AWatchedOperandIsTestedAndItsLineNotedApart", TraceForm::Budget, kWatched, Variant::Full, 8,
 "43 8B 44 DC 08 49 89 03 8B 04 24 8B 03 C3", R"(
; mov eax, [r12+r11*8+0x8]
; mov [r11], rax
; mov eax, [rsp]
; mov eax, [rbx]
; ret
  mov rcx, [slot_rcx]
entry:
  mov [slot_map], r8
  mov r8, [slot_r11]
  mov [watch_rcx], rcx
  lea rcx, [r12+r8*8+0x2C8]
  pext rcx, rcx, [watch_mask]
  jrcxz L1
  jmp L2
L1:
  jmp L5
L2:
  mov rcx, [watch_rcx]
  mov eax, [r12+r8*8+0x8]
  mov [watch_rcx], rcx
  lea rcx, [r8+0x2C0]
  pext rcx, rcx, [watch_mask]
  jrcxz L3
  jmp L4
L3:
  jmp L6
L4:
  mov rcx, [watch_rcx]
  mov [r8], rax
  mov eax, [rsp]
  mov eax, [rbx]
  mov [slot_rcx], rcx
  pop rcx
  mov [slot_r11], r8
  mov r8, [slot_map]
  lea r11, [r11+0x5]
  mov dword ptr [r11], 0x1
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L5:
  mov rcx, [watch_rcx]
  mov [watch_rax], rax
  lea rax, [r12+r8*8+0x8]
  mov ecx, 0x6
  shrx rax, rax, rcx
  mov rcx, [probe_note]
  mov [rcx], rax
  lea rcx, [rcx+0x8]
  mov [probe_note], rcx
  mov rax, [watch_rax]
  jmp L2
L6:
  mov rcx, [watch_rcx]
  mov [watch_rax], rax
  lea rax, [r8]
  mov ecx, 0x6
  shrx rax, rax, rcx
  mov rcx, [probe_note]
  mov [rcx], rax
  lea rcx, [rcx+0x8]
  mov [probe_note], rcx
  mov rax, [watch_rax]
  jmp L4
exit 0x1: Indirect by rcx, 5 retired
)"},

{"APlainInstructionIsCopiedAndAReturnLooksItsTargetUp", TraceForm::Records, 0, Variant::Full, 8,
 "8B 47 08 C3", R"(
; mov eax, [rdi+0x8]
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi+0x8]
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 2 retired
)"},

{"WhereTheDirectTableCoversTheCodeALookupIsOneJump", TraceForm::Records, kDirect, Variant::Full, 8,
 "C3", R"(
; ret
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp [rcx*8]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"AReturnThatPopsMore", TraceForm::Records, 0, Variant::Full, 8,
 "C2 10 00", R"(
; ret 0x10
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  pop rcx
  lea rsp, [rsp+0x10]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"ABranchForwardsIsASideExitInTheColdPart", TraceForm::Records, 0, Variant::Full, 8,
 "85 C0 74 02 FF C0 C3", R"(
; test eax, eax
; jz guest+6
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  test eax, eax
  jz L1
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L1:
  mov dword ptr [r11], 0x2
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Indirect by rcx, 4 retired
exit 0x2: Direct guest+6, 2 retired
)"},

{"ALoopIsGoneRoundWhileAWholeTurnFits", TraceForm::Records, 0, Variant::Full, 4,
 "FF C9 75 FC C3", R"(
; dec ecx
; jnz guest
; ret
  mov rcx, [slot_rcx]
entry:
  dec ecx
  jz L1
  dec ecx
  jz L2
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp entry
cold:
L1:
  mov dword ptr [r11], 0x2
  lea r11, [r11+0x4]
  jmp unlinked
L2:
  mov dword ptr [r11], 0x3
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest, 4 retired
exit 0x2: Direct guest+4, 2 retired
exit 0x3: Direct guest+4, 4 retired
)"},

{"AShortCounterJumpIsPassedOverByAJump", TraceForm::Records, 0, Variant::Full, 8,
 "E3 02 FF C0 C3", R"(
; jrcxz guest+4
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  jrcxz L1
  jmp L2
L1:
  jmp L3
L2:
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L3:
  mov dword ptr [r11], 0x2
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Indirect by rcx, 3 retired
exit 0x2: Direct guest+4, 1 retired
)"},

{"AJumpIsFollowedAndLeavesNoCode", TraceForm::Records, 0, Variant::Full, 8,
 "EB 02 0F 0B FF C0 C3", R"(
; jmp guest+4
; ud2
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 3 retired
)"},

{"ACallIsFollowedAndItsReturnCompared", TraceForm::Records, 0, Variant::Full, 8,
 "E8 01 00 00 00 C3 FF C0 C3", R"(
; call guest+6
; ret
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  push guest+5
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  lea rcx, [rcx-(guest+5)]
  jrcxz L1
  jmp L2
L1:
  mov rcx, [slot_rcx]
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L2:
  lea rcx, [rcx+guest+5]
  mov dword ptr [r11], 0x2
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 4 retired
exit 0x2: Indirect by rcx, 3 retired
)"},

{"AReturnAddressBeyond32BitsIsPushedFromALiteral", TraceForm::Records, kFar, Variant::Full, 2,
 "E8 01 00 00 00 C3 FF C0 C3", R"(
; call guest+6
; ret
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  push [literal]
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+8, 2 retired
)"},

{"ACallAsksForTheEntryOfItsReturn", TraceForm::Records, kDirect, Variant::Full, 1,
 "E8 01 00 00 00 C3 FF C0 C3", R"(
; call guest+6
; ret
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  push guest+5
  prefetcht0 [direct_table of guest+5]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+6, 1 retired
)"},

{"AnIndirectJumpByRegister", TraceForm::Records, 0, Variant::Full, 8,
 "FF E0", R"(
; jmp rax
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  mov rcx, rax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"AnIndirectJumpByTheStolenRegister", TraceForm::Records, 0, Variant::Full, 8,
 "41 FF E3", R"(
; jmp r11
  mov rcx, [slot_rcx]
entry:
  mov [slot_map], r8
  mov r8, [slot_r11]
  mov [slot_rcx], rcx
  mov rcx, r8
  mov [slot_r11], r8
  mov r8, [slot_map]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"AnIndirectCallByMemory", TraceForm::Records, 0, Variant::Full, 8,
 "41 FF 54 C4 08", R"(
; call [r12+rax*8+0x8]
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  mov rcx, [r12+rax*8+0x8]
  push guest+5
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"AnIndirectJumpByAWordBesideTheCode", TraceForm::Records, 0, Variant::Full, 8,
 "FF 25 10 00 00 00", R"(
; jmp [guest+22]
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  mov rcx, [guest+22]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"AnIndirectJumpByAWordOutOfReach", TraceForm::Records, kFar, Variant::Full, 8,
 "FF 25 10 00 00 00", R"(
; jmp [guest+22]
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  mov rcx, guest+22
  mov rcx, [rcx]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 1 retired
)"},

{"AnotherRegisterStandsInForTheStolenOne", TraceForm::Records, 0, Variant::Full, 8,
 "4D 8B 1B 49 01 C3 C3", R"(
; mov r11, [r11]
; add r11, rax
; ret
  mov rcx, [slot_rcx]
entry:
  mov [slot_map], r8
  mov r8, [slot_r11]
  mov r8, [r8]
  add r8, rax
  mov [slot_rcx], rcx
  pop rcx
  mov [slot_r11], r8
  mov r8, [slot_map]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 3 retired
)"},

{"TheStandInIsChosenAnewWhereItIsMentioned", TraceForm::Records, 0, Variant::Full, 4,
 "4D 8B 1B 4D 01 C8 4D 01 F2 4D 01 DF", R"(
; mov r11, [r11]
; add r8, r9
; add r10, r14
; add r15, r11
  mov rcx, [slot_rcx]
entry:
  mov [slot_map], r15
  mov r15, [slot_r11]
  mov r15, [r15]
  add r8, r9
  add r10, r14
  mov [slot_r11], r15
  mov r15, [slot_map]
  mov [slot_map], r8
  mov r8, [slot_r11]
  add r15, r8
  mov [slot_r11], r8
  mov r8, [slot_map]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+12, 4 retired
)"},

{"ASideExitPutsTheStandInBack", TraceForm::Records, 0, Variant::Full, 3,
 "4D 8B 1B 74 02 FF C0 C3", R"(
; mov r11, [r11]
; jz guest+7
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  mov [slot_map], r8
  mov r8, [slot_r11]
  mov r8, [r8]
  jz L1
  inc eax
  mov [slot_r11], r8
  mov r8, [slot_map]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
cold:
L1:
  mov [slot_r11], r8
  mov r8, [slot_map]
  mov dword ptr [r11], 0x2
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+7, 3 retired
exit 0x2: Direct guest+7, 2 retired
)"},

{"ARipRelativeOperandIsMovedWithTheCode", TraceForm::Records, 0, Variant::Full, 1,
 "48 8B 05 10 00 00 00", R"(
; mov rax, [guest+23]
  mov rcx, [slot_rcx]
entry:
  mov rax, [guest+23]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+7, 1 retired
)"},

{"ARipRelativeOperandOutOfReachGoesByARegister", TraceForm::Records, kFar, Variant::Full, 1,
 "48 89 0D 10 00 00 00", R"(
; mov [guest+23], rcx
  mov rcx, [slot_rcx]
entry:
  mov [slot_far], rdx
  mov rdx, guest+23
  mov [rdx], rcx
  mov rdx, [slot_far]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+7, 1 retired
)"},

{"TheProgramsFsIsInGs", TraceForm::Records, 0, Variant::Full, 1,
 "64 48 8B 04 25 28 00 00 00", R"(
; mov rax, fs:[0x28]
  mov rcx, [slot_rcx]
entry:
  mov rax, gs:[0x28]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+9, 1 retired
)"},

{"AnInstructionWithGsRunsAlone", TraceForm::Records, 0, Variant::Full, 8,
 "FF C0 65 48 8B 04 25 28 00 00 00", R"(
; inc eax
; mov rax, gs:[0x28]
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: NeedsStep guest+2, 1 retired
)"},

{"ElementsOfARepStringAreCounted", TraceForm::Records, kElements, Variant::Full, 1,
 "F3 A4", R"(
; rep movsb
  mov rcx, [slot_rcx]
entry:
  mov [slot_far], rbx
  mov rbx, rcx
  rep movsb
  mov [slot_scratch], rdx
  mov rdx, rcx
  not rdx
  lea rdx, [rdx+rbx*1+0x1]
  mov rbx, [elements]
  lea rbx, [rbx+rdx*1]
  mov [elements], rbx
  mov rbx, [slot_far]
  mov rdx, [slot_scratch]
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+2, 1 retired
)"},

{"ASystemCallIsADispatchersAffair", TraceForm::Records, 0, Variant::Full, 8,
 "0F 05", R"(
; syscall
  mov rcx, [slot_rcx]
entry:
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Syscall guest+2, 1 retired
)"},

{"ASystemCallByInterruptIsToo", TraceForm::Records, 0, Variant::Full, 8,
 "CD 80", R"(
; int 0x80
  mov rcx, [slot_rcx]
entry:
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Interrupt guest+2, 1 retired
)"},

{"AnInstructionThatTheEngineAnswers", TraceForm::Records, 0, Variant::Full, 8,
 "8E E0", R"(
; mov fs, ax
  mov rcx, [slot_rcx]
entry:
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Emulated guest+2, 1 retired
)"},

{"ABreakpointDoesNotRetire", TraceForm::Records, 0, Variant::Full, 8,
 "FF C0 CC", R"(
; inc eax
; int3
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Breakpoint guest+3, 1 retired
)"},

{"AnInstructionThatAlwaysFaultsIsCopied", TraceForm::Records, 0, Variant::Full, 8,
 "0F 0B", R"(
; ud2
  mov rcx, [slot_rcx]
entry:
  ud2
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+2, 1 retired
)"},

{"WhatIsNoInstructionEndsTheBlock", TraceForm::Records, 0, Variant::Full, 8,
 "FF C0 06", R"(
; inc eax
; (no instruction)
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Undecodable guest+2, 1 retired
)"},

{"TheEndOfExecutableMemoryEndsTheBlock", TraceForm::Records, 0, Variant::Full, 8,
 "FF C0", R"(
; inc eax
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Unfetchable guest+2, 1 retired
)"},

{"WhatTheEngineDoesNotRunEndsTheBlock", TraceForm::Records, 0, Variant::Full, 8,
 "FF C0 0F 34", R"(
; inc eax
; sysenter
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Refused guest+2, 1 retired
)"},

{"ATransactionAbortsAtOnce", TraceForm::Records, 0, Variant::Full, 2,
 "C7 F8 00 00 00 00 FF C0", R"(
; xbegin guest+6
; inc eax
  mov rcx, [slot_rcx]
entry:
  mov eax, 0x0
  inc eax
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp unlinked
exit 0x1: Direct guest+8, 2 retired
)"},

{"AStepReportsItsExitAndAppendsNothing", TraceForm::Records, 0, Variant::Step, 8,
 "FF C0 C3", R"(
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov dword ptr [exit_id], 0x1
  jmp step_done
exit 0x1: Direct guest+2, 1 retired
)"},

{"ABoundedBlockIsNeverLinked", TraceForm::Records, 0, Variant::UpTo32, 8,
 "FF C0 C3", R"(
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x1
  lea r11, [r11+0x4]
  jmp indirect_miss
exit 0x1: Indirect by rcx, 2 retired
)"},

{"AProbeIsABitOfTheRecord", TraceForm::Records, kProbed, Variant::Full, 8,
 "FF C0 C3", R"(
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  mov dword ptr [r11], 0x80000001
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 2 retired
)"},

{"ASpacedRecordLiesAsFarBehindTheLastAsTheBlockCounts", TraceForm::Spaced, 0, Variant::Full, 8,
 "FF C0 FF C0 FF C0 C3", R"(
; inc eax
; inc eax
; inc eax
; ret
  mov rcx, [slot_rcx]
entry:
  inc eax
  inc eax
  inc eax
  mov [slot_rcx], rcx
  pop rcx
  lea r11, [r11+0x10]
  mov dword ptr [r11], 0x44
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 4 retired
)"},

{"ABrakeComparesWhereTheFlagsAreAboutToBeOverwritten", TraceForm::Spaced, kBrakes, Variant::Full, 8,
 "8B 07 39 C8 C3", R"(
; mov eax, [rdi]
; cmp eax, ecx
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi]
  cmp r11d, guard-32
  jnb L1
  cmp eax, ecx
  mov [slot_rcx], rcx
  pop rcx
  lea r11, [r11+0xC]
  mov dword ptr [r11], 0x43
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L1:
  lea r11, [r11+0x4]
  mov dword ptr [r11], 0x81
  jmp unlinked
exit 0x1: Indirect by rcx, 3 retired
exit 0x2: Direct guest+2, 1 retired
)"},

{"TheBudgetIsThePointer", TraceForm::Budget, 0, Variant::Full, 8,
 "8B 07 39 C8 C3", R"(
; mov eax, [rdi]
; cmp eax, ecx
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi]
  cmp eax, ecx
  mov [slot_rcx], rcx
  pop rcx
  lea r11, [r11+0x3]
  mov dword ptr [r11], 0x1
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 3 retired
)"},

{"InTheBudgetFormTheBrakeCountsForTheWholePath", TraceForm::Budget, kBrakes, Variant::Full, 8,
 "8B 07 39 C8 C3", R"(
; mov eax, [rdi]
; cmp eax, ecx
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi]
  add r11, 0x3
  jnl L1
  cmp eax, ecx
  mov [slot_rcx], rcx
  pop rcx
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L1:
  lea r11, [r11-0x2]
  jmp L2
L2:
  mov dword ptr [exit_id], 0x2
  jmp step_done
exit 0x1: Indirect by rcx, 3 retired
exit 0x2: Direct guest+2, 1 retired
)"},

{"AnExitBeforeTheEndTakesBackWhatTheBrakeCountedTooMuch", TraceForm::Budget, kBrakes, Variant::Full, 5,
 "8B 07 39 C8 74 04 8B 06 8B 06 C3", R"(
; mov eax, [rdi]
; cmp eax, ecx
; jz guest+10
; mov eax, [rsi]
; mov eax, [rsi]
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi]
  add r11, 0x5
  jnl L2
  cmp eax, ecx
  jz L4
  mov eax, [rsi]
  mov eax, [rsi]
  jmp L1
cold:
L1:
  mov dword ptr [exit_id], 0x1
  jmp step_done
L2:
  lea r11, [r11-0x4]
  jmp L3
L3:
  mov dword ptr [exit_id], 0x2
  jmp step_done
L4:
  lea r11, [r11-0x2]
  jmp L5
L5:
  mov dword ptr [exit_id], 0x3
  jmp step_done
exit 0x1: Direct guest+10, 5 retired
exit 0x2: Direct guest+2, 1 retired
exit 0x3: Direct guest+10, 3 retired
)"},

{"WithoutAPlaceForABrakeTheExitLooks", TraceForm::Budget, kBrakes, Variant::Full, 8,
 "8B 07 C3", R"(
; mov eax, [rdi]
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi]
  mov [slot_rcx], rcx
  pop rcx
  lea r11, [r11+0x2]
  mov dword ptr [r11+bias], 0x1
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 2 retired
)"},

{"InTheBudgetFormAProbeIsNotedBesideTheTrace", TraceForm::Budget, kProbed, Variant::Full, 8,
 "8B 07 C3", R"(
; mov eax, [rdi]
; ret
  mov rcx, [slot_rcx]
entry:
  mov eax, [rdi]
  mov [slot_rcx], rcx
  pop rcx
  mov [slot_scratch], rax
  mov rax, [probe_note]
  mov [rax], r11d
  mov dword ptr [rax+0x4], 0x80000001
  lea rax, [rax+0x8]
  mov [probe_note], rax
  mov rax, [slot_scratch]
  lea r11, [r11+0x2]
  mov dword ptr [r11], 0x1
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 2 retired
)"},

{"AProbeIsNotedBeforeWhatTheBrakeCountedIsPutRight", TraceForm::Budget, kProbed | kBrakes, Variant::Full, 8,
 "39 C8 74 02 8B 07 C3", R"(
; cmp eax, ecx
; jz guest+6
; mov eax, [rdi]
; ret
  mov rcx, [slot_rcx]
entry:
  add r11, 0x4
  jnl L1
  cmp eax, ecx
  jz L3
  mov eax, [rdi]
  mov [slot_rcx], rcx
  pop rcx
  mov [slot_scratch], rax
  mov rax, [probe_note]
  mov [rax], r11d
  mov dword ptr [rax+0x4], 0x80000001
  lea rax, [rax+0x8]
  mov [probe_note], rax
  mov rax, [slot_scratch]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
cold:
L1:
  lea r11, [r11-0x4]
  jmp L2
L2:
  mov dword ptr [exit_id], 0x2
  jmp step_done
L3:
  mov [slot_scratch], rax
  mov rax, [probe_note]
  mov [rax], r11d
  mov dword ptr [rax+0x4], 0x80000003
  lea rax, [rax+0x8]
  mov [probe_note], rax
  mov rax, [slot_scratch]
  lea r11, [r11-0x2]
  jmp L4
L4:
  mov dword ptr [exit_id], 0x3
  jmp step_done
exit 0x1: Indirect by rcx, 4 retired
exit 0x2: Direct guest, 0 retired
exit 0x3: Direct guest+6, 2 retired
)"},

{"NoProbeIsInABlockCloseToAnOverflow", TraceForm::Budget, kProbed | kBrakes, Variant::Near, 8,
 "39 C8 74 02 8B 07 C3", R"(
; cmp eax, ecx
; jz guest+6
; mov eax, [rdi]
; ret
  mov rcx, [slot_rcx]
entry:
  mov [slot_rax], rax
  lahf
  seto al
  cmp r11d, 0x1C
  jnle L1
  add al, 0x7F
  sahf
  mov rax, [slot_rax]
  mov dword ptr [exit_id], 0x1
  jmp step_done
L1:
  mov dword ptr [near_table], table_of_block
  jmp choose_stop
  add al, 0x7F
  sahf
  mov rax, [slot_rax]
  jmp L2
  add al, 0x7F
  sahf
  mov rax, [slot_rax]
  jmp L2
L2:
  mov dword ptr [exit_id], 0x2
  jmp step_done
exit 0x1: NeedsStep guest, 0 retired
exit 0x2: Horizon guest, 0 retired
)"},

{"CloseToAnOverflowTheStopIsLookedForBetweenInstructions", TraceForm::Budget, kBrakes, Variant::Near, 8,
 "39 C8 8B 07 8B 06 C3", R"(
; cmp eax, ecx
; mov eax, [rdi]
; mov eax, [rsi]
; ret
  mov rcx, [slot_rcx]
entry:
  cmp r11d, 0x18
  jnle L3
  cmp eax, ecx
  jmp L2
L1:
  jmp at_stop
L2:
  xchg r11, rcx
  lea rcx, [rcx-0x1C]
  jrcxz L1
  lea rcx, [rcx+0x1C]
  xchg r11, rcx
  mov eax, [rdi]
  xchg r11, rcx
  lea rcx, [rcx-0x1B]
  jrcxz L1
  lea rcx, [rcx+0x1B]
  xchg r11, rcx
  mov eax, [rsi]
  xchg r11, rcx
  lea rcx, [rcx-0x1A]
  jrcxz L1
  lea rcx, [rcx+0x1]
  jrcxz L1
  lea rcx, [rcx+0x19]
  xchg r11, rcx
  mov [slot_rcx], rcx
  pop rcx
  lea r11, [r11+0x4]
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table_of_near]
L3:
  mov dword ptr [near_table], table_of_block
  jmp choose_stop
  jmp L4
  jmp L4
L4:
  mov dword ptr [exit_id], 0x2
  jmp step_done
exit 0x1: Indirect by rcx, 4 retired
exit 0x2: Horizon guest, 0 retired
)"},

{"CloseToAnOverflowTheFlagsAreSavedWhereTheyAreNeeded", TraceForm::Budget, kBrakes, Variant::Near, 8,
 "8B 07 74 00", R"(
; mov eax, [rdi]
; jz guest+4
  mov rcx, [slot_rcx]
entry:
  mov [slot_rax], rax
  lahf
  seto al
  cmp r11d, 0x1A
  jnle L5
  add al, 0x7F
  sahf
  mov rax, [slot_rax]
  mov eax, [rdi]
  jmp L2
L1:
  jmp at_stop
L2:
  xchg r11, rcx
  lea rcx, [rcx-0x1C]
  jrcxz L1
  lea rcx, [rcx+0x1]
  jrcxz L1
  lea rcx, [rcx+0x1B]
  xchg r11, rcx
  jz L3
  lea r11, [r11+0x2]
  mov dword ptr [exit_id], 0x1
  jmp step_done
L3:
  lea r11, [r11+0x2]
  jmp L4
L4:
  mov dword ptr [exit_id], 0x2
  jmp step_done
L5:
  mov dword ptr [near_table], table_of_block
  jmp choose_stop
  add al, 0x7F
  sahf
  mov rax, [slot_rax]
  jmp L6
  add al, 0x7F
  sahf
  mov rax, [slot_rax]
  jmp L6
L6:
  mov dword ptr [exit_id], 0x3
  jmp step_done
exit 0x1: Unfetchable guest+4, 2 retired
exit 0x2: Direct guest+4, 2 retired
exit 0x3: Horizon guest, 0 retired
)"},

{"WithACoreModelAddressesAreStoredOnTheWay", TraceForm::Spaced, kAddresses, Variant::Full, 8,
 "48 8B 47 08 53 48 89 03 C3", R"(
; mov rax, [rdi+0x8]
; push rbx
; mov [rbx], rax
; ret
  mov rcx, [slot_rcx]
entry:
  mov [r11*2+slots[0]], rdi
  mov rax, [rdi+0x8]
  mov [r11*2+slots[1]], rsp
  push rbx
  mov [r11*2+slots[2]], rbx
  mov [rbx], rax
  mov [slot_rcx], rcx
  pop rcx
  lea r11, [r11+0x10]
  mov dword ptr [r11], 0x44
  mov [slot_rax], rax
  movzx eax, cx
  jmp [rax*8+hashed_table]
exit 0x1: Indirect by rcx, 4 retired
)"},

{"ALogStoresWhatEachInstructionChanges", TraceForm::Spaced, kAddresses, Variant::Logged, 2,
 "8B 07 01 C8", R"(
; mov eax, [rdi]
; add eax, ecx
  mov rcx, [slot_rcx]
entry:
  mov [r11*2+slots[0]], rax
  mov [r11*2+slots[1]], rcx
  mov [r11*2+slots[2]], rdx
  mov [r11*2+slots[3]], rbx
  mov [r11*2+slots[4]], rsp
  mov [r11*2+slots[5]], rbp
  mov [r11*2+slots[6]], rsi
  mov [r11*2+slots[7]], rdi
  mov [r11*2+slots[8]], r8
  mov [r11*2+slots[9]], r9
  mov [r11*2+slots[10]], r10
  mov [r11*2+slots[12]], r12
  mov [r11*2+slots[13]], r13
  mov [r11*2+slots[14]], r14
  mov [r11*2+slots[15]], r15
  mov [slot_rax], rax
  mov rax, [slot_r11]
  mov [r11*2+slots[11]], rax
  mov rax, [slot_rax]
  mov [slot_scratch], rsp
  lea rsp, [r11*2+slots[17]]
  pushfq
  mov rsp, [slot_scratch]
  mov eax, [rdi]
  mov [r11*2+slots[17]], rax
  add eax, ecx
  mov [r11*2+slots[18]], rax
  mov [slot_scratch], rsp
  lea rsp, [r11*2+slots[20]]
  pushfq
  mov rsp, [slot_scratch]
  lea r11, [r11+0x50]
  mov dword ptr [r11], 0x54
  jmp unlinked
exit 0x1: Direct guest+4, 2 retired
)"},

{"UpToAnOverflowNoMoreRunsThanMayHaveTheEvent", TraceForm::Spaced, kAddresses | kRisky, Variant::UpTo1, 8,
 "8B 07 8B 06 C3", R"(
; mov eax, [rdi]
; mov eax, [rsi]
; ret
  mov rcx, [slot_rcx]
entry:
  mov [r11*2+slots[0]], rdi
  mov eax, [rdi]
  lea r11, [r11+0x4]
  mov dword ptr [r11], 0x41
  jmp unlinked
exit 0x1: Direct guest+2, 1 retired
)"},

{"CodeThatMayChangeUnseenIsComparedFirst", TraceForm::Records, kUnseen, Variant::Full, 8,
 "48 B8 01 02 03 04 05 06 07 08 FF C0", R"(
; mov rax, 0x807060504030201
; inc eax
  mov rcx, [slot_rcx]
entry:
  mov [slot_rcx], rcx
  mov [slot_rax], rax
  mov rax, [guest]
  mov rcx, 0xF9FAFBFCFDFE47B8
  lea rcx, [rcx+rax*1]
  jrcxz L1
  jmp L3
L1:
  mov rax, [guest+4]
  mov rcx, 0x3F00F7F8F9FAFBFD
  lea rcx, [rcx+rax*1]
  jrcxz L2
  jmp L3
L2:
  mov rcx, [slot_rcx]
  mov rax, [slot_rax]
  mov rax, 0x807060504030201
  inc eax
  mov dword ptr [r11], 0x2
  lea r11, [r11+0x4]
  jmp unlinked
L3:
  mov rcx, [slot_rcx]
  mov rax, [slot_rax]
  mov dword ptr [exit_id], 0x1
  jmp step_done
exit 0x1: Stale guest, 0 retired
exit 0x2: Unfetchable guest+12, 2 retired
)"},
};
// clang-format on

}  // namespace zs::engine
