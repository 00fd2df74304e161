"""debuginfod: asked where DEBUGINFOD_URLS names a server, and only there.   debuginfod_test.py ZEROSKID

The server is one of our own, on this machine.
"""
import ctypes.util
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

ZEROSKID = None
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
PROGRAM = r"""
__attribute__((noinline)) static unsigned spin(unsigned x) {
  for (int i = 0; i < 100000; ++i) x = x * 31 + i;
  return x;
}
int main(void) { return spin(1) == 0; }
"""


def run(*words, folder, **more):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True,
                          env={**ENVIRONMENT, "HOME": str(folder), **more}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Server(http.server.ThreadingHTTPServer):
    """Gives one program's debug information, and notes what it was asked for."""

    def __init__(self, debug_file):
        self.asked = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                found = self.path.endswith("/debuginfo")
                self.send_response(200 if found else 404)
                self.end_headers()
                if found:
                    self.wfile.write(debug_file.read_bytes())

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Debuginfod(unittest.TestCase):
    def setUp(self):
        if ctypes.util.find_library("debuginfod") is None:
            self.skipTest("libdebuginfod is not installed (apt install libdebuginfod1)")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "p.c").write_text(PROGRAM)
        run("cc", "-O1", "-g", "-Wl,--build-id", "-o", "p", "p.c", folder=self.folder)
        run("objcopy", "--only-keep-debug", "p", "elsewhere", folder=self.folder)
        run("strip", "p", folder=self.folder)
        run(ZEROSKID, "record", "-q", "-e", "instructions:ppp", "-c", "1009", "--", "./p", folder=self.folder)
        self.server = Server(self.folder / "elsewhere")
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.id = re.search(r"Build ID: (\w+)", run("readelf", "-n", "p", folder=self.folder))[1]

    def report(self, **variables):
        return run(ZEROSKID, "report", "-s", "symbol,srcline", "--percent-limit", "10", folder=self.folder, **variables)

    def test_is_asked_where_the_variable_names_it(self):
        page = self.report(DEBUGINFOD_URLS="http://127.0.0.1:%d/" % self.server.server_port)
        self.assertRegex(page, r"\[\.\] spin +p\.c:3")
        self.assertIn(f"/buildid/{self.id}/debuginfo", self.server.asked)

    def test_is_not_asked_otherwise(self):
        page = self.report()
        self.assertNotIn("p.c:3", page)
        self.assertEqual(self.server.asked, [])


if __name__ == "__main__":
    ZEROSKID = os.path.abspath(sys.argv.pop(1))
    unittest.main()
