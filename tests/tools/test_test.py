"""tools/test counts cases, not programs, and never counts a crash as a success."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

TOOL = str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "test")
loader = importlib.machinery.SourceFileLoader("tools_test", TOOL)
spec = importlib.util.spec_from_loader("tools_test", loader)
tool = importlib.util.module_from_spec(spec)
loader.exec_module(tool)

GTEST = """[ RUN      ] Pmu.Counts
[       OK ] Pmu.Counts (0 ms)
[ RUN      ] Pmu.Overflows/3
pmu_test.cc:12: Failure
[  FAILED  ] Pmu.Overflows/3, where GetParam() = 7 (1 ms)
[ RUN      ] Perf.ReadsOurFile
perf_test.cc:9: Skipped
perf is not installed

[  SKIPPED ] Perf.ReadsOurFile (0 ms)
[----------] 3 tests from Pmu (1 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Perf.ReadsOurFile
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Pmu.Overflows/3, where GetParam() = 7
"""


def count(*tests):
    cases = "".join(f'<testcase name="{name}" status="{status}"><skipped message="{skip[0] if skip else ""}"/>'
                    f"<system-out>{output}</system-out></testcase>" for name, status, output, *skip in tests)
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as report:
        report.write(f"<testsuite>{cases}</testsuite>")
        report.flush()
        return tool.count(report.name)


class Count(unittest.TestCase):
    def test_each_googletest_case_counts_once_and_a_skipped_one_names_what_it_misses(self):
        self.assertEqual(count(("pmu", "fail", GTEST)),
                         (1, 1, ["Perf.ReadsOurFile: perf is not installed"]))

    def test_a_test_that_is_no_googletest_counts_as_one(self):
        self.assertEqual(count(("layering", "run", "fine"), ("setup", "fail", "broken")), (1, 1, []))

    def test_a_crash_after_passing_cases_is_a_failure(self):
        crash = "[       OK ] Pmu.Counts (0 ms)\n[ RUN      ] Pmu.Dies\n"
        self.assertEqual(count(("pmu", "fail", crash)), (1, 1, []))

    def test_a_test_that_skips_itself_is_listed_and_one_that_cannot_run_is_a_failure(self):
        self.assertEqual(count(("perf", "notrun", "perf is not installed", "SKIP_RETURN_CODE=77"),
                               ("engine", "notrun", "Unable to find executable: x", "Unable to find executable")),
                         (0, 1, ["perf: perf is not installed"]))


if __name__ == "__main__":
    unittest.main()
