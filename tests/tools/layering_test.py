"""tools/layering refuses what the layers forbid, and names file, line and rule. Each test builds a small tree."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

LAYERING = pathlib.Path(__file__).resolve().parents[2] / "tools" / "layering"

PICTURE = """
layer(base)
layer(arch    base)
layer(engine  arch)      # siblings: these two
layer(machine arch)      # never include one another
layer(session engine machine)
layer(profile session)   # through session/sample.h only
layer(report  profile)
layer(cli     report session)
"""


def layering(files, picture=PICTURE):
    """Exit status and the lines printed for a tree of {path below src, or from tests/: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "CMakeLists.txt").write_text(picture)
        (root / "src").mkdir()
        for name, text in {"session/sample.h": '#include "arch/retired.h"\n', **files}.items():
            path = root / (name if name.startswith("tests/") else f"src/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([LAYERING, folder], capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()


class Case(unittest.TestCase):
    picture, always = PICTURE, {}

    def assertRefused(self, files, *messages):
        status, lines = layering({**self.always, **files}, self.picture)
        self.assertEqual((status, lines), (1, list(messages)))

    def assertAccepted(self, files):
        status, lines = layering({**self.always, **files}, self.picture)
        self.assertEqual(status, 0, lines)


class Layering(Case):
    def test_a_layer_includes_itself_and_everything_below_at_any_depth(self):
        self.assertAccepted({"session/a.cc": '#include "session/b.h"\n#include "engine/e.h"\n#include "base/check.h"\n'})

    def test_a_layer_never_includes_one_above(self):
        self.assertRefused({"arch/a.h": '#pragma once\n#include "engine/e.h"\n'},
                           "src/arch/a.h:2: engine/e.h: arch may include base arch; not engine")

    def test_siblings_never_include_one_another(self):
        self.assertRefused({"machine/m.cc": '#include "engine/e.h"\n'},
                           "src/machine/m.cc:1: engine/e.h: machine may include base arch machine; not engine")

    def test_a_door_is_the_only_way_through_a_layer(self):
        self.assertAccepted({"profile/p.cc": '#include "session/sample.h"\n#include "base/check.h"\n'})
        self.assertRefused({"profile/p.cc": '#include "session/collector.h"\n'},
                           "src/profile/p.cc:1: session/collector.h: profile sees session through session/sample.h only")

    def test_behind_a_door_only_what_the_door_itself_includes_is_seen(self):
        self.assertAccepted({"profile/p.cc": '#include "arch/retired.h"\n'})
        self.assertRefused({"profile/p.cc": '#include "engine/e.h"\n'},
                           "src/profile/p.cc:1: engine/e.h: profile may include base arch profile; not engine")

    def test_behind_a_door_what_it_reaches_is_seen_too(self):
        self.assertAccepted({"session/sample.h": '#include "session/kinds.h"\n', "session/kinds.h": '#include "engine/e.h"\n',
                             "profile/p.cc": '#include "engine/e.h"\n'})

    def test_what_a_line_names_beside_the_layer_behind_the_door_is_seen_whole(self):
        picture = PICTURE.replace("layer(profile session)   #", "layer(isa arch)\nlayer(profile session isa)   #")
        self.assertEqual(layering({"profile/p.cc": '#include "isa/i.h"\n#include "session/sample.h"\n'}, picture)[0], 0)
        status, lines = layering({"profile/p.cc": '#include "session/collector.h"\n'}, picture)
        self.assertEqual((status, lines), (1, ["src/profile/p.cc:1: session/collector.h: profile sees session through "
                                               "session/sample.h only"]))

    def test_a_door_holds_for_the_layers_above_unless_their_line_names_the_layer(self):
        self.assertRefused({"report/r.cc": '#include "session/collector.h"\n'},
                           "src/report/r.cc:1: session/collector.h: report sees session through session/sample.h only")
        self.assertAccepted({"cli/c.cc": '#include "session/collector.h"\n#include "engine/e.h"\n'})

    def test_tests_and_angle_brackets_are_no_way_round(self):
        self.assertRefused({"arch/a_test.cc": '  #  include <engine/e.h>\n', "engine/e.h": "", "engine/e.cc": '#include "engine/e.h"\n'},
                           "src/arch/a_test.cc:1: engine/e.h: arch may include base arch; not engine")

    def test_a_project_file_is_included_by_its_full_name(self):
        self.assertRefused({"arch/a.h": '#include "../engine/e.h"\n#include "b.h"\n'},
                           'src/arch/a.h:1: "../engine/e.h": a project file is included as "layer/file.h"',
                           'src/arch/a.h:2: "b.h": a project file is included as "layer/file.h"')

    def test_facts_ask_nothing_of_the_system(self):
        self.assertRefused({"arch/a.h": "#include <cstdint>\n#include <sys/mman.h>\n"},
                           "src/arch/a.h:2: <sys/mman.h>: arch is a function of its arguments and asks nothing of the "
                           "system")

    def test_a_folder_without_a_line_is_no_layer(self):
        self.assertRefused({"misc/a.h": ""}, "src/misc/a.h:1: src/misc is no layer: CMakeLists.txt has no layer(misc ...)")

    def test_a_layer_stands_only_on_layers_above_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "CMakeLists.txt").write_text("layer(arch base)\nlayer(base)\n")
            result = subprocess.run([LAYERING, folder], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "CMakeLists.txt:1: layer arch stands on base, which no line above defines\n"))


