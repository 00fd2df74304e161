"""Reads the oracle's trace files (trace_format.h)."""
import mmap
import struct

GPRS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")

_HEADER = struct.Struct("<8sII")
_RECORD = struct.Struct("<21Q6I")
_TAKEN, _NOP, _LOCKED, _REP, _NEVER_RETURNED, _LOADS, _STORES = (1 << bit for bit in range(10, 17))
_BRANCH_KINDS = ("none", "conditional", "relative jump", "indirect jump", "relative call", "indirect call", "return", "far")


class Step:
    """One retired instruction: where it was, the state after it, and what it counts as."""

    __slots__ = ("ip", "flags", "next_ip", "gprs", "load_address", "store_address", "loads", "stores", "split_loads",
                 "split_stores", "facts", "length")

    def __init__(self, fields):
        self.ip, self.flags, self.next_ip = fields[0:3]
        self.gprs = fields[3:19]
        (self.load_address, self.store_address, self.loads, self.stores, self.split_loads, self.split_stores,
         self.facts, self.length) = fields[19:27]

    branch = property(lambda self: _BRANCH_KINDS[self.facts & 15])
    is_branch = property(lambda self: self.facts & 15 != 0)
    taken = property(lambda self: bool(self.facts & _TAKEN))
    nop = property(lambda self: bool(self.facts & _NOP))
    locked = property(lambda self: bool(self.facts & _LOCKED))
    is_load = property(lambda self: bool(self.facts & _LOADS))
    is_store = property(lambda self: bool(self.facts & _STORES))
    never_returned = property(lambda self: bool(self.facts & _NEVER_RETURNED))

    def __str__(self):
        registers = " ".join(f"{name}={value:#x}" for name, value in zip(GPRS, self.gprs))
        return f"ip={self.ip:#x} next={self.next_ip:#x} flags={self.flags:#x} {registers}"


class Trace:
    """A trace file as a sequence of Step."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, record_bytes = _HEADER.unpack_from(self._bytes)
        if magic != b"ZSORACLE" or version != 1 or record_bytes != _RECORD.size:
            raise ValueError(f"{path}: not a trace of this oracle: {magic!r}, version {version}, records of {record_bytes} bytes")
        self._count = (len(self._bytes) - _HEADER.size) // _RECORD.size

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        if not 0 <= index < self._count:
            raise IndexError(index)
        return Step(_RECORD.unpack_from(self._bytes, _HEADER.size + index * _RECORD.size))

    def __iter__(self):
        for fields in _RECORD.iter_unpack(memoryview(self._bytes)[_HEADER.size:_HEADER.size + self._count * _RECORD.size]):
            yield Step(fields)
