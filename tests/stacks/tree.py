"""Python's native frames: functions of tree_python.c, each called by a Python function that the one below it has called."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


def calls(name, *above):
    """A Python function that calls the C function; the C function calls those above, and then works a little itself."""
    function = getattr(library, name)
    function.argtypes = [ctypes.c_int, ctypes.POINTER(CALLBACK), ctypes.c_int]
    table = (CALLBACK * max(len(above), 1))(*above)
    return CALLBACK(lambda x: function(x, table, len(above)))


node_1_1_1 = calls("node_1_1_1")
node_1_1_2 = calls("node_1_1_2")
node_1_1 = calls("node_1_1", node_1_1_1, node_1_1_2)
node_1_2 = calls("node_1_2")
node_1 = calls("node_1", node_1_1, node_1_2)
node_2_1 = calls("node_2_1")
node_2 = calls("node_2", node_2_1)
root = calls("root", node_1, node_2)
x = 1
for _ in range(int(sys.argv[2])):
    x = root(x)
print(x)
