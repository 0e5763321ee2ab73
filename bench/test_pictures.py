#!/usr/bin/env python3
"""Checks the pictures of docs/performance.md. They are drawn from the stored results."""

import itertools
import unittest
import xml.etree.ElementTree as tree

import run

SVG = "{http://www.w3.org/2000/svg}"


def texts(element, kind):
    return [text.text for text in element.iter(f"{SVG}text") if kind in text.get("class").split()]


class Pictures(unittest.TestCase):
    def each(self):
        for drawn in run.pictures().values():
            root = tree.fromstring(drawn)
            yield root, [group for group in root.iter(f"{SVG}g") if group.get("class") == "panel"]

    def test_docs_contain_the_pictures_of_the_results(self):
        page = (run.DOCS / "performance.md").read_text()
        for file, drawn in run.pictures().items():
            with self.subTest(file.name):
                self.assertEqual(file.read_text(), drawn, "run bench/run.py")
                self.assertIn(f"]({file.name})", page)

    def test_every_panel_has_two_axis_titles(self):
        for _, panels in self.each():
            self.assertTrue(panels)
            for panel in panels:
                self.assertGreaterEqual(len(texts(panel, "axis-title")), 2)
                self.assertEqual(len(texts(panel, "title")), 1)

    def test_legend_explains_every_symbol(self):
        for root, _ in self.each():
            legend, *panels = [{part.get("class") for part in group.iter() if part.tag in (f"{SVG}rect", f"{SVG}path")}
                               for group in root.iter(f"{SVG}g")]
            self.assertLessEqual(set(itertools.chain(*panels)) - {"grid", "empty"}, legend)

    def test_every_bar_is_visible_and_bars_differ(self):
        for _, panels in self.each():
            for panel in panels:
                bars = [float(bar.get("width")) for bar in panel.iter(f"{SVG}rect") if bar.get("class") in ("ours", "others")]
                self.assertTrue(all(width >= 4 for width in bars), bars)
                self.assertTrue(not bars or max(bars) > min(bars), bars)

    def test_text_fits_into_the_picture(self):
        for root, _ in self.each():
            for text in root.iter(f"{SVG}text"):
                kinds = text.get("class").split()
                # The widths of an average character of the font, in pixels.
                length = (6.3 if "small" in kinds else 8) * len(text.text)
                start, width = float(text.get("x")) + 8, float(root.get("width"))
                if "end" in kinds:
                    self.assertGreaterEqual(start - length, -8, text.text)
                elif "middle" not in kinds:
                    self.assertLessEqual(start + length, width, text.text)

    def test_dark_pages_have_dark_pictures(self):
        for root, _ in self.each():
            self.assertIn("prefers-color-scheme: dark", root.find(f"{SVG}style").text)


if __name__ == "__main__":
    unittest.main()
