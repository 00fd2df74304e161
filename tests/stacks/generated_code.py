"""Assembly of functions without unwind tables, drawn at random: each is called by one other, which its name says."""
import random

SAVED = ("rbx", "rbp", "r12", "r13", "r14")
HEAD = """
.text
.globl main
never: ud2
main:
  push %rbx
  mov $60, %ebx
1: call node_1
  call node_2
  dec %ebx
  jnz 1b
  xor %eax, %eax
  pop %rbx
  ret
"""


class Function:
    def __init__(self, draw, name, children):
        self.draw, self.name, self.children = draw, name, children
        self.prologue, self.epilogue = [], []  # the latter last first
        self.free = [reg for reg in SAVED if draw.random() < 0.6]  # what its body may change
        self.behind = []  # blocks that lie behind its return
        self.number = 0
        self.frame()

    def label(self):
        self.number += 1
        return f".L{self.name}_{self.number}"

    def frame(self):
        draw, kind = self.draw, self.draw.choice(("none", "none", "pointer", "enter", "aligned"))
        if kind != "none":
            self.free = [reg for reg in self.free if reg != "rbp"]
            room = 8 * draw.randrange(8)
            saved = 8 * len(self.free)
            if kind == "enter":
                self.prologue += [f"enter ${room + saved}, $0"]
            else:
                self.prologue += ["push %rbp", "mov %rsp, %rbp", f"sub ${room + saved}, %rsp"]
            self.prologue += [f"mov %{reg}, {-8 * (at + 1)}(%rbp)" for at, reg in enumerate(self.free)]
            if kind == "aligned":
                self.prologue += [f"and ${-draw.choice((16, 32, 64))}, %rsp"]
            self.epilogue = [draw.choice(("leave", "mov %rbp, %rsp\n  pop %rbp", "lea (%rbp), %rsp\n  pop %rbp"))]
            self.epilogue += [f"mov {-8 * (at + 1)}(%rbp), %{reg}" for at, reg in enumerate(self.free)]
            return
        draw.shuffle(self.free)
        moved = self.free[len(self.free) // 2:] if draw.random() < 0.4 else []
        for reg in self.free:
            if reg not in moved:
                self.prologue.append(f"push %{reg}")
                self.epilogue.append(f"pop %{reg}")
        if draw.random() < 0.3:
            self.prologue.append("push word(%rip)")
            self.epilogue.append("pop word(%rip)")
        if moved or draw.random() < 0.6:
            room = 8 * (len(moved) + draw.randrange(6)) or 8
            self.prologue.append(draw.choice((f"sub ${room}, %rsp", f"add ${-room}, %rsp", f"lea {-room}(%rsp), %rsp")))
            self.epilogue.append(draw.choice((f"add ${room}, %rsp", f"sub ${-room}, %rsp", f"lea {room}(%rsp), %rsp")))
            self.prologue += [f"mov %{reg}, {8 * at}(%rsp)" for at, reg in enumerate(moved)]
            self.epilogue += [f"mov {8 * at}(%rsp), %{reg}" for at, reg in enumerate(moved)]

    def way_out(self):
        return [*reversed(self.epilogue), self.draw.choice(("ret", "ret", "rep ret"))]

    def piece(self):
        draw, one, two = self.draw, self.label(), self.label()
        reg = draw.choice(self.free or ["rax"])
        kind = draw.randrange(9)
        if kind == 0:
            return [f"mov ${draw.randrange(1, 9)}, %ecx", f"{one}:", "dec %ecx", f"jz {two}", f"jmp {one}", f"{two}:"]
        if kind == 1:
            return [f"mov ${draw.randrange(1, 9)}, %ecx", f"{one}:", "imul $3, %rax, %rax", "dec %ecx", f"jnz {one}"]
        if kind == 2:
            return ["test %rsp, %rsp", f"jnz {one}", "call never", f"{one}:"]
        if kind == 3:
            self.behind.append([f"{one}:", "call never"])
            return ["test %rsp, %rsp", f"jz {one}"]
        if kind == 4:
            self.behind.append([f"{one}:", *self.way_out()])
            return ["test %rsp, %rsp", f"jz {one}"]
        if kind == 5:
            self.behind.append([f"{one}:", "add $3, %rax", f"jmp {two}"])
            return [f"jmp {one}", f"{two}:"]
        if kind == 6:
            return [draw.choice(("push %rax\n  pop %rcx", "pushf\n  popf", "push $5\n  add $8, %rsp", "push %rdx\n  push word(%rip)\n  add $16, %rsp",
                                 "push %rsi\n  pop word(%rip)"))]
        if kind == 7:
            return [f"lea {one}(%rip), %rdx", "jmp *%rdx", f"{one}:"]
        return [f"mov ${draw.randrange(9999)}, %{reg}", f"xchg %rax, %{reg}", "lea 5(%rax,%rdx,2), %rdx", "xor %edi, %eax"]

    def text(self):
        pieces = [self.piece() for _ in range(self.draw.randrange(2, 7))]
        for child in self.children:
            call = self.draw.choice(([f"call {child}"], [f"lea {child}(%rip), %rax", "call *%rax"], ["sub $16, %rsp", f"call {child}", "add $16, %rsp"]))
            pieces.insert(self.draw.randrange(len(pieces) + 1), call)
        lines = self.prologue + [line for piece in pieces for line in piece] + self.way_out()
        self.draw.shuffle(self.behind)
        lines += [line for block in self.behind for line in block]
        body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
        align = ".balign 16\n" if self.draw.random() < 0.7 else ""
        return f"{align}.type {self.name}, @function\n{self.name}:\n{body}\n.size {self.name}, . - {self.name}\n"


def program(seed, depth=4):
    draw = random.Random(seed)
    functions = []

    def grow(name, left):
        children = [f"{name}_{i + 1}" for i in range(draw.randrange(1, 4))] if left else []
        functions.append(Function(draw, name, children))
        for child in children:
            grow(child, left - 1)

    for name in ("node_1", "node_2"):
        grow(name, depth - 1)
    draw.shuffle(functions)
    return HEAD + "".join(function.text() for function in functions) + '.bss\nword: .quad 0\n.section .note.GNU-stack,"",@progbits\n'
