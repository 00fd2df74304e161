"""For tests of recordings: running a tool, and the records of a perf.data file."""
import pathlib
import struct
import subprocess

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LC_ALL": "C"}
FORK, MMAP2, AUX, AUXTRACE, COMPRESSED = 7, 10, 11, 71, 81


def run(*words, folder=None, status=0, environment=None):
    """status: what it must end with; None: anything"""
    result = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, errors="replace",
                            timeout=300, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL, check=False)
    assert status is None or result.returncode == status, (words, result.returncode, result.stderr[-600:])
    return result


def records(path):
    """(type, the record with its header, the data behind it) of each record; behind AUXTRACE are the branches."""
    data = pathlib.Path(path).read_bytes()
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        behind = at + length
        more = struct.unpack_from("<Q", data, at + 8)[0] if kind == AUXTRACE else 0
        yield kind, data[at:behind], data[behind:behind + more]
        at = behind + more
    assert at == end
