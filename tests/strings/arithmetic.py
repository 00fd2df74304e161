"""What the string programs count, worked out on paper (string_program.asm is their source)."""

#: instruction -> (loads, stores) an element; the events count instructions, so cmps loads once and a REP string once altogether
ACCESSES = {"lods": (1, 0), "stos": (0, 1), "movs": (1, 1), "scas": (1, 0), "cmps": (2, 0)}
SET_UP = 5   # lea, lea, mov, xor, cld
EXIT = 3     # mov, xor, syscall


def expectation(form, operation, count):
    loads, stores = ACCESSES[operation]
    loops = form == "loop"
    times = count if loops else 1
    return {
        "inst_retired.any": SET_UP + (2 * count if loops else 1) + EXIT,
        "mem_inst_retired.all_loads": min(loads, 1) * times,
        "mem_inst_retired.all_stores": stores * times,
        "br_inst_retired.conditional": count if loops else 0,
        "br_inst_retired.near_taken": count - 1 if loops else 0,
        "br_inst_retired.not_taken": 1 if loops else 0,
        "br_inst_retired.all_branches": (count if loops else 0) + 1,  # and the SYSCALL
        "mem_inst_retired.split_loads": 0,
        "mem_inst_retired.split_stores": 0,
    }


def programs():
    """(name, form, operation), in the order of every list of them."""
    return [(f"{form}_{operation}{width}", form, operation)
            for form in ("rep", "loop") for operation in ACCESSES for width in "bw"]
