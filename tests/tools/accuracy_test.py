"""tools/accuracy: claims without tests, numbers that drifted, errors that nobody looked for, and words beside the rows do not pass."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools/accuracy")
LOADER = importlib.machinery.SourceFileLoader("accuracy", PATH)
accuracy = importlib.util.module_from_spec(importlib.util.spec_from_loader("accuracy", LOADER))
LOADER.exec_module(accuracy)

PAGE = """| claim | number | test |
|---|---|---|
| a | exact | {} |

| where | how | many |
|---|---|---|
| no test | in | this table |
"""


class Accuracy(unittest.TestCase):
    def test_a_claim_names_a_test_or_what_is_run_by_hand(self):
        tests = {"windows", "windows.modelled"}
        for cell, right in (("`windows`", True), ("`windows`, `windows.modelled` (the quick part)", True), ("`tools/accuracy`", True),
                            ("`bench/sampling`", True), ("by hand: `zeroskid boot --mem 16M`", True), ("`window`", False), ("by hand", False),
                            ("`windows`, `bench/nothing`", False), ("windows", False), ("", False)):
            with self.subTest(cell=cell):
                wrong = list(accuracy.without_test(PAGE.format(cell), tests))
                self.assertEqual(len(wrong), 0 if right else 1)
                self.assertTrue(all(line.startswith("line 3: ") for line in wrong))

    def test_sections_hold_rows_of_three_cells_alone(self):
        row = "| a | 1 | `windows` |"
        for lines, wrong in (("free words", 0), ("## A\n\n" + row, 0), ("## A\n\n|---|---|---|\n" + row, 0), ("## A\nwords\n" + row, 1),
                             ("## A\n\n| a | 1 | other | `windows` |", 1), ("## A\n" + row + "\n\nwords\n\n## B\n- more", 2)):
            with self.subTest(lines=lines):
                self.assertEqual(len(list(accuracy.beside_rows(lines))), wrong)

    def test_an_error_that_is_not_known_names_its_search(self):
        for text, right in (("no public figure found (looked for it in public pages)", True), ("no public\nfigure found", False),
                            ("error not\nmeasured", False), ("Error not measured, looked for in pages", False), ("nothing", True)):
            with self.subTest(text=text):
                self.assertEqual(len(list(accuracy.without_search({"page.md": text}))), 0 if right else 1)

    def test_numbers_of_things_are_counted(self):
        held = [accuracy.Held(r"(\d+) runs of (\d+) guests", lambda _: ["399", "53"])]
        self.assertEqual(accuracy.counted("here 399 runs of 53 guests.", None, held), ([], "here 399 runs of 53 guests."))
        wrong, right = accuracy.counted("here 391 runs of 49 guests. And 5 runs of 53 guests", None, held)
        self.assertEqual((len(wrong), right), (2, "here 399 runs of 53 guests. And 399 runs of 53 guests"))
        wrong, _ = accuracy.counted("many guests", None, held)
        self.assertIn("nothing on the page says", wrong[0])


if __name__ == "__main__":
    unittest.main()
