"""Kinds of programs whose cause is known: a loop that is limited by one thing, drawn from a seed, with what arithmetic says of it.

A kind is a function of a random source that returns a Program. Its kernel is assembly (Intel syntax) in which lines that end in `# GUILTY`
are the ones to blame. Bounds are of a run of skylake-server that is modelled whole, and of the loop alone: what comes before it is short.
"""
import dataclasses
import math

KERNEL = """
  .intel_syntax noprefix
  .text
  .globl kernel
  .p2align 6
kernel:
  push rbx
  push r12
  push r13
  push r14
  push r15
  mov rcx, rdi
  mov rdi, rsi
  mov esi, 1000003
  mov eax, 88172645
  mov r8, 88172645463325252
  xor ebx, ebx
  xor edx, edx
  .p2align 6
1:
%s  dec rcx
  jnz 1b
  pop r15
  pop r14
  pop r13
  pop r12
  pop rbx
  ret
  .section .note.GNU-stack,"",@progbits
"""


@dataclasses.dataclass
class Program:
    kernel: str                                   # the loop: rcx turns, rdi points to `bytes` bytes of memory
    turns: int
    bytes: int = 1 << 16
    prepare: str = ""                             # C statements that fill `memory` (of unsigned long)
    node: str = ""                                # the deepest node of the top-down tree that has most of what is lost
    least: float = 0                              # percent of the slots that it has at least
    events: dict = dataclasses.field(default_factory=dict)    # {event: (least, most)}
    must_not: dict = dataclasses.field(default_factory=dict)  # {node: percent that it has at most}
    threads: int = 1
    has_line: bool = True  # False: nothing is wrong with any of its lines


#: A loop whose data is all in L1D and whose loads are early can wait for nothing further out.
NO_MEMORY = {"L1_Bound": 2, "L2_Bound": 2, "L3_Bound": 2, "DRAM_Bound": 10, "Store_Bound": 2}
#: What a program needs to start takes some hundred lines from memory; the rest of the bounds is drawn so that this is little.
START_MISSES = 3000


def turns_of(draw, cycles):
    """So many that turns of `cycles` take some four million: many times what a program needs to start."""
    return round(draw.uniform(3.5e6, 5e6) / cycles)


def near(value, share):
    return (value * (1 - share), value * (1 + share))


#: xmm0 and xmm1 are 1.0 again in each turn, by instructions that the chain goes through.
ONES = "  mov r9d, 1\n  cvtsi2sd xmm1, r9d\n"


