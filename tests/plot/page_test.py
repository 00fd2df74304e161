"""The plot page in headless Chromium: what is drawn, what the pointer and the keys do, and that nothing is asked of the
network.   page_test.py ZEROSKID THREE_PHASES

SCREENSHOTS=FOLDER in the environment keeps pictures of the page, light and dark.
"""
import os
import pathlib
import sys
import tempfile
import unittest

import browser
import plotting

TEXT = "document.querySelector('{}').textContent"


class ThePage(unittest.TestCase):
    """Of a real run of the program of three phases."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="zs-plot-")
        table = plotting.count_three_phases(cls.folder.name)
        cls.html, cls.svg = (pathlib.Path(cls.folder.name) / name for name in ("page.html", "figure.svg"))
        done = plotting.run("plot", table, "--html", cls.html, "--svg", cls.svg)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.page = browser.Page()
        self.page.open(self.html)

    def tearDown(self):
        complaints, requests = self.page.complaints, self.page.requests
        self.page.__exit__()
        self.assertEqual(complaints, [])
        self.assertEqual({address.split(":")[0] for address in requests} - {"file", "blob", "data"}, set())
        self.assertEqual([address for address in requests if address.startswith("file:")][1:], [], "one file is enough")

    def value(self, expression):
        return self.page.value(expression)

    def readout(self):
        return self.value(TEXT.format(".readout"))

    def middle_of_strip(self, share):
        """A point of the second strip, `share` of its width from its left."""
        box = self.value("(b => [b.left, b.top, b.width, b.height])"
                         "(document.querySelectorAll('.u-over')[1].getBoundingClientRect())")
        return box[0] + share * box[2], box[1] + box[3] / 2

    def test_three_bands_stand_above_a_strip_for_each_metric(self):
        self.assertEqual(self.value("[...document.querySelectorAll('.band.phase')].map(b => b.textContent)"),
                         ["phase 1", "phase 2", "phase 3"])
        self.assertEqual(self.value("[...document.querySelectorAll('.band.region')].map(b => b.textContent)"),
                         ["integer", "memory", "branchy"])
        self.assertEqual(self.value("document.querySelectorAll('.strip canvas').length"), 4)
        self.assertEqual(self.value("document.querySelectorAll('.missing').length"), 0)

    def test_strips_are_drawn(self):
        """In each canvas the line's own colour is there, in many columns."""
        columns = self.value("""[...document.querySelectorAll('.strip canvas')].map(canvas => {
          const {width, height} = canvas, pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
          let found = 0;
          for (let x = 0; x < width; ++x)
            for (let y = 0; y < height; ++y) {
              const at = 4 * (y * width + x);
              if (pixels[at] < 40 && Math.abs(pixels[at + 1] - 0x72) < 40 && pixels[at + 2] > 140 && pixels[at + 3] > 200) {
                ++found;
                break;
              }
            }
          return found / width;
        })""")
        self.assertEqual(len(columns), 4)
        for share in columns:
            self.assertGreater(share, 0.8)

    def test_the_pointer_shows_the_window_below_it_in_every_strip(self):
        self.assertIn("arrow keys", self.readout())
        self.page.move_pointer(*self.middle_of_strip(0.5))
        self.assertRegex(self.readout(), r"^window \d+, instructions [\d,]+ to [\d,]+; phase 2; memory$")
        values = self.value("[...document.querySelectorAll('.value')].map(v => v.textContent)")
        self.assertEqual(len(values), 4)
        self.assertGreater(float(values[1]), 100)  # loads
        self.page.move_pointer(*self.middle_of_strip(0.05))
        self.assertTrue(self.readout().endswith("phase 1; integer"), self.readout())
        self.assertLess(float(self.value("document.querySelectorAll('.value')[1].textContent")), 1)

    def test_keys_do_what_the_pointer_does(self):
        self.value("document.getElementById('figure').focus()")
        self.page.press("Home", 36)
        self.assertTrue(self.readout().startswith("window 1, instructions 0 to 100,000"), self.readout())
        self.page.press("ArrowRight", 39)
        self.assertTrue(self.readout().startswith("window 2, "), self.readout())
        self.page.press("PageDown", 34)
        self.assertIn("; phase 2", self.readout())
        self.page.press("End", 35)
        self.assertIn("; phase 3", self.readout())

    def test_dragging_zooms_all_strips_and_bands_and_escape_shows_all(self):
        spans = "[...document.querySelectorAll('.band.phase')].map(b => b.textContent)"
        left, y = self.middle_of_strip(0.45)
        right, _ = self.middle_of_strip(0.55)
        self.page.drag(left, right, y)
        self.assertEqual(self.value(spans), ["phase 2"])
        self.value("document.getElementById('figure').focus()")
        self.page.press("Escape", 27)
        self.assertEqual(self.value(spans), ["phase 1", "phase 2", "phase 3"])

    def test_everything_can_be_read_as_tables(self):
        rows = self.value("[...document.querySelectorAll('main .table tbody tr')].map(r => r.cells[0].textContent)")
        self.assertEqual(rows, ["1", "2", "3", "whole"])
        self.value("document.querySelector('details').open = true")
        self.page.settle()
        windows = self.value("document.querySelectorAll('details tbody tr').length")
        self.assertGreater(windows, 100)

    def test_colours_follow_the_reader(self):
        colour = "getComputedStyle(document.body).backgroundColor"
        seen = {}
        for scheme in ("light", "dark"):
            self.page.prefer(scheme)
            seen[scheme] = self.value(colour)
            self.keep_screenshot(f"page-{scheme}.png")
        self.assertEqual(seen, {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"})
        click = "[...document.querySelectorAll('button')].find(b => b.textContent.startsWith('Colours')).click()"
        self.value(click)
        self.assertEqual(self.value(colour), seen["light"])  # chosen by hand, against what the system prefers

    def keep_screenshot(self, name):
        if folder := os.environ.get("SCREENSHOTS"):
            self.page.move_pointer(*self.middle_of_strip(0.5))
            self.page.screenshot(os.path.join(folder, name))


class ThePicture(unittest.TestCase):
    def test_opens_by_itself_with_values_under_the_pointer(self):
        with tempfile.TemporaryDirectory() as folder, browser.Page() as page:
            picture = pathlib.Path(folder) / "figure.svg"
            done = plotting.run("plot", plotting.TABLE, "--svg", picture)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            page.open(picture)
            self.assertEqual(page.value("document.documentElement.nodeName"), "svg")
            self.assertEqual(page.value("document.querySelectorAll('.curve').length"), 4)
            self.assertEqual(page.value("document.querySelectorAll('.region').length"), 5)
            title = page.value("document.elementFromPoint(500, 300).querySelector('title').textContent")
            self.assertRegex(title, r"^window \d+, instructions ")
            self.assertEqual((page.complaints, len(page.requests)), ([], 1))
            if folder := os.environ.get("SCREENSHOTS"):
                page.screenshot(os.path.join(folder, "figure.png"))


if __name__ == "__main__":
    if not browser.installed():
        print("skipped: chromium is not installed (tools/setup test installs it)")
        sys.exit(77)
    plotting.main()