ROOMS = PICTURE + """
room(engine/memory)
room(engine/translate engine/memory)
room(engine/kernel    engine/translate)
"""
INSIDE = {"engine/memory/m.h": "", "engine/translate/t.h": '#include "engine/memory/m.h"\n', "engine/kernel/k.h": ""}


class Rooms(Case):
    picture, always = ROOMS, INSIDE

    def test_a_room_includes_those_that_its_line_names_and_what_they_may_include(self):
        self.assertAccepted({"engine/kernel/k.cc": '#include "engine/translate/t.h"\n#include "engine/memory/m.h"\n'})

    def test_a_room_includes_no_other(self):
        self.assertRefused({"engine/memory/m.cc": '#include "engine/translate/t.h"\n'},
                           "src/engine/memory/m.cc:1: engine/translate/t.h: engine/memory may include engine/memory; "
                           "not engine/translate")

    def test_files_in_no_room_and_tests_include_any(self):
        self.assertAccepted({"engine/e.cc": '#include "engine/kernel/k.h"\n',
                             "session/s.cc": '#include "engine/kernel/k.h"\n',
                             "engine/memory/m_test.cc": '#include "engine/kernel/k.h"\n'})

    def test_a_file_in_no_room_is_no_way_round(self):
        for chain in (["engine/run.h"], ["engine/run.h", "engine/thread.h"]):
            behind = dict(zip(chain, [f'#include "{name}"\n' for name in [*chain[1:], "engine/kernel/k.h"]]))
            self.assertAccepted({**behind, "engine/kernel/k.cc": '#include "engine/run.h"\n', "engine/e.cc": '#include "engine/run.h"\n'})
            self.assertRefused({**behind, "engine/translate/x.cc": '\n#include "engine/run.h"\n'},
                               "src/engine/translate/x.cc:2: engine/run.h: engine/translate may include engine/memory engine/translate; "
                               f"not engine/kernel, which it reaches by {' -> '.join([*chain, 'engine/kernel/k.h'])}")

    def test_a_file_in_no_room_that_reaches_nothing_above_may_be_included(self):
        self.assertAccepted({"engine/thread.h": '#include "engine/memory/m.h"\n#include "engine/thread.h"\n',
                             "engine/translate/x.cc": '#include "engine/thread.h"\n'})

    def test_the_files_beside_the_rooms_are_one_where_a_line_names_them(self):
        picture = ROOMS + "room(engine engine/translate)\n"
        for place, message in (("engine/memory/x.cc", "engine/memory may include engine/memory; not engine"),
                               ("engine/kernel/x.cc", "engine/kernel may include engine/memory engine/translate engine/kernel; not engine")):
            status, lines = layering({**INSIDE, "engine/run.h": "", place: '#include "engine/run.h"\n'}, picture)
            self.assertEqual((status, lines), (1, [f"src/{place}:1: engine/run.h: {message}"]))
        self.assertEqual(layering({**INSIDE, "engine/e.cc": '#include "engine/kernel/k.h"\n'}, picture),
                         (1, ["src/engine/e.cc:1: engine/kernel/k.h: engine may include engine/memory engine/translate engine; "
                              "not engine/kernel"]))

    def test_one_folder_alone_asks_which_of_some_names_something_is(self):
        picture = ROOMS + "tells_apart(engine/kernel/calls SYS_)\n"
        own = {**INSIDE, "engine/kernel/calls/c.cc": "  case SYS_read: return number == SYS_write;\n"}
        elsewhere = {"engine/kernel/k.cc": "call(SYS_read, 0);\nconst long all[] = {SYS_read, SYS_write};\n",
                     "engine/kernel/k_test.cc": "  if (number == SYS_read) return;\n", "machine/m.cc": "case SYS_read:\n"}
        self.assertEqual(layering({**own, **elsewhere}, picture)[0], 0)
        for line in ("    case SYS_read: break;", "if (number == SYS_read) return;", "x = SYS_read != number;",
                     "return a[1] !=  SYS_read;"):
            self.assertEqual(layering({**own, "engine/kernel/x.h": f"\n{line}\n"}, picture),
                             (1, ["src/engine/kernel/x.h:2: which SYS_ it is only engine/kernel/calls asks"]))

    def test_what_is_for_tests_only_they_alone_include(self):
        support = {"tests/support/engine/kernel/fake.h": '#include "engine/memory/other.h"\n', "tests/support/engine/memory/other.h": ""}
        for place in ("engine/kernel/k_bench.cc", "engine/memory/m_test.cc", "tests/support/session/fake.h"):
            self.assertAccepted({**support, place: '#include "engine/kernel/fake.h"\n'})
        for place in ("engine/e.cc", "engine/kernel/k.cc", "session/s.h"):
            self.assertRefused({**support, place: '#include <vector>\n#include "engine/kernel/fake.h"\n'},
                               f"src/{place}:2: engine/kernel/fake.h: only tests include what is in tests/support")

    def test_headers_of_tests_keep_to_the_layers(self):
        self.assertAccepted({"tests/support/engine/memory/fake.h": '#include "engine/translate/t.h"\n',
                             "engine/e.cc": '#include "engine/translate/t.h"\n'})
        self.assertRefused({"tests/support/engine/memory/fake.h": '#include "session/s.h"\n', "session/s.h": "",
                            "session/s.cc": '#include "session/s.h"\n'},
                           "tests/support/engine/memory/fake.h:1: session/s.h: engine may include base arch engine; not session")

    def test_a_header_that_tests_alone_include_is_not_below_src(self):
        test = {"engine/e_test.cc": '#include "engine/fake.h"\n'}
        self.assertRefused({**test, "engine/fake.h": ""},
                           "src/engine/fake.h:1: tests alone include it: it belongs in tests/support/engine/fake.h")
        for user in ("engine/fake.cc", "session/s.h"):
            self.assertAccepted({**test, "engine/fake.h": "", user: '#include "engine/fake.h"\n'})

    def test_a_room_has_a_folder_and_stands_on_rooms_above_its_line(self):
        for line, message in (("room(engine/nowhere)", "room engine/nowhere: there is no folder src/engine/nowhere"),
                              ("room(engine/memory engine/later)",
                               "room engine/memory stands on engine/later, which no line above defines")):
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "src" / "engine" / "memory").mkdir(parents=True)
                (pathlib.Path(folder) / "CMakeLists.txt").write_text("layer(engine)\n" + line + "\n")
                result = subprocess.run([LAYERING, folder], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (1, f"CMakeLists.txt:2: {message}\n"))