def chain(draw, instruction, latency, node="Core_Bound", spread=""):
    """A chain of one instruction, of which each turn takes `latency` cycles beside two slots."""
    length = draw.randrange(4, 17)
    turns = turns_of(draw, length * latency)
    body = f"  {instruction} # GUILTY\n" * length
    cycles = turns * length * latency
    return Program(kernel=spread + body, turns=turns, node=node, least=100 * (1 - (length + 2) / (4 * length * latency)) - 12,
                   events={"cycles": near(cycles, 0.12), "mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY)


def multiply(draw):
    return chain(draw, "imul rax, rax", 3)


def add_floats(draw):
    return chain(draw, "addsd xmm0, xmm1", 4)


def multiply_floats(draw):
    return chain(draw, "mulsd xmm0, xmm1", 4)


def fuse(draw):
    return chain(draw, "vfmadd231sd xmm0, xmm1, xmm2", 4)


def multiply_words(draw):
    return chain(draw, "pmulld xmm0, xmm1", 10)


def checksum(draw):
    return chain(draw, "crc32 rax, rbx", 3)


def encrypt(draw):
    return chain(draw, "aesenc xmm0, xmm1", 4)


def carry_less(draw):
    return chain(draw, "pclmulqdq xmm0, xmm1, 0", 6)


def count_bits(draw):
    """Counts of one register's bits, each of which waits for its destination, which nothing needs."""
    return chain(draw, "popcnt rax, rbx", 3)


def divide_floats(draw):
    """Quotients of 1.0, which stay 1.0: 13 or 14 cycles each."""
    return chain(draw, "divsd xmm0, xmm1", 13.5, spread=ONES)


def roots(draw):
    """Square roots of 1.0: 13 to 19 cycles each."""
    program = chain(draw, "sqrtsd xmm0, xmm0", 16, spread=ONES)
    low, high = program.events["cycles"]
    program.events["cycles"] = (low * 13 / 16, high * 19 / 16)
    return program


def upper_halves(draw):
    """Sums without VEX, while upper halves of the registers are in use: each copy in front waits for the sum before it."""
    length = draw.randrange(3, 6)
    turns = turns_of(draw, 5)
    body = "".join(f"  movaps xmm{number}, xmm8 # GUILTY\n  addps xmm{number}, xmm9 # GUILTY\n" for number in range(length))
    return Program(kernel=body, turns=turns, node="Core_Bound", least=100 * (1 - (2 * length + 2) / (4 * 5)) - 12,
                   prepare='__asm__ volatile("vpcmpeqd %ymm12, %ymm12, %ymm12");',
                   events={"cycles": near(turns * 5, 0.15), "mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY)


def cleared_halves(draw):
    """The same behind VZEROUPPER: the ports of additions are what is left."""
    program = upper_halves(draw)
    length = program.kernel.count("addps")
    program.prepare += ' __asm__ volatile("vzeroupper");'
    program.node, program.least = "Retiring", 100 * (2 * length + 1) / (4 * max(length / 2, (2 * length + 1) / 4)) - 15
    program.events["cycles"] = (program.turns * length / 2 * 0.9, program.turns * (2 * length + 2) / 4 * 1.2)
    program.has_line = False
    return program


def divide(draw):
    length = draw.randrange(1, 5)
    turns = turns_of(draw, length * 26)
    body = "  xor edx, edx\n  or eax, 0x7000001\n  div esi # GUILTY\n" * length
    return Program(kernel=body, turns=turns, node="Core_Bound", least=55,
                   events={"cycles": (turns * length * 20, turns * length * 30), "mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY)


def one_port(draw):
    """Independent multiplications, all of which port 1 does."""
    length = draw.randrange(6, 14)
    turns = turns_of(draw, length)
    registers = ["rax", "rbx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13"]
    body = "".join(f"  imul {register}, {register}, 7 # GUILTY\n" for register in (registers * 2)[:length])
    cycles = turns * length
    return Program(kernel=body, turns=turns, node="Core_Bound", least=100 * (1 - (length + 2) / (4 * length)) - 12,
                   events={"cycles": near(cycles, 0.15)}, must_not=NO_MEMORY)


def one_shuffle_port(draw):
    """Independent shuffles, all of which port 5 does."""
    length = draw.randrange(6, 14)
    turns = turns_of(draw, length)
    body = "".join(f"  pshufd xmm{i}, xmm15, {draw.randrange(256)} # GUILTY\n" for i in range(length))
    return Program(kernel=body, turns=turns, node="Core_Bound", least=100 * (1 - (length + 2) / (4 * length)) - 12,
                   events={"cycles": near(turns * length, 0.15)}, must_not=NO_MEMORY)


def one_divider(draw):
    """Independent divisions of doubles, one each four or five cycles."""
    length = draw.randrange(3, 12)
    turns = turns_of(draw, 4 * length)
    body = "".join(f"  movapd xmm{i}, xmm15\n  divsd xmm{i}, xmm14 # GUILTY\n" for i in range(length))
    return Program(kernel="  mov r9d, 3\n  cvtsi2sd xmm14, r9d\n  movapd xmm15, xmm14\n" + body, turns=turns, node="Core_Bound", least=35,
                   events={"cycles": (turns * length * 3.9, turns * (length * 5 + 2) * 1.1)}, must_not=NO_MEMORY)


def one_store_port(draw):
    """Stores of one after the other to a few lines in L1D: one a cycle."""
    length = draw.randrange(6, 14)
    turns = turns_of(draw, length)
    # In one line: each store has the same share, and so may the loop's end.
    body = "  " + "; ".join(f"mov [rdi + {64 * (i % 4) + 8 * (i // 4)}], rax" for i in range(length)) + " # GUILTY\n"
    return Program(kernel=body, turns=turns, node="Backend_Bound", least=100 * (1 - (length + 2) / (4 * length)) - 15,
                   events={"cycles": near(turns * length, 0.15), "mem_inst_retired.all_stores": (turns * length, turns * length + 100_000)},
                   must_not={"L2_Bound": 2, "L3_Bound": 2, "DRAM_Bound": 10, "L1_Bound": 3})


def busy(draw):
    """Additions that do not wait for each other: nothing is wrong."""
    length = 4 * draw.randrange(4, 9)
    turns = turns_of(draw, length / 4)
    registers = ["rax", "rbx", "rdx", "rsi", "r8", "r9", "r10", "r11"]
    body = "".join(f"  add {registers[i % 8]}, 1 # GUILTY\n" for i in range(length))
    return Program(kernel=body, turns=turns, node="Light_Operations", least=80, has_line=False,
                   events={"mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY | {"Core_Bound": 15})


def loads_of_l1(draw):
    """Loads from 16 KiB, two a cycle, which nothing waits for."""
    turns = turns_of(draw, 4)
    body = "".join(f"  mov r{8 + i}, [rdi + rbx + {64 * i}] # GUILTY\n" for i in range(8))
    body += "  add rbx, 512\n  and rbx, 16383\n"
    return Program(kernel=body, turns=turns, bytes=1 << 15, node="Retiring", least=50, has_line=False,
                   events={"mem_inst_retired.all_loads": (8 * turns, 8 * turns + 100_000), "mem_load_retired.l1_miss": (0, START_MISSES)},
                   must_not=NO_MEMORY)


def mispredicts(draw):
    """A branch on a bit of a random number, which is right in half of the cases."""
    turns, bit = turns_of(draw, 17), draw.randrange(8, 50)
    body = ("  mov rax, r8\n  shl rax, 13\n  xor r8, rax\n  mov rax, r8\n  shr rax, 7\n  xor r8, rax\n  mov rax, r8\n  shl rax, 17\n"
            f"  xor r8, rax\n  bt r8, {bit}\n  jc 2f # GUILTY\n  add rdx, 3\n2:\n")
    spread = 6 * (turns ** 0.5) / 2
    return Program(kernel=body, turns=turns, node="Branch_Mispredicts", least=40,
                   events={"br_misp_retired.conditional": (turns / 2 - spread - turns * 0.05, turns / 2 + spread + 5000)}, must_not=NO_MEMORY)


def indirect_jumps(draw):
    """A jump to one of eight places, by a random number."""
    turns, bit = turns_of(draw, 24), draw.randrange(8, 50)
    targets = "".join(f"  .balign 16\n  add rdx, {i + 1}\n  jmp 3f\n" for i in range(8))
    body = ("  mov rax, r8\n  shl rax, 13\n  xor r8, rax\n  mov rax, r8\n  shr rax, 7\n  xor r8, rax\n  mov rax, r8\n  shl rax, 17\n  xor r8, rax\n"
            f"  mov rax, r8\n  shr rax, {bit}\n  and eax, 7\n  shl eax, 4\n  lea r9, [rip + 2f]\n  add r9, rax\n  jmp r9 # GUILTY\n"
            f"  .balign 16\n2:\n{targets}3:\n")
    return Program(kernel=body, turns=turns, node="Branch_Mispredicts", least=40,
                   events={"br_misp_retired.all_branches": (0.8 * turns, 1.02 * turns + 5000)}, must_not=NO_MEMORY)


def taken_branches(draw):
    """Jumps to the next line of code: at most one of them is fetched in a cycle."""
    length = draw.randrange(8, 40)
    turns = turns_of(draw, length)
    body = "  .balign 64\n  jmp 7f # GUILTY\n  .balign 64\n7:\n" * length
    return Program(kernel=body, turns=turns, node="Frontend_Bound", least=40, has_line=False,
                   events={"br_inst_retired.near_taken": ((length + 1) * turns, (length + 1) * turns + 50_000), "cycles": (0.95 * length * turns, float("inf"))},
                   must_not=NO_MEMORY | {"Branch_Mispredicts": 5, "Core_Bound": 10})


def chase(draw, lines, node, event, least, latency, turns, must_not, found):
    """One load after the other, over all of so many lines in a random order."""
    prepare = (f"unsigned long n = {lines}, x = {draw.getrandbits(62) | 1}; unsigned* order = malloc(4 * n);\n"
               "for (unsigned long i = 0; i < n; ++i) order[i] = i;\n"
               "for (unsigned long i = n - 1; i > 0; --i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; unsigned long j = x % i;\n"
               "  unsigned t = order[i]; order[i] = order[j]; order[j] = t; }\n"
               "for (unsigned long i = 0; i < n; ++i) memory[order[i] * 8ul] = (unsigned long)(memory + order[(i + 1) % n] * 8ul);\n"
               "free(order);\n")
    return Program(kernel="  mov rdi, [rdi] # GUILTY\n", turns=turns, bytes=64 * lines, prepare=prepare, node=node, least=least,
                   events={event: (turns * found, turns * 1.1 + 3 * lines + START_MISSES), "cycles": (turns * latency, float("inf"))}, must_not=must_not)


def chase_l2(draw):
    lines = draw.randrange(2048, 6000)
    return chase(draw, lines, "L2_Bound", "mem_load_retired.l2_hit", 35, 13, turns_of(draw, 14), {"L3_Bound": 10, "Store_Bound": 5},
                 0.95 - 512 / lines)  # as many as L1D holds may hit it


def chase_l3(draw):
    lines = draw.randrange(60_000, 120_000)
    return chase(draw, lines, "L3_Bound", "mem_load_retired.l3_hit", 15, 50, draw.randrange(200_000, 300_000), {"Store_Bound": 5, "L1_Bound": 10},
                 0.95 - 16384 / lines)  # as many as L2 holds may hit that


def chase_dram(draw):
    """Loads of 256 MiB in an order that no prefetcher follows, each of which adds its value to the next one's address. At most an
    eighth of it is in the last level, and DRAM alone takes more than half of what a turn does: walks and levels take 120 cycles at most."""
    turns, shift = draw.randrange(150_000, 250_000), draw.randrange(4, 12)
    body = (f"  imul rbx, rbx, 1664525\n  add rbx, 1013904223\n  mov rdx, rbx\n  shr rdx, {shift}\n  and rdx, 0xfffffc0\n"
            "  mov rax, [rdi + rdx] # GUILTY\n  add rbx, rax\n")
    return Program(kernel=body, turns=turns, bytes=1 << 28, node="DRAM_Bound", least=40,
                   events={"mem_load_retired.l3_miss": (0.8 * turns, 1.01 * turns + START_MISSES), "cycles": (turns * 150, turns * 600)},
                   must_not={"L1_Bound": 5, "Store_Bound": 5, "Core_Bound": 12})


def set_conflict(draw):
    """Lines 4 KiB apart, more of them than the eight ways of L1D, one load after the other: at most seven of a round hit."""
    lines, turns = draw.randrange(12, 17), turns_of(draw, 14)
    prepare = f"for (unsigned long i = 0; i < {lines}; ++i) memory[512 * i] = (unsigned long)(memory + 512 * ((i + 1) % {lines}));\n"
    return Program(kernel="  mov rdi, [rdi] # GUILTY\n", turns=turns, bytes=4096 * lines, prepare=prepare, node="L2_Bound", least=50,
                   events={"mem_load_retired.l1_miss": ((1 - 7 / lines) * turns, 1.01 * turns + START_MISSES),
                           "mem_load_retired.l2_hit": ((1 - 7 / lines) * turns, 1.01 * turns + START_MISSES)},
                   must_not={"L3_Bound": 4, "Store_Bound": 3, "Core_Bound": 15})


def page_walks(draw):
    """A load of each of more pages than both TLBs have, one after the other; their lines fit into L2."""
    pages, turns = draw.randrange(2600, 4000), turns_of(draw, 40)
    stride = draw.choice([stride for stride in range(480, 512) if math.gcd(stride, pages) == 1])
    prepare = (f"unsigned long n = {pages};\nfor (unsigned long i = 0; i < n; ++i) {{ unsigned long j = (i + {stride}) % n;\n"
               "  memory[512 * i + i % 64 * 8] = (unsigned long)(memory + 512 * j + j % 64 * 8); }\n")
    return Program(kernel="  mov rdi, [rdi] # GUILTY\n", turns=turns, bytes=4096 * pages, prepare=prepare, node="Memory_Bound", least=50,
                   events={"dtlb_load_misses.walk_completed": (0.6 * turns, 1.02 * turns + 3 * pages)}, must_not={"Store_Bound": 10})


def second_tlb(draw):
    """A chase through more pages than the first TLB has entries and fewer than the second: a load takes some seven cycles more."""
    pages, turns = draw.randrange(160, 400), turns_of(draw, 12)
    stride = draw.choice([stride for stride in range(31, 64) if math.gcd(stride, pages) == 1])
    prepare = (f"unsigned long n = {pages};\nfor (unsigned long i = 0; i < n; ++i) {{ unsigned long j = (i + {stride}) % n;\n"
               "  memory[512 * i + i % 64 * 8] = (unsigned long)(memory + 512 * j + j % 64 * 8); }\n")
    return Program(kernel="  mov rdi, [rdi] # GUILTY\n", turns=turns, bytes=4096 * pages, prepare=prepare, node="L1_Bound", least=40,
                   events={"dtlb_load_misses.stlb_hit": (0.9 * turns, 1.02 * turns + 2000), "dtlb_load_misses.walk_completed": (0, 2000),
                           "mem_load_retired.l1_miss": (0, 0.1 * turns + START_MISSES)}, must_not={"L3_Bound": 3, "DRAM_Bound": 10, "Store_Bound": 3})


def stream(draw):
    """Lines of 96 MiB one after the other, a load of each: prefetched, but no faster than memory is."""
    turns = draw.randrange(400_000, 800_000)
    return Program(kernel="  add rax, [rdi] # GUILTY\n  add rdi, 64\n", turns=turns, bytes=64 * turns, prepare="", node="DRAM_Bound", least=30,
                   events={"cycles": (4 * turns, float("inf"))}, must_not={"Core_Bound": 15, "Store_Bound": 5, "L1_Bound": 15})


def split_loads(draw):
    """Loads across two lines, of data in L1D: each takes a load port twice."""
    turns, into = turns_of(draw, 8), draw.choice([60, 61, 62, 63])
    body = "".join(f"  mov r{8 + i}, [rdi + {64 * i + into}] # GUILTY\n" for i in range(8))
    return Program(kernel=body, turns=turns, bytes=1 << 14, node="L1_Bound", least=20,
                   events={"mem_inst_retired.split_loads": (8 * turns, 8 * turns + 2000)},
                   must_not={"L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 12, "Core_Bound": 12})


def page_splits(draw):
    """A chain of loads across two pages, both in L1D and in the TLB: each takes a load port twice."""
    turns, into = turns_of(draw, 12), draw.randrange(4089, 4096)
    return Program(kernel=f"  mov rbx, [rdi + rbx + {into}] # GUILTY\n", turns=turns, bytes=1 << 14, node="L1_Bound", least=40,
                   prepare="for (int i = 0; i < 2048; ++i) memory[i] = 0;", events={"mem_inst_retired.split_loads": (turns, turns + 2000), "cycles": (5 * turns, 40 * turns)},
                   must_not={"L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 12, "Core_Bound": 12})


def forwarding(draw):
    """A value that goes through memory in each turn."""
    turns, at = turns_of(draw, 6), 8 * draw.randrange(0, 64)
    return Program(kernel=f"  mov rax, [rdi + {at}] # GUILTY\n  add rax, 3\n  mov [rdi + {at}], rax # GUILTY\n", turns=turns, node="L1_Bound", least=40,
                   events={"cycles": (4 * turns, 8 * turns + 2_000_000)}, must_not={"L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 15, "Store_Bound": 5})


def blocked_forwarding(draw):
    """A load of eight bytes of which two stores have half each: it waits until both are written."""
    turns, at = turns_of(draw, 18), 64 * draw.randrange(0, 64)
    return Program(kernel=(f"  mov [rdi + {at}], eax # GUILTY\n  mov [rdi + {at + 4}], edx # GUILTY\n  mov rax, [rdi + {at}] # GUILTY\n  lea rdx, [rax + 1]\n"),
                   turns=turns, node="L1_Bound", least=50, events={"ld_blocks.store_forward": (0.98 * turns, 1.02 * turns + 500)},
                   must_not={"L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 10})


def locks(draw):
    """Locked additions to a line that only one core has."""
    turns, at = turns_of(draw, 19), 64 * draw.randrange(0, 64)
    return Program(kernel=f"  lock add qword ptr [rdi + {at}], 1 # GUILTY\n", turns=turns, node="L1_Bound", least=50,
                   events={"mem_inst_retired.lock_loads": (turns, turns + 500), "cycles": (15 * turns, 40 * turns)},
                   must_not={"L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 10})


def stores(draw):
    """Stores to lines of more memory than all caches have, in an order that no prefetcher follows."""
    turns = turns_of(draw, 40)
    body = ("  imul rax, rax, 1103515245\n  add rax, 12345\n  mov rbx, rax\n  shr rbx, 3\n  and rbx, 0x3ffffff\n  and rbx, -64\n"
            "  mov [rdi + rbx], rax # GUILTY\n")
    return Program(kernel=body, turns=turns, bytes=(1 << 26) + 4096, node="Store_Bound", least=30,
                   events={"mem_inst_retired.all_stores": (turns, turns + 200_000)}, must_not={"L1_Bound": 5, "L2_Bound": 3, "L3_Bound": 10})


def split_stores(draw):
    """Stores across two lines of L1D: each is committed in two cycles."""
    length, into = draw.randrange(6, 14), draw.choice([60, 61, 62, 63])
    turns = turns_of(draw, 2 * length)
    body = "".join(f"  mov [rdi + {64 * i + into}], rax # GUILTY\n" for i in range(length))
    return Program(kernel=body, turns=turns, node="Store_Bound", least=40,
                   events={"mem_inst_retired.split_stores": (length * turns, length * turns + 2000), "cycles": (1.9 * length * turns, 3 * length * turns)},
                   must_not={"L1_Bound": 5, "L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 10})


def aliases(draw):
    """A chain of loads, each of which has the offset in its page of the store before it, and is taken again when the whole addresses differ."""
    turns, at = turns_of(draw, 10), 8 * draw.randrange(0, 400)
    return Program(kernel=f"  mov [rdi + {at}], rdi # GUILTY\n  mov rbx, [rdi + rbx + {at + 4096}] # GUILTY\n", turns=turns, node="L1_Bound", least=20,
                   prepare="for (int i = 0; i < 8192; ++i) memory[i] = 0;", events={"ld_blocks_partial.address_alias": (0.9 * turns, 1.02 * turns + 2000)},
                   must_not={"L2_Bound": 3, "L3_Bound": 3, "DRAM_Bound": 12})


def uop_cache_overflow(draw):
    """A loop of more instructions than the uop cache has, of seven bytes each: sixteen bytes of them are fetched in a cycle."""
    length = draw.randrange(2_600, 4_000)
    return Program(kernel=f"  .rept {length}\n  nop dword ptr [rax + 0x11223344]\n  .endr\n", turns=turns_of(draw, length * 7 / 16), node="Fetch_Bandwidth",
                   least=25, has_line=False, events={"mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY | {"Core_Bound": 5, "Fetch_Latency": 15})


def large_code(draw):
    """A loop of more code than L1I has, which is fetched from L2 in each turn."""
    length = draw.randrange(9_000, 14_000)
    return Program(kernel=f"  .rept {length}\n  nop dword ptr [rax + rax + 0x11223344]\n  .endr\n", turns=turns_of(draw, length), node="Frontend_Bound",
                   least=35, has_line=False, events={"mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY | {"Core_Bound": 5})


def length_changes(draw):
    """A loop of more instructions than the uop cache has, each of which the predecoder takes three cycles more for."""
    length = draw.randrange(2_500, 4_000)
    return Program(kernel=f"  .rept {length}\n  mov ax, 4660\n  .endr\n", turns=turns_of(draw, 3 * length), node="Fetch_Bandwidth",
                   least=40, has_line=False, events={"mem_load_retired.l1_miss": (0, START_MISSES)}, must_not=NO_MEMORY | {"Core_Bound": 5, "Fetch_Latency": 12})


def false_sharing(draw):
    """Two threads that write to words of their own in one line, and read another one there."""
    at, turns = 64 * draw.randrange(0, 32), draw.randrange(40_000, 80_000)
    return Program(kernel=f"  add rax, [rdi + {at + 32}] # GUILTY\n  mov [rdi + {at}], rax # GUILTY\n", turns=turns, threads=2, node="Memory_Bound", least=25, has_line=False,
                   events={"mem_load_l3_hit_retired.xsnp_hitm": (100, 2.2 * turns)}, must_not={"DRAM_Bound": 15, "L2_Bound": 5})


def true_sharing(draw):
    """Two threads that add to one word."""
    at, turns = 64 * draw.randrange(1, 32), draw.randrange(30_000, 60_000)
    body = f"  mov r12, rdi\n  and r12, -4096\n  lock add qword ptr [r12 + {at}], 1 # GUILTY\n"
    return Program(kernel=body, turns=turns, threads=2, node="Memory_Bound", least=25, has_line=False,
                   events={"mem_inst_retired.lock_loads": (2 * turns, 2 * turns + 5000), "l2_rqsts.rfo_miss": (100, 2.2 * turns)},
                   must_not={"DRAM_Bound": 15, "L2_Bound": 5})


KINDS = {kind.__name__: kind for kind in
         (divide, mispredicts, chase_l2, split_loads, busy, multiply, add_floats, multiply_floats, one_port, loads_of_l1, chase_l3, chase_dram,
          set_conflict, page_walks, forwarding, blocked_forwarding, locks, stores,
          large_code, length_changes, false_sharing, fuse, multiply_words, checksum, encrypt, carry_less, count_bits, divide_floats, roots, upper_halves,
          cleared_halves,
          one_shuffle_port, one_divider, one_store_port, indirect_jumps, taken_branches, second_tlb, stream, split_stores,
          aliases, page_splits, uop_cache_overflow, true_sharing)}