class OurTree(unittest.TestCase):
    """Each line of our own picture refuses something: a file that includes what the line leaves out is found."""

    def test_an_include_that_the_picture_leaves_out_is_refused_in_each_layer_and_room(self):
        ours = LAYERING.parent.parent
        picture = (ours / "CMakeLists.txt").read_text()
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(ours / "tests/support", root / "tests/support")
            shutil.copytree(ours / "src", root / "src", ignore=shutil.ignore_patterns("*.txt", "corpus", "*_data.cc"))
            (root / "CMakeLists.txt").write_text(picture)
            self.assertEqual(subprocess.run([LAYERING, folder], capture_output=True, text=True).returncode, 0)
            expected = set()
            lines = re.findall(r"^(layer|room)\((\S+?)(?:\s+([^)]*))?\)", picture, re.MULTILINE)
            names = [name for _, name, _ in lines]
            for kind, name, below in lines:
                # What comes below its line in the picture, it may not include.
                later = [other for other in names[names.index(name) + 1:]
                         if ("/" in other) == (kind == "room") and (kind == "layer" or other.split("/")[0] == name.split("/")[0])]
                header = next((path for other in later for path in sorted((root / "src" / other).rglob("*.h"))), None)
                if header is None:
                    continue
                breach = root / "src" / name / "breach.cc"
                breach.write_text(f'#include "{header.relative_to(root / "src")}"\n')
                expected.add(f"src/{name}/breach.cc:1")
            ran = subprocess.run([LAYERING, folder], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 1)
            self.assertEqual({line.split(": ")[0] for line in ran.stdout.splitlines()}, expected)
            self.assertGreater(len(expected), 40)


if __name__ == "__main__":
    unittest.main()
